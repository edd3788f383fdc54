"""Dead letters published to a topic, as an outbox: what the store holds goes out, in its order.

A letter is published with the bytes that came and the headers that it had; headers of ours say
where it stood and why it was rejected. The number of the last one published is kept in a file. A
process that dies between the two publishes some again, with the same ``tidegraph-letter``, by
which readers tell them.
"""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stream.dead_letters import DeadLetter
from stream.publishing import message_of
from stream.source import Message, Producer

LETTER = "tidegraph-letter"
TOPIC = "tidegraph-topic"
PARTITION = "tidegraph-partition"
OFFSET = "tidegraph-offset"
TIMESTAMP = "tidegraph-timestamp"
REASON = "tidegraph-reason"
ERROR = "tidegraph-error"
LEFT_OUT = "tidegraph-value-left-out"
"""Set where the value is larger than the topic takes; its size in bytes."""

_BATCH = 200
_BATCH_BYTES = 16_000_000

Letters = Callable[[int, int, int], Sequence[DeadLetter]]
"""Dead letters above a number, oldest first: at most so many, no more once so many bytes came."""


@dataclass(frozen=True, slots=True)
class OutboxReport:
    """What one step did: letters published, of those without their value, and lost.

    ``lost`` counts letters that the store had given up before they were published. ``problem``
    says why nothing could be published; what is published later is then all of it.
    """

    published: int = 0
    without_value: int = 0
    lost: int = 0
    problem: str = ""


class Outbox:
    """Publishes the dead letters of a store to a topic. Belongs to one thread."""

    def __init__(self, letters: Letters, producer: Producer, topic: str, mark: Path) -> None:
        """Go on from the mark, which counts for the topic that it was made for alone."""
        self._letters = letters
        self._producer = producer
        self._topic = topic
        self._mark = mark
        self._last = _read_mark(mark, topic)

    def step(self) -> OutboxReport | None:
        """Publish what is new, up to a batch; None where there is nothing.

        Raises:
            ProduceError: if it could not be published; the next step tries again.
        """
        letters = self._letters(self._last, _BATCH, _BATCH_BYTES)
        if not letters:
            return None
        messages = [letter_message(letter) for letter in letters]
        sent = self._producer.publish(self._topic, messages)
        large = [_without_value(m) for m, at in zip(messages, sent, strict=True) if at is None]
        if large:
            self._producer.publish(self._topic, large)
        # The store gives up the oldest first, so what is missing is missing before the first.
        lost = letters[0].id - self._last - 1 if self._last else 0
        self._last = letters[-1].id
        _write_mark(self._mark, self._topic, self._last)
        return OutboxReport(len(letters), len(large), lost)


def letter_message(letter: DeadLetter) -> Message:
    """A dead letter as it is published."""
    record = letter.record
    at = record.position
    told = {
        LETTER: str(letter.id),
        TOPIC: at.topic,
        PARTITION: str(at.partition),
        OFFSET: str(at.offset),
        TIMESTAMP: str(record.timestamp),
        REASON: letter.reason.value,
        ERROR: letter.detail,
    }
    message = message_of(record)
    added = tuple((name, value.encode(errors="replace")) for name, value in told.items())
    # A letter that was replayed and rejected again carries the old ones.
    own = tuple((name, value) for name, value in message.headers if name not in told)
    return Message(record.key, record.value, own + added)


def _without_value(message: Message) -> Message:
    size = str(len(message.value or b"")).encode()
    return replace(message, value=b"", headers=(*message.headers, (LEFT_OUT, size)))


def _read_mark(path: Path, topic: str) -> int:
    """The last number published to the topic; 0 where the file does not say."""
    try:
        body = json.loads(path.read_text("utf-8"))
        return int(body["letter"]) if body["topic"] == topic else 0
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def _write_mark(path: Path, topic: str, letter: int) -> None:
    new = path.with_suffix(".new")
    with new.open("w", encoding="utf-8") as file:
        json.dump({"topic": topic, "letter": letter}, file)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
