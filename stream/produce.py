"""Publishing a source into a topic, at full speed, at a rate, or by the documents' own times."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from index.types import Deletion, Record, Rejected, Upsert, to_millis
from stream.batching import Batcher, BatchLimits
from stream.message import MessageLimits, decode
from stream.publishing import message_of
from stream.source import Message, Producer, Source

_SLOT = 0.02
"""Seconds by which a message may come early: pauses shorter than that cost more than they give."""
_LONGEST_SLEEP = 0.2
"""Seconds after which a longer pause looks whether it is to stop."""
_POLL_RECORDS = 1000
_POLL_WAIT = 0.1

Content = Upsert | Deletion | Rejected


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast to publish; nothing given is as fast as it goes.

    ``rate`` is messages a second. ``replay`` is how many times faster than the documents' own
    event times (3600.0 plays an hour in a second); a document older than one before it comes at
    once.
    """

    rate: float | None = None
    replay: float | None = None

    def due(self, count: int, first: datetime | None, event: datetime | None) -> float:
        """Seconds after the start at which a message is due.

        Args:
            count: how many were published before it.
            first: event time of the first document.
            event: its own, None where it has none.
        """
        due = count / self.rate if self.rate else 0.0
        if self.replay and first is not None and event is not None:
            due = max(due, (event - first).total_seconds() / self.replay)
        return due


@dataclass(frozen=True, slots=True)
class ProduceReport:
    """What was published.

    ``rejected`` counts by reason the messages among them that the index will reject: they are
    published as they are, so that nothing is lost and the dead letters tell. ``refused`` were
    larger than the topic takes and were not published. ``seconds`` is how long it took.
    """

    published: int
    bytes: int
    rejected: Mapping[str, int]
    refused: int
    seconds: float


def produce(
    source: Source,
    producer: Producer,
    topic: str,
    *,
    pace: Pace,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
    progress: Callable[[int], None] = lambda _published: None,
    stop: Callable[[], bool] = lambda: False,
    until_end: bool = True,
    batches: BatchLimits | None = None,
    limits: MessageLimits | None = None,
) -> ProduceReport:
    """Publish what a source has, from where it stands to the end seen now, or until stopped.

    Args:
        source: what to publish.
        producer: where to.
        topic: its topic.
        pace: how fast.
        clock: seconds, monotonic.
        sleep: waits so many seconds.
        progress: is told how many messages are published so far, after each batch.
        stop: asked between messages; those that are not published by then are left.
        until_end: end at the end that the source has now, else go on for ever.
        batches: how messages are put together.
        limits: what decides on ``rejected``.

    Raises:
        SourceError: if reading fails.
        ProduceError: if publishing fails; what was acknowledged stays published.
    """
    run = _Run(producer, topic, pace, batches or BatchLimits(), clock=clock, progress=progress)
    ends = source.end_offsets() if until_end else None
    while not stop():
        for record in source.poll(_POLL_RECORDS, _POLL_WAIT):
            content = decode(record, limits or MessageLimits())
            while (early := run.early(record, content)) > _SLOT and not stop():
                run.flush()
                sleep(min(early, _LONGEST_SLEEP))
            if stop():
                break
            run.take(record, content)
        run.flush()
        positions = source.positions()
        if ends is not None and all(positions[at] >= end for at, end in ends.items()):
            break
    return run.report()


class _Run:
    """One run of ``produce``: its batch, its schedule and its figures."""

    def __init__(
        self,
        producer: Producer,
        topic: str,
        pace: Pace,
        batches: BatchLimits,
        *,
        clock: Callable[[], float],
        progress: Callable[[int], None],
    ) -> None:
        self._producer = producer
        self._topic = topic
        self._pace = pace
        self._batch: Batcher[Message] = Batcher(batches)
        self._clock = clock
        self._progress = progress
        self._started = clock()
        self._first: datetime | None = None
        self._taken = 0
        self._published = 0
        self._bytes = 0
        self._refused = 0
        self._rejected: Counter[str] = Counter()

    def early(self, record: Record, content: Content) -> float:
        """Seconds until the next message, which says ``content``, is due."""
        event = _event_time(record, content)
        if self._first is None:
            self._first = event
        due = self._pace.due(self._taken, self._first, event)
        return self._started + due - self._clock()

    def take(self, record: Record, content: Content) -> None:
        """Put the next message into the batch, and publish the batch when it is due."""
        message = message_of(record)
        self._taken += 1
        if isinstance(content, Rejected):
            self._rejected[content.reason] += 1
        self._batch.add(message, message.size, self._clock())
        if self._batch.due(self._clock()):
            self.flush()

    def flush(self) -> None:
        """Publish what is in the batch."""
        messages = self._batch.take()
        if not messages:
            return
        sent = self._producer.publish(self._topic, messages)
        sizes = [one.size for one, position in zip(messages, sent, strict=True) if position]
        self._published += len(sizes)
        self._bytes += sum(sizes)
        self._refused += len(messages) - len(sizes)
        self._progress(self._published)

    def report(self) -> ProduceReport:
        """The figures up to now."""
        return ProduceReport(
            published=self._published,
            bytes=self._bytes,
            rejected=dict(self._rejected),
            refused=self._refused,
            seconds=self._clock() - self._started,
        )


def _event_time(record: Record, content: Content) -> datetime | None:
    """The document's own time; None where it is only the time at which it was read."""
    match content:
        case Upsert(document):
            event = document.event_at
        case Deletion(observed_at=moment):
            event = moment
        case _:
            return None
    return None if to_millis(event) == record.timestamp else event
