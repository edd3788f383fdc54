"""Extraction: documents of a topic analysed into a topic of analyses, by a group of any size.

Reading, analysing and publishing overlap, and each partition keeps its order. What is published
goes to the partition of the same number and is durable before the group commits that it was read:
at least once, so that a partition's analyses may repeat themselves after a rebalance, but hold no
gap. Whoever reads them skips what it has (``stream.analyses_source``).
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace
from typing import Protocol

from index.types import Analysis, Document, Record, Rejected, Upsert
from stream.analyses import Extracted, encode
from stream.errors import ProduceError, SourceUnavailableError
from stream.loop import Analyzing, ConsumerSettings, cut
from stream.message import decode
from stream.source import UNREADABLE_HEADER, Message, Partition
from stream.watchdog import Activity, Phase

Publish = Callable[[Sequence[Message], Sequence[int]], Sequence[bool]]
"""Publishes messages to partitions, in order; false for one that is larger than the topic takes.

Raises ``ProduceError`` where not all became durable.
"""

_LOOK = 0.1
RETRY = 1.0
"""Seconds before it is tried again where the brokers did not answer."""


@dataclass(frozen=True, slots=True)
class Reached:
    """A member of a group has read ``[since, until)`` of a partition.

    ``record`` is the one at ``until - 1``; None where the stretch holds none.
    """

    at: Partition
    since: int
    until: int
    record: Record | None


class Group(Protocol):
    """One member of a consumer group; belongs to one thread."""

    def owned(self) -> Collection[Partition]:
        """The partitions that this member has since its last poll."""

    def poll(self, max_records: int, timeout: float) -> list[Reached]:
        """What was read, in the order of each partition, stretches without a gap between them.

        Partitions come and go in here alone. A new one goes on from the group's commit.

        Raises:
            SourceUnavailableError: if the cluster does not answer; polling again is allowed.
            PositionLostError: if records are gone that were not read.
        """

    def commit(self, until: Mapping[Partition, int]) -> bool:
        """Commit next offsets; False where the group has moved on, and another does the work."""

    def rewind(self) -> None:
        """Go back to what is committed."""

    def lag(self) -> Mapping[Partition, int]:
        """Offsets of its partitions that it has not read."""

    def close(self) -> None:
        """Leave the group."""


@dataclass(frozen=True, slots=True)
class ExtractReport:
    """One batch, published and committed. Sizes in bytes, times in seconds.

    ``left_out``: analyses that were too large for their topic; the writer analyses them.
    ``committed`` is false where the group moved on: another member repeats the batch.
    ``waited``: from the reading of its first record to its commit. ``freshness`` is the age of its
    oldest record.
    """

    records: int
    documents: int
    rejected: int
    bytes: int
    published_bytes: int
    left_out: int
    dropped: int
    committed: bool
    waited: float
    published: float
    freshness: float
    lag: int
    partitions: int


@dataclass(frozen=True, slots=True)
class Standing:
    """How many partitions a member has, and the records in them that it has not read."""

    lag: int
    partitions: int


@dataclass(slots=True)
class _Pending:
    reached: list[Reached]
    documents: list[Document | None]
    future: "Future[list[Analysis | Rejected]]"
    read_at: float
    bytes: int


class Extractor:
    """Drives one member of the group.

    ``run`` belongs to one thread; ``activity`` and ``standing`` to any.
    """

    def __init__(
        self,
        group: Group,
        pool: Analyzing,
        publish: Publish,
        analyzer: str,
        settings: ConsumerSettings,
        *,
        observe: Callable[[ExtractReport], None],
        failed: Callable[[str], None] = lambda _: None,
        drain: float = 5.0,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Put the parts together.

        Args:
            group: where documents come from.
            pool: analyses.
            publish: makes records of analyses durable.
            analyzer: the fingerprint of what analyses, as JSON.
            settings: how batches are cut and records are decoded.
            observe: is given the report of each batch.
            failed: is told why brokers did not answer or take something; it is tried again.
            drain: seconds that it may take to finish what was read when it is to stop.
            clock: seconds since 1970.
            monotonic: seconds that never go back.
        """
        self._group = group
        self._pool = pool
        self._publish = publish
        self._analyzer = analyzer
        self._settings = settings
        self._observe = observe
        self._failed = failed
        self._drain = drain
        self._clock = clock
        self._monotonic = monotonic
        self._pending: deque[_Pending] = deque()
        self._lost = False
        self._standing = Standing(0, 0)
        self._phase: tuple[Phase, float] = (Phase.STOPPED, monotonic())

    def activity(self) -> Activity:
        """What it is at, for a watchdog."""
        phase, since = self._phase
        return Activity(phase, self._monotonic() - since)

    def standing(self) -> Standing:
        """What it has of the group's partitions, also while none of them brings anything."""
        return self._standing

    def run(self, stop: threading.Event) -> None:
        """Read, analyse and publish until ``stop`` is set; what was read is finished then.

        Raises:
            PositionLostError: if records are gone that were not read.
            SourceError: if a topic is not there.
        """
        self._lost = True  # whatever a run that ended with an error had read
        try:
            while not stop.is_set():
                try:
                    self._step(stop)
                except (SourceUnavailableError, ProduceError) as error:
                    self._failed(str(error))
                    self._lost = True
                    self._enter(Phase.STOPPED)
                    stop.wait(RETRY)
            self._end()
        finally:
            self._enter(Phase.STOPPED)

    def _step(self, stop: threading.Event) -> None:
        if self._lost:
            # Of what was read, some may never have come to us: all begins at the commit again.
            self._pending.clear()
            self._group.rewind()
            self._lost = False
        self._fill(stop)
        self._standing = self._stands()
        if self._pending and self._analysed(self._pending[0], stop):
            self._finish(self._pending[0])
            self._pending.popleft()

    def _analysed(self, batch: _Pending, stop: threading.Event) -> bool:
        """Wait until a batch is analysed; false where it is to stop before."""
        self._enter(Phase.ANALYZE)
        while not batch.future.done() and not stop.is_set():
            wait([batch.future], _LOOK)
        return batch.future.done()

    def _end(self) -> None:
        """Publish and commit what is analysed in time; the group gives the rest to others."""
        deadline = self._monotonic() + self._drain
        try:
            while self._pending and not self._lost:
                batch = self._pending[0]
                wait([batch.future], max(0.0, deadline - self._monotonic()))
                if not batch.future.done():
                    break
                self._finish(batch)
                self._pending.popleft()
        except (SourceUnavailableError, ProduceError) as error:
            self._failed(str(error))
        self._pending.clear()

    def _enter(self, phase: Phase) -> None:
        self._phase = (phase, self._monotonic())

    def _fill(self, stop: threading.Event) -> None:
        most = self._pool.workers + 2 if self._pool.workers else 1
        while len(self._pending) < most and not stop.is_set():
            batch = self._read(wait=not self._pending)
            if batch is None:
                return
            self._pending.append(batch)

    def _read(self, *, wait: bool) -> _Pending | None:
        """One batch; None where nothing has arrived."""
        self._enter(Phase.READ)
        reached, size, first = cut(
            self._settings,
            self._group.poll,
            lambda one: len(one.record.value or b"") if one.record else 0,
            self._clock,
            wait=wait,
        )
        if not reached:
            return None
        documents = [self._document(one.record) for one in reached]
        future = self._pool.submit([one for one in documents if one is not None])
        return _Pending(reached, documents, future, first, size)

    def _document(self, record: Record | None) -> Document | None:
        """The document of a record; a rejected one is the writer's to reject, by the same rules."""
        if record is None:
            return None
        content = decode(record, self._settings.limits, self._settings.envelope)
        return content.document if isinstance(content, Upsert) else None

    def _finish(self, batch: _Pending) -> None:
        """Publish an analysed batch, then commit it."""
        results = iter(batch.future.result())
        analyses = [None if document is None else next(results) for document in batch.documents]
        self._enter(Phase.COMMIT)
        started = self._monotonic()
        # A partition that went meanwhile is another's, who goes on from the commit.
        owned = set(self._group.owned())
        standing = self._stands()
        mine = [
            (self._extracted(one, analysis), one)
            for one, analysis in zip(batch.reached, analyses, strict=True)
            if one.at in owned
        ]
        messages = [_message(extracted) for extracted, _ in mine]
        left_out = self._send(messages, [extracted for extracted, _ in mine])
        until = {one.at: one.until for _, one in mine}
        committed = self._group.commit(until) if until else False
        now = self._clock()
        stamps = [one.record.timestamp / 1000 for _, one in mine if one.record]
        self._observe(
            ExtractReport(
                records=len(mine),
                documents=sum(isinstance(one, Analysis) for one in analyses),
                rejected=sum(isinstance(one, Rejected) for one in analyses),
                bytes=batch.bytes,
                published_bytes=sum(message.size for message in messages),
                left_out=left_out,
                dropped=len(batch.reached) - len(mine),
                committed=committed,
                waited=now - batch.read_at,
                published=self._monotonic() - started,
                freshness=max(0.0, now - min(stamps, default=now)),
                lag=standing.lag,
                partitions=standing.partitions,
            )
        )

    def _stands(self) -> Standing:
        return Standing(sum(self._group.lag().values()), len(self._group.owned()))

    def _extracted(self, one: Reached, analysis: Analysis | Rejected | None) -> Extracted:
        topic, partition = one.at
        return Extracted(
            topic, partition, one.since, one.until, self._analyzer, one.record, analysis
        )

    def _send(self, messages: Sequence[Message], extracted: Sequence[Extracted]) -> int:
        """Publish; what is too large without its analysis, then without its text.

        What came behind it in its partition is published again behind it: a reader takes nothing
        beyond a gap, and passes over what it has. Returns how many analyses were left out.
        """
        sent = self._publish(messages, [one.partition for one in extracted])
        behind: set[tuple[str, int]] = set()
        for message, one, fits in zip(messages, extracted, sent, strict=True):
            at = (one.topic, one.partition)
            if not fits:
                behind.add(at)
                self._send_less(one)
            elif at in behind:
                self._publish([message], [one.partition])
        return sent.count(False)

    def _send_less(self, one: Extracted) -> None:
        for less in (replace(one, analysis=None), _without_value(one)):
            if all(self._publish([_message(less)], [one.partition])):
                return


def _message(extracted: Extracted) -> Message:
    record = extracted.record
    return Message(None if record is None else record.key, encode(extracted))


def _without_value(extracted: Extracted) -> Extracted:
    """With a mark in place of the value, by which the writer rejects the record."""
    record = extracted.record
    if record is None:
        return extracted
    why = f"its {len(record.value or b''):,} bytes are more than the topic of analyses takes"
    marked = replace(record, value=b"", headers=((UNREADABLE_HEADER, why.encode()),))
    return replace(extracted, record=marked, analysis=None)
