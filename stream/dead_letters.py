"""Dead letters published again, for when their reason is gone."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from index.types import Reason, Record
from stream.publishing import message_of
from stream.source import Producer

_BATCH = 500


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record that was rejected, with its original bytes, and why."""

    id: int
    record: Record
    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """The ids of the letters: published again, and too large for their topic."""

    published: tuple[int, ...]
    refused: tuple[int, ...]


def replay(
    letters: Iterable[DeadLetter], producer: Producer, *, topic: str | None = None
) -> ReplayReport:
    """Publish letters in their order, each to the topic that it came from.

    Args:
        letters: what to publish.
        producer: publishes.
        topic: publish all to this one; wanted where the letters came from a file, whose name is
            the topic of its records.

    Raises:
        ProduceError: if publishing fails; what was published before stays so, and publishing it
            once more is recognised as a duplicate.
    """
    published: list[int] = []
    refused: list[int] = []
    for to, group in groupby(letters, key=lambda letter: topic or letter.record.position.topic):
        for batch in _batches(list(group)):
            sent = producer.publish(to, [message_of(letter.record) for letter in batch])
            for letter, position in zip(batch, sent, strict=True):
                (refused if position is None else published).append(letter.id)
    return ReplayReport(tuple(published), tuple(refused))


def _batches(letters: Sequence[DeadLetter]) -> list[Sequence[DeadLetter]]:
    return [letters[start : start + _BATCH] for start in range(0, len(letters), _BATCH)]
