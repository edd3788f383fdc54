"""Kafka topics as a source: positions are ours, no consumer group, no rebalance.

The partitions are assigned and sought by hand from the positions that the reader keeps, so that
Kafka has no part in what counts as read. Without a group nothing must be polled in time either: a
reader that is busy simply does not poll, and the client holds back what it has fetched.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Literal, Protocol

from kafka import KafkaConsumer, TopicPartition
from kafka.consumer.fetcher import ConsumerRecord
from kafka.errors import CorruptRecordError, KafkaError, OffsetOutOfRangeError

from index.types import Millis, Position, Record
from stream.errors import PositionLostError, SourceError, SourceUnavailableError
from stream.kafka_admin import topic_ids
from stream.kafka_connection import KafkaConnection, translated
from stream.source import UNREADABLE_HEADER, Partition
from stream.times import arrival_time

_LOOK_SECONDS = 5.0
"""How often ends and partitions are asked for: a fetcher that has stalled still shows its lag."""
_TRIAL_MS = 1_000
_ANEW_SECONDS = 60.0
"""How often it is asked whether the topics are still the same ones."""


class Ids(Protocol):
    """Keeps which topics positions belong to: a name's topic may be another one later."""

    def known(self) -> Mapping[str, str]:
        """The cluster's id of each topic, as it was last kept."""

    def keep(self, ids: Mapping[str, str]) -> None:
        """Keep ids for good."""


