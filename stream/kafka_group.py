"""A topic's partitions shared by a consumer group.

Cooperative-sticky: who keeps a partition in a rebalance goes on with it. Static members where an
instance is named: a restart is no rebalance.

The group's committed offsets say up to where the work of each partition is durable. Whoever is
given a partition goes on from there; what another had read and not committed is read again.
"""

import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any, Literal

from kafka import KafkaConsumer, TopicPartition
from kafka.consumer.subscription_state import ConsumerRebalanceListener
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.errors import (
    CommitFailedError,
    CorruptRecordError,
    IllegalGenerationError,
    NoOffsetForPartitionError,
    OffsetOutOfRangeError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)
from kafka.structs import OffsetAndMetadata

from index.types import Millis, Position, Record
from stream.errors import PositionLostError, SourceError
from stream.extract import Reached
from stream.kafka import failure, record_of
from stream.kafka_connection import KafkaConnection, translated
from stream.source import UNREADABLE_HEADER, Partition

_SHORTEST_MS = 20
"""A poll that may not wait at all never gets to join."""
_LOOK_SECONDS = 5.0

_MOVED = (
    CommitFailedError,
    IllegalGenerationError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)


class KafkaGroup:
    """A member of a consumer group; satisfies ``stream.extract.Group``."""

    def __init__(
        self,
        connection: KafkaConnection,
        topic: str,
        group: str,
        *,
        instance: str = "",
        lost: Literal["refuse", "skip"] = "refuse",
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
        session_timeout: float = 45.0,
        fetch_bytes: int = 16 * 1024 * 1024,
    ) -> None:
        """Connect; the group is joined by polling.

        Args:
            connection: the cluster.
            topic: what the group reads; it must be there.
            group: the name of the group.
            instance: makes this a static member: within ``session_timeout`` a process of the same
                name takes its place without a rebalance. Unique within the group.
            lost: what to do where retention took records that the group has not read.
            now: seconds since 1970, for timestamps that cannot be true.
            clock: seconds, for how often the ends are asked for.
            session_timeout: seconds without a sign of life after which a member is given up.
            fetch_bytes: about how much is fetched ahead.

        Raises:
            SourceUnavailableError: if the cluster does not answer.
            SourceError: if there is no such topic.
        """
        self._connection = connection
        self._topic = topic
        self._group = group
        self._instance = instance
        self._lost = lost
        self._now = now
        self._clock = clock
        self._session_timeout = session_timeout
        self._fetch_bytes = fetch_bytes
        self._next: dict[Partition, int] = {}
        self._committed: dict[Partition, int] = {}
        self._ends: dict[Partition, int] = {}
        self._looked = clock()
        self._fresh: set[Partition] = set()
        self._moves = _Moves()
        self._broken = self._moved = False
        self._consumer = self._connect()

    def owned(self) -> Collection[Partition]:
        """The partitions that this member has now."""
        return self._next.keys()

    def poll(self, max_records: int, timeout: float) -> list[Reached]:
        """See ``stream.extract.Group``."""
        wait = max(_SHORTEST_MS, int(timeout * 1000))
        if self._broken and not self._renewed():
            return []
        with translated(self._connection):
            try:
                batches = self._consumer.poll(wait, max(1, max_records))
            except NoOffsetForPartitionError:
                batches = {}  # of a partition that came, which is settled below
            except OffsetOutOfRangeError as error:
                self._out_of_range(error.args[0])
                batches = {}
            except CorruptRecordError:
                return self._unreadable()
            begun = self._settle()
        now = int(self._now() * 1000)
        found = [
            self._reached(record_of(one, now))
            for at, batch in batches.items()
            # What came with this very poll was sought anew since; what went is another's.
            if (at.topic, at.partition) in self._next.keys() - begun
            for one in batch
        ]
        return found or self._passed_over()

    def commit(self, until: Mapping[Partition, int]) -> bool:
        """Commit the next offsets of partitions; False where the group has moved on meanwhile."""
        offsets = {TopicPartition(*at): OffsetAndMetadata(to, "", -1) for at, to in until.items()}
        with translated(self._connection):
            try:
                self._consumer.commit(offsets, timeout_ms=int(self._connection.timeout * 1000))
            except _MOVED:
                self._moved = True
                return False
        self._committed.update(until)
        return True

    def rewind(self) -> None:
        """Read again what was not committed."""
        with translated(self._connection):
            for at in list(self._next):
                offset = self._committed[at]
                self._consumer.seek(TopicPartition(*at), self._within(at, offset))
                self._next[at] = offset

    def lag(self) -> Mapping[Partition, int]:
        """Offsets of the own partitions that were not polled, by ends some seconds old."""
        if self._clock() - self._looked >= _LOOK_SECONDS and self._next:
            self._looked = self._clock()
            with translated(self._connection):
                self._ends = self._ask(self._consumer.end_offsets, self._next)
        return {at: max(0, self._ends.get(at, 0) - to) for at, to in self._next.items()}

    def close(self, timeout: float = 2.0) -> None:
        """Leave the group, a static member without a rebalance; uncommitted work is left out."""
        with suppress(Exception):  # whatever it was, the group finds out by itself
            self._consumer.close(autocommit=False, timeout_ms=int(timeout * 1000))
        self._next.clear()
        self._committed.clear()
        self._fresh.clear()

    def _connect(self) -> KafkaConsumer:
        with translated(self._connection):
            consumer = KafkaConsumer(
                **self._connection.options(),
                group_id=self._group,
                group_instance_id=self._instance or None,
                partition_assignment_strategy=[CooperativeStickyAssignor],
                session_timeout_ms=int(self._session_timeout * 1000),
                heartbeat_interval_ms=int(self._session_timeout * 1000 / 15),
                enable_auto_commit=False,
                auto_offset_reset="none",
                isolation_level="read_committed",
                fetch_max_bytes=self._fetch_bytes,
                max_partition_fetch_bytes=self._fetch_bytes // 4,
                fetch_max_wait_ms=100,
                allow_auto_create_topics=False,
            )
        try:
            with translated(self._connection):
                # Known before it joins: a leader that does not know a topic gives its partitions
                # to nobody.
                known = consumer.partitions_for_topic(self._topic)
                consumer.subscribe([self._topic], listener=self._moves)
        except BaseException:
            consumer.close(autocommit=False, timeout_ms=2_000)
            raise
        if not known:
            consumer.close(autocommit=False, timeout_ms=2_000)
            raise SourceError(
                f"Kafka at {','.join(self._connection.bootstrap)} has no topic {self._topic!r}"
            )
        return consumer

    def _settle(self) -> set[Partition]:
        """Let go what a rebalance took; begin what it brought, at its committed offset."""
        came, went = self._moves.taken()
        for at in went:
            self._next.pop(at, None)
            self._committed.pop(at, None)
        # Where the cluster does not answer, the rest is begun by the next poll.
        self._fresh = (self._fresh - went) | came
        begun = set()
        for at in sorted(self._fresh):
            committed = self._consumer.committed(TopicPartition(*at))
            self._consumer.seek(TopicPartition(*at), self._within(at, committed or 0))
            # What the topic held before it was first read is nobody's loss.
            self._committed[at] = self._next[at] = committed or 0
            self._fresh.discard(at)
            begun.add(at)
        return begun

    def _out_of_range(self, partitions: Mapping[TopicPartition, int]) -> None:
        for one in partitions:
            at = (one.topic, one.partition)
            if at in self._next:
                self._consumer.seek(one, self._within(at, self._next[at]))

    def _within(self, at: Partition, offset: int) -> int:
        """The offset to read from: the wanted one, or the first that is held."""
        first = self._ask(self._consumer.beginning_offsets, [at])[at]
        end = self._ask(self._consumer.end_offsets, [at])[at]
        where = f"{at[0]}/{at[1]}"
        if offset > end:
            raise PositionLostError(
                f"position {offset} of group {self._group!r} in {where} lies beyond its end "
                f"({end}): the topic was made anew; take a new group and a new analyses topic"
            )
        if offset < first and offset > 0 and self._lost == "refuse":
            raise PositionLostError(
                f"records {offset} to {first - 1} of {where} are gone before they were analysed: "
                "retention passed them; choose to skip them, or publish them again"
            )
        return max(offset, first)

    def _reached(self, record: Record) -> Reached:
        at = (record.position.topic, record.position.partition)
        since, self._next[at] = self._next[at], record.position.offset + 1
        return Reached(at, since, record.position.offset + 1, record)

    def _passed_over(self) -> list[Reached]:
        """Stretches at whose end the client stands and that hold no record: markers, gaps."""
        passed = []
        with translated(self._connection):
            for at, since in list(self._next.items()):
                until = self._consumer.position(TopicPartition(*at), timeout_ms=0)
                if until is not None and until > since:
                    self._next[at] = until
                    passed.append(Reached(at, since, until, None))
        return passed

    def _unreadable(self) -> list[Reached]:
        """Marks in place of the records that the client cannot read.

        It does not say where it failed, and polled again it spins for ever: it is made anew once
        what stands before is committed, which costs the group a rebalance.
        """
        self._broken, self._moved = True, False
        marks = []
        now = Millis(int(self._now() * 1000))
        for at, offset in list(self._next.items()):
            why = failure(self._connect_alone, at, offset)
            if why is not None:
                headers = ((UNREADABLE_HEADER, why.encode()),)
                marks.append(self._reached(Record(Position(*at, offset), None, b"", now, headers)))
        return marks

    def _renewed(self) -> bool:
        """Whether the client was made anew; not before all that was given is committed."""
        if self._committed != self._next and not self._moved:
            return False
        self.close()
        self._moves = _Moves()
        self._consumer = self._connect()
        self._broken = self._moved = False  # not before: else a closed client would be polled
        return True

    def _connect_alone(self) -> KafkaConsumer:
        return KafkaConsumer(
            **self._connection.options(),
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="none",
            fetch_max_wait_ms=100,
        )

    def _ask(
        self, question: Callable[..., Any], partitions: Collection[Partition]
    ) -> dict[Partition, int]:
        answer = question([TopicPartition(*at) for at in partitions])
        return {(found.topic, found.partition): offset for found, offset in answer.items()}


class _Moves(ConsumerRebalanceListener):  # type: ignore[misc]  # the library is untyped
    """Notes what rebalances brought and took; acted on after the poll that they happen in."""

    def __init__(self) -> None:
        self._came: set[Partition] = set()
        self._went: set[Partition] = set()

    def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        self._came |= {(one.topic, one.partition) for one in assigned}

    def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        gone = {(one.topic, one.partition) for one in revoked}
        self._went |= gone
        self._came -= gone

    def taken(self) -> tuple[set[Partition], set[Partition]]:
        """What came and what went since it was asked last; what did both went first."""
        came, went = self._came, self._went
        self._came, self._went = set(), set()
        return came, went
