"""The embedded log: topics that survive the process, without a broker.

Any number of processes may publish and read at once. A publication is one transaction, on disk
when it returns; readers notice it within ``wake`` seconds.
"""

import sqlite3
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import orjson

from index.types import Millis, Position, Record
from stream.errors import PositionLostError, ProduceError, SourceError
from stream.log_file import StreamState, connect, create_topic, offset_of, streams, writing
from stream.log_retention import Retention, drop_expired
from stream.source import Message, Partition

DEFAULT_WAKE = 0.05
"""Seconds between two looks for something new; a look costs some ten microseconds."""
MAX_MESSAGE_BYTES = 64 * 1024 * 1024
_READ_BYTES = 16 * 1024 * 1024
"""A poll takes no further record of a partition once it holds so much."""


def partition_of(key: bytes | None, partitions: int) -> int:
    """Where a key goes; messages without one all go to partition 0, so that they keep order."""
    return zlib.crc32(key) % partitions if key and partitions > 1 else 0


class LogProducer:
    """Publishes to the log; satisfies ``stream.source.Producer``. One thread at a time."""

    def __init__(
        self,
        path: Path,
        *,
        partitions: int = 1,
        retention: Retention | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Open or create the log; topics that it makes get ``partitions``."""
        self._connection = connect(path)
        self._partitions = partitions
        self._retention = Retention() if retention is None else retention
        self._clock = clock
        self._unchecked = self._retention.every_bytes

    def publish(self, topic: str, messages: Sequence[Message]) -> list[Position | None]:
        """Append in one transaction; on disk when this returns. None for one too large."""
        fitting = [message for message in messages if message.size <= MAX_MESSAGE_BYTES]
        appended: Iterator[Position] = iter(())
        if fitting:
            try:
                create_topic(self._connection, topic, self._partitions)
                with writing(self._connection):
                    appended = iter(self._append(topic, fitting))
                self._retain(fitting)
            except sqlite3.Error as error:
                raise ProduceError(f"cannot publish to the log: {error}") from error
        return [
            next(appended) if message.size <= MAX_MESSAGE_BYTES else None for message in messages
        ]

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _append(self, topic: str, messages: Sequence[Message]) -> list[Position]:
        states = streams(self._connection, topic)
        offsets = [state.next for state in states]
        now = int(self._clock() * 1000)
        rows, positions = [], []
        sizes = [0] * len(states)
        for message in messages:
            at = partition_of(message.key, len(states))
            row_id, headers = states[at].row(offsets[at]), _pack(message.headers)
            rows.append((row_id, now, message.key, message.value, headers))
            positions.append(Position(topic, at, offsets[at]))
            offsets[at] += 1
            sizes[at] += sum(len(part or b"") for part in (message.key, message.value, headers))
        self._connection.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?)", rows)
        self._connection.executemany(
            "UPDATE streams SET next = ?, bytes = bytes + ? WHERE number = ?",
            [(offsets[at], sizes[at], state.number) for at, state in enumerate(states)],
        )
        return positions

    def _retain(self, messages: Sequence[Message]) -> None:
        """Drop what is beyond the bounds, now and then."""
        self._unchecked += sum(message.size for message in messages)
        if self._unchecked >= self._retention.every_bytes:
            self._unchecked = 0
            drop_expired(self._connection, self._retention, int(self._clock() * 1000))


class LogSource:
    """Reads topics of the log; satisfies ``stream.source.Source``."""

    def __init__(
        self,
        path: Path,
        topics: Sequence[str],
        *,
        lost: Literal["refuse", "skip"] = "refuse",
        wake: float = DEFAULT_WAKE,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Open the log.

        Args:
            path: the log's file; made, with the topics, where it is not there yet.
            topics: what to read.
            lost: whether a position that retention has passed is an error, or reading goes on at
                the first record that is still held.
            wake: seconds between two looks for something new.
            clock: seconds, for the timeout of a poll.
            sleep: waits so many seconds.
        """
        self._connection = connect(path)
        self._topics = tuple(dict.fromkeys(topics))
        self._lost = lost
        self._wake = wake
        self._clock = clock
        self._sleep = sleep
        self._next: dict[Partition, int] = {}
        self._states: dict[Partition, StreamState] = {}
        self._seen = -1
        self._turn = 0
        with _reading():
            for topic in self._topics:
                create_topic(self._connection, topic, 1)
        self._refresh()

    def partitions(self) -> list[Partition]:
        """The partitions of the topics, in order."""
        self._refresh()
        return list(self._states)

    def seek(self, positions: Mapping[Partition, int]) -> None:
        """Go to the next offsets to read."""
        self._refresh()
        self._next = {
            at: self._checked(state, positions[at]) if at in positions else state.first
            for at, state in self._states.items()
        }

    def poll(self, max_records: int, timeout: float) -> list[Record]:
        """Records at hand, else the first to come within ``timeout`` seconds."""
        deadline = self._clock() + timeout
        while True:
            self._refresh()
            records = self._take(max(1, max_records))
            left = deadline - self._clock()
            if records or left <= 0:
                return records
            self._sleep(min(self._wake, left))

    def positions(self) -> dict[Partition, int]:
        """The next offset to poll in each partition."""
        self._refresh()
        return dict(self._next)

    def lag(self) -> dict[Partition, int]:
        """Records not polled yet."""
        self._refresh()
        return {at: state.next - self._next[at] for at, state in self._states.items()}

    def end_offsets(self) -> dict[Partition, int]:
        """One more than the last offset in each partition."""
        self._refresh()
        return {at: state.next for at, state in self._states.items()}

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _refresh(self) -> None:
        """Read the streams' state again, if another connection has written since."""
        with _reading():
            seen = self._connection.execute("PRAGMA data_version").fetchone()[0]
            if seen == self._seen:
                return
            found = {
                (state.topic, state.partition): state
                for topic in self._topics
                for state in streams(self._connection, topic)
            }
        self._seen, self._states = seen, found
        for at, state in found.items():
            self._next.setdefault(at, state.first)

    def _take(self, max_records: int) -> list[Record]:
        """What is at hand, beginning with another partition each time so that none starves."""
        records: list[Record] = []
        behind = [at for at, state in self._states.items() if self._next[at] < state.next]
        self._turn += 1
        for turn in range(len(behind)):
            at = behind[(turn + self._turn) % len(behind)]
            records += self._read(self._states[at], max_records - len(records))
            if len(records) >= max_records:
                break
        return records

    def _read(self, state: StreamState, limit: int) -> list[Record]:
        at = (state.topic, state.partition)
        start = self._checked(state, self._next[at])
        with _reading():
            rows = self._connection.execute(
                "SELECT id, time, key, value, headers FROM records"
                " WHERE id >= ? AND id < ? ORDER BY id LIMIT ?",
                (state.row(start), state.row(state.next), limit),
            )
            records = list(_within(_READ_BYTES, (_record(state, row) for row in rows)))
        if not records:
            # Retention came between the look at the state and the reading.
            self._seen = -1
            return []
        if records[0].position.offset > start:
            self._checked(state, start, first=records[0].position.offset)
        self._next[at] = records[-1].position.offset + 1
        return records

    def _checked(self, state: StreamState, wanted: int, first: int | None = None) -> int:
        """The offset to read from, where the wanted one is still or already there."""
        first = state.first if first is None else first
        where = f"{state.topic}/{state.partition}"
        if wanted > state.next:
            raise PositionLostError(
                f"position {wanted} of {where} lies beyond its end ({state.next}): the topic was "
                "made anew; index it into a new data directory, or with a new topic name"
            )
        if wanted >= first:
            return wanted
        if self._lost == "refuse":
            raise PositionLostError(
                f"records {wanted} to {first - 1} of {where} are gone: retention passed them; "
                "choose to skip them, or publish them again"
            )
        return first


def _within(limit: int, records: Iterator[Record]) -> Iterator[Record]:
    """Records until they hold ``limit`` bytes; at least one."""
    size = 0
    for record in records:
        yield record
        size += len(record.value or b"")
        if size >= limit:
            return


@contextmanager
def _reading() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise SourceError(f"cannot read the log: {error}") from error


def _pack(headers: Sequence[tuple[str, bytes]]) -> bytes | None:
    """Headers as JSON, values in hexadecimal; nothing where there are none."""
    return orjson.dumps([[name, value.hex()] for name, value in headers]) if headers else None


def _record(state: StreamState, row: tuple[int, int, bytes | None, bytes | None, bytes]) -> Record:
    row_id, moment, key, value, packed = row
    headers = [(name, bytes.fromhex(hexed)) for name, hexed in orjson.loads(packed or b"[]")]
    position = Position(state.topic, state.partition, offset_of(row_id))
    return Record(position, key, value, Millis(moment), tuple(headers))