class KafkaSource:
    """Reads topics of a cluster; satisfies ``stream.source.Source``.

    Only what transactions have committed is given. A timestamp that cannot be true (missing,
    before 2000, ahead of this machine's clock) is replaced by the time of reading.
    """

    def __init__(
        self,
        connection: KafkaConnection,
        topics: Sequence[str],
        *,
        lost: Literal["refuse", "skip"] = "refuse",
        ids: Ids | None = None,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
        fetch_bytes: int = 16 * 1024 * 1024,
    ) -> None:
        """Connect and take every partition of the topics, from their beginnings.

        Args:
            connection: the cluster.
            topics: what to read; each must be there.
            lost: whether a position that retention has passed is an error, or reading goes on at
                the first record that is still held; and likewise for a topic made anew that has
                grown past the position, where "skip" goes on at the position.
            ids: by which a topic made anew is told, when reading starts and every minute.
            now: seconds since 1970, for timestamps that cannot be true.
            clock: seconds, for how often ends and partitions are looked at.
            fetch_bytes: about how much is fetched ahead.

        Raises:
            SourceUnavailableError: if the cluster does not answer.
            SourceError: if there is no such topic.
        """
        self._connection = connection
        self._topics = tuple(dict.fromkeys(topics))
        self._lost = lost
        self._ids = ids
        self._now = now
        self._clock = clock
        self._ends: dict[Partition, int] = {}
        self._next: dict[Partition, int] = {}
        self._away = ""
        self._looked = self._compared = clock()
        self._fetch_bytes = fetch_bytes
        self._broken = False
        self._consumer = self._connect()
        try:
            self._assign(dict.fromkeys(self._discover()))
        except BaseException:
            self.close()
            raise

    def partitions(self) -> list[Partition]:
        """The partitions of the topics, in order."""
        return sorted(self._next)

    def seek(self, positions: Mapping[Partition, int]) -> None:
        """Go to the next offsets to read, each checked against what the cluster holds."""
        self._reconnect()
        self._compare({topic for topic, _ in positions})
        self._assign({at: positions.get(at) for at in self._discover()})

    def poll(self, max_records: int, timeout: float) -> list[Record]:
        """Records at hand, else the first to come within ``timeout`` seconds."""
        if self._broken:
            self._reconnect()
            self._assign(dict(self._next))
        self._look()
        # Before anything is taken from the client: what it throws then costs no record.
        self._pass_over()
        with translated(self._connection):
            try:
                batches = self._consumer.poll(int(timeout * 1000), max(1, max_records))
            except OffsetOutOfRangeError:
                batches = None
            except CorruptRecordError:
                return self._pass_unreadable()
        if batches is None:
            self._assign(dict(self._next))
            return []
        now = int(self._now() * 1000)
        records = [record_of(one, now) for batch in batches.values() for one in batch]
        if not records and self._away:
            # The client itself says nothing of brokers that are gone.
            raise SourceUnavailableError(self._away)
        for record in records:
            at = record.position
            self._next[at.topic, at.partition] = at.offset + 1
        if not records:
            self._pass_over()
        return records

    def positions(self) -> dict[Partition, int]:
        """The next offset to poll in each partition."""
        return dict(self._next)

    def lag(self) -> dict[Partition, int]:
        """Offsets not polled yet, by ends that are at most some seconds old."""
        self._look()
        return {at: max(0, self._end(at) - offset) for at, offset in self._next.items()}

    def end_offsets(self) -> dict[Partition, int]:
        """One more than the last offset in each partition, asked for now."""
        self._reconnect()
        with translated(self._connection):
            self._ends = self._ask(self._consumer.end_offsets, self._next)
        return dict(self._ends)

    def close(self) -> None:
        """Leave the cluster."""
        with suppress(KafkaError):
            self._consumer.close(autocommit=False, timeout_ms=2_000)

    def _connect(self) -> KafkaConsumer:
        with translated(self._connection):
            return KafkaConsumer(
                **self._connection.options(),
                group_id=None,
                enable_auto_commit=False,
                auto_offset_reset="none",
                isolation_level="read_committed",
                fetch_max_bytes=self._fetch_bytes,
                max_partition_fetch_bytes=self._fetch_bytes // 4,
                fetch_max_wait_ms=100,
                allow_auto_create_topics=False,
            )

    def _reconnect(self) -> None:
        """Take a new client for a broken one, which the new one is too until it is assigned."""
        if self._broken:
            self.close()
            self._consumer = self._connect()

    def _pass_unreadable(self) -> list[Record]:
        """Give a mark in place of the record that the client cannot read, and pass over it.

        The client does not say where it failed, and polled again it spins for ever. So each
        partition is tried alone by a client of its own, and the next poll begins with a new one.
        """
        self._broken = True
        self.close()
        marks: list[Record] = []
        for at, offset in self._next.items():
            why = failure(self._connect, at, offset)
            if why is not None:
                now = Millis(int(self._now() * 1000))
                headers = ((UNREADABLE_HEADER, why.encode()),)
                marks.append(Record(Position(*at, offset), None, b"", now, headers))
        for one in (mark.position for mark in marks):
            self._next[one.topic, one.partition] = one.offset + 1
        return marks

    def _discover(self) -> list[Partition]:
        """The partitions that the topics have now."""
        found: list[Partition] = []
        with translated(self._connection):
            for topic in self._topics:
                numbers = self._consumer.partitions_for_topic(topic)
                found += [(topic, number) for number in sorted(numbers)]
                if not numbers:
                    raise SourceError(
                        f"Kafka at {','.join(self._connection.bootstrap)} has no topic {topic!r}; "
                        f"it has: {', '.join(sorted(self._consumer.topics())) or 'none'}"
                    )
        return found

    def _assign(self, wanted: Mapping[Partition, int | None]) -> None:
        """Take partitions from the wanted offsets on; None is the beginning."""
        with translated(self._connection):
            firsts = self._ask(self._consumer.beginning_offsets, wanted)
            ends = self._ask(self._consumer.end_offsets, wanted)
            # Checked as a whole before anything is moved.
            starts = {
                at: self._checked(at, offset, firsts[at], ends[at]) for at, offset in wanted.items()
            }
            self._consumer.assign([TopicPartition(*at) for at in starts])
            for at, offset in starts.items():
                self._consumer.seek(TopicPartition(*at), offset)
        self._next, self._ends = starts, ends
        self._broken = False

    def _checked(self, at: Partition, wanted: int | None, first: int, end: int) -> int:
        """The offset to read from, where the wanted one is still or already there."""
        where = f"{at[0]}/{at[1]}"
        if wanted is not None and wanted > end:
            raise PositionLostError(
                f"position {wanted} of {where} lies beyond its end ({end}): the topic was made "
                "anew; index it into a new data directory, or with a new topic name"
            )
        if wanted is None or wanted >= first:
            return first if wanted is None else wanted
        if self._lost == "refuse":
            raise PositionLostError(
                f"records {wanted} to {first - 1} of {where} are gone: retention passed them; "
                "choose to skip them, or publish them again"
            )
        return first

    def _compare(self, begun: set[str]) -> None:
        """Tell a topic that was made anew since the positions in it were kept."""
        self._compared = self._clock()
        if self._ids is None:
            return
        found, known = topic_ids(self._connection, self._topics), self._ids.known()
        anew = [t for t in found if t in begun and known.get(t, found[t]) != found[t]]
        if anew and self._lost == "refuse":
            raise PositionLostError(
                f"topic {anew[0]!r} was made anew since it was read: its positions mean other "
                "records now; index it into a new data directory, or choose to skip what is gone"
            )
        if found.items() - known.items():
            self._ids.keep({**known, **found})

    def _look(self) -> None:
        """Now and then ask for ends and new partitions; a server that is away changes nothing."""
        if self._broken or self._clock() - self._looked < _LOOK_SECONDS:
            return
        self._looked = self._clock()
        try:
            if self._clock() - self._compared >= _ANEW_SECONDS:
                self._compare(set(self._topics))
            found = self._discover()
            if set(found) - set(self._next):
                # From their beginnings: they were empty while nobody knew them.
                self._assign({at: self._next.get(at) for at in found})
            else:
                self.end_offsets()
            self._away = ""
        except SourceUnavailableError as error:
            self._away = str(error)

    def _pass_over(self) -> None:
        """Follow the client over what it gives no records for: markers, compacted stretches."""
        with translated(self._connection):
            for at, offset in self._next.items():
                if offset < self._end(at):
                    reached = self._consumer.position(TopicPartition(*at), timeout_ms=0)
                    self._next[at] = max(offset, reached or 0)

    def _end(self, at: Partition) -> int:
        """The end of a partition as far as it is known: asked for, or told with what was read."""
        told = None if self._broken else self._consumer.highwater(TopicPartition(*at))
        return max(self._ends[at], told or 0)

    def _ask(
        self, question: Callable[..., Mapping[TopicPartition, int]], partitions: Iterable[Partition]
    ) -> dict[Partition, int]:
        """Offsets of partitions, by one of the client's questions."""
        answer = question(
            [TopicPartition(*at) for at in partitions],
            timeout_ms=int(self._connection.timeout * 1000),
        )
        return {(found.topic, found.partition): offset for found, offset in answer.items()}


def record_of(found: ConsumerRecord, now: int) -> Record:
    """A record as the client gives it; ``now`` (milliseconds) where its time cannot be true."""
    headers = tuple((name, value or b"") for name, value in found.headers)
    position = Position(found.topic, found.partition, found.offset)
    return Record(position, found.key, found.value, arrival_time(found.timestamp, now), headers)


def failure(connect: Callable[[], KafkaConsumer], at: Partition, offset: int) -> str | None:
    """Why the record of an offset cannot be read, None where it can or is not there.

    Tried by a client of its own: one that failed says not where, and spins for ever.
    """
    trial = connect()
    try:
        trial.assign([TopicPartition(*at)])
        trial.seek(TopicPartition(*at), offset)
        trial.poll(_TRIAL_MS, 1)
    except CorruptRecordError as error:
        return str(error)
    except KafkaError:
        return None
    finally:
        trial.close(autocommit=False, timeout_ms=2_000)
    return None
