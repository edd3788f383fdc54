"""What a source and a producer must do; ``tests/stream/conformance.py`` holds each to it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from index.types import Position, Record

Partition = tuple[str, int]
"""A topic and the number of one of its partitions."""

INCOMPLETE_HEADER = "tidegraph-incomplete"
"""Set by a source where the record's end is missing (a last line without its line feed)."""

OVERSIZE_HEADER = "tidegraph-oversize"
"""Set by a source that cut a record too large to be held; its value is the true size in bytes."""

UNREADABLE_HEADER = "tidegraph-unreadable"
"""Set by a source in place of a record whose bytes it could not get; its value says why."""

MARKS = frozenset({INCOMPLETE_HEADER, OVERSIZE_HEADER, UNREADABLE_HEADER})
"""Headers that sources set; they say something of one reading and are never published again."""


class Source(Protocol):
    """Records of one or more topics, in partitions, from any position on.

    A source belongs to one thread. A partition's offsets grow, but need not be dense: what a
    filter leaves out, a compacted topic has dropped or a transaction has marked leaves gaps.
    Nothing is remembered between two sources: who reads keeps the positions and seeks.
    """

    def partitions(self) -> Sequence[Partition]:
        """Every partition that is read, those that came since the start included."""
        ...

    def seek(self, positions: Mapping[Partition, int]) -> None:
        """Go to the next offset to read in each partition; a missing one starts at its beginning.

        Positions of partitions that this source does not have are ignored.

        Raises:
            PositionLostError: if a position lies before the first record that is still held (and
                the source was not told to skip what is gone), or beyond the end.
            SourceError: if the source cannot be read.
        """
        ...

    def poll(self, max_records: int, timeout: float) -> list[Record]:
        """Up to ``max_records`` records (at least 1), as soon as there are any.

        Returns an empty list where ``timeout`` seconds pass without one; 0 takes what is at hand.
        It never blocks noticeably longer than ``timeout``, and may return nothing before that
        although more is to come (after a long filtered stretch). Within a partition records come
        in order, each exactly once after a ``seek``. A record that was returned counts as polled;
        after a restart the reader seeks to the one after the last that it has committed.

        Raises:
            SourceChangedError: if what was being read has been replaced or cut.
            PositionLostError: if records were dropped before they were read.
            SourceUnavailableError: if a server does not answer; polling again is allowed.
        """
        ...

    def positions(self) -> Mapping[Partition, int]:
        """The next offset to poll in each partition; also counts what was passed over.

        A bounded reading has reached its end when no position is below the ends seen at its
        start; comparing the offsets of records would wait for ever where the last is passed over.
        """
        ...

    def lag(self) -> Mapping[Partition, int]:
        """How many offsets from the next one to poll to the end, now; never below 0."""
        ...

    def end_offsets(self) -> Mapping[Partition, int]:
        """One more than the last offset in each partition, now: where a bounded reading stops."""
        ...

    def close(self) -> None:
        """Give back files and connections; again is harmless.

        Not called where a process dies, so nothing may depend on it.
        """
        ...


@dataclass(frozen=True, slots=True)
class Message:
    """What a producer publishes: ``key`` decides the partition, no ``value`` is a delete."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()

    @property
    def size(self) -> int:
        """Bytes of key, value and headers."""
        headers = sum(len(name) + len(value) for name, value in self.headers)
        return len(self.key or b"") + len(self.value or b"") + headers


class Producer(Protocol):
    """Publishes to topics; equal keys go to the same partition, in the order given."""

    def publish(self, topic: str, messages: Sequence[Message]) -> Sequence[Position | None]:
        """Append and wait until all are durable; returns their positions, in order.

        None stands for a message that is larger than the topic takes; the others are published.

        Raises:
            ProduceError: if it failed; some may have been published, in order.
        """
        ...

    def close(self) -> None:
        """Give back connections; again is harmless."""
        ...
