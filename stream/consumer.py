"""The consumer loop: from a source to generations, one batch after the other.

Reading, analysis and committing overlap: while one batch is committed the next ones are being
analysed. The order of each partition is kept, because batches are committed in the order in which
they were read.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

from index.admission import Plan
from index.report import GenerationReport
from index.types import Analysis, Arrival, Document, Record, Rejected
from index.writer import Writer
from stream.analyzed import brought, without_analysis
from stream.errors import SourceUnavailableError
from stream.loop import Analyzing, ConsumerSettings, cut
from stream.message import decode
from stream.source import Partition, Source
from stream.watchdog import Activity, Phase

__all__ = ["Analyzing", "BatchReport", "Consumer", "ConsumerSettings", "ConsumerStatus", "Grouping"]


class Grouping(Protocol):
    """What keeps the communities: called between commits, by the writer's thread."""

    def step(self, *, idle: bool) -> GenerationReport | None:
        """Start or adopt background work that is due; the report of an adoption, if any."""

    def finish(self) -> Iterator[GenerationReport]:
        """Bring the communities up to date, waiting as long as it takes."""


@dataclass(frozen=True, slots=True)
class BatchReport:
    """One unit of work: a batch from its first record to its publication. Times in seconds."""

    generation: GenerationReport
    records: int
    bytes: int
    waited: float
    analyzed: float
    committed: float
    freshness: float
    lag: int


@dataclass(frozen=True, slots=True)
class ConsumerStatus:
    """Where the consumer stands.

    ``freshness`` is the age in seconds of the oldest record that is not yet searchable, 0 when
    there is none; where records wait that were not read, since when some have been waiting.
    ``queue`` counts what was read and is not yet searchable. ``away``: the source does not answer.
    ``looked``: seconds since it was last asked what it holds; what came since is in no figure.
    """

    lag: Mapping[Partition, int]
    freshness: float
    queue: int
    queue_bytes: int
    away: bool
    activity: Activity
    batches: int
    records: int
    running: bool
    looked: float = 0.0


@dataclass(slots=True)
class _Pending:
    """A batch that was read. ``plan``: what is done with it if it follows ``generation``."""

    arrivals: list[Arrival]
    bytes: int
    read_at: float
    oldest: float
    plan: Plan
    generation: int
    future: "Future[list[Analysis | Rejected]]"
    documents: list[Document]


class Consumer:
    """Drives one writer from one source. ``run`` belongs to one thread; ``status`` to any."""

    def __init__(
        self,
        source: Source,
        writer: Writer,
        pool: Analyzing,
        grouping: Grouping,
        settings: ConsumerSettings,
        *,
        observe: Callable[[BatchReport | GenerationReport], None],
        withheld: Callable[[], bool] | None = None,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Put the parts together.

        Args:
            source: what is read; where its records bring their analysis, that is taken.
            writer: what commits.
            pool: analyses the other records.
            grouping: keeps the communities.
            settings: how batches are cut and records are decoded.
            observe: is given the report of every generation.
            withheld: whether the source has more that it could give now; else, that it lags.
            clock: seconds since 1970.
            monotonic: seconds that never go back.
        """
        self._source = source
        self._writer = writer
        self._pool = pool
        self._grouping = grouping
        self._settings = settings
        self._observe = observe
        self._withheld = withheld
        self._clock = clock
        self._monotonic = monotonic
        self._pending: deque[_Pending] = deque()
        self._batches = 0
        self._records = 0
        self._running = False
        self._stop = threading.Event()
        self._lag: Mapping[Partition, int] = {}
        self._looked = monotonic()
        self._away = False
        self._behind_since: float | None = None
        self._stalled_since: float | None = None
        self._phase: tuple[Phase, float] = (Phase.STOPPED, monotonic())

    def status(self) -> ConsumerStatus:
        """Where the consumer stands now."""
        pending = list(self._pending)
        return ConsumerStatus(
            lag=self._lag,
            freshness=self._freshness(pending),
            queue=sum(len(batch.arrivals) for batch in pending),
            queue_bytes=sum(batch.bytes for batch in pending),
            away=self._away,
            activity=self._activity(),
            batches=self._batches,
            records=self._records,
            running=self._running,
            looked=self._monotonic() - self._looked,
        )

    def _freshness(self, pending: Sequence[_Pending]) -> float:
        # What was not read cannot tell its age: at least as old as the wait for it is long.
        oldest = min((batch.oldest for batch in pending), default=self._behind_since)
        return 0.0 if oldest is None else max(0.0, self._clock() - oldest)

    def _activity(self) -> Activity:
        (phase, since), stalled, now = self._phase, self._stalled_since, self._monotonic()
        return Activity(phase, now - since, 0.0 if stalled is None else now - stalled)

    def _enter(self, phase: Phase) -> None:
        self._phase = (phase, self._monotonic())

    def run(self, stop: threading.Event, *, until_end: bool = False) -> None:
        """Read from the writer's positions until ``stop`` is set, or to the end seen at start.

        What was read when ``stop`` is set is still committed. At the end of a bounded run the
        communities are brought up to date.
        """
        self._stop = stop
        self._pending.clear()  # of a run that ended with an error; it is read again
        self._source.seek(self._writer.positions)
        ends = dict(self._source.end_offsets()) if until_end else None
        self._running = True
        try:
            while not stop.is_set():
                self._fill(stop)
                if self._pending:
                    self._commit(self._pending[0])
                    self._pending.popleft()
                self._step(idle=not self._pending and not any(self._lag.values()))
                if ends is not None and not self._pending and self._reached(ends):
                    break
            while self._pending:
                self._commit(self._pending[0])
                self._pending.popleft()
            if ends is not None and not stop.is_set():
                while self._expire() and not stop.is_set():
                    continue
                self._enter(Phase.FINISH)
                for report in self._grouping.finish():
                    self._observe(report)
        finally:
            self._enter(Phase.STOPPED)
            self._running = False

    def _fill(self, stop: threading.Event) -> None:
        """Read batches ahead, as long as the queue has room and there is something to read."""
        # One batch is committed while each worker has one, and one more waits for the first free.
        most = self._pool.workers + 2 if self._pool.workers else 1
        while len(self._pending) < most and not stop.is_set():
            batch = self._read(wait=not self._pending)
            if batch is None:
                return
            self._pending.append(batch)

    def _read(self, *, wait: bool) -> _Pending | None:
        """One batch; None where nothing has arrived."""
        self._enter(Phase.READ)
        arrivals, size, first = cut(
            self._settings,
            self._arrivals,
            lambda arrival: len(arrival.record.value or b""),
            self._clock,
            wait=wait,
        )
        self._look(found=bool(arrivals))
        if not arrivals:
            return None
        oldest = min(first, *(arrival.record.timestamp / 1000 for arrival in arrivals))
        plan, generation = self._writer.plan(arrivals), self._writer.generation.head.generation
        # What to analyse, as far as can be told before the batches ahead are committed.
        documents = without_analysis(plan)
        future = self._pool.submit(documents)
        return _Pending(arrivals, size, first, oldest, plan, generation, future, documents)

    def _arrivals(self, most: int, timeout: float) -> list[Arrival]:
        limits, envelope = self._settings.limits, self._settings.envelope
        records = self._poll(most, timeout)
        return [Arrival(record, decode(record, limits, envelope)) for record in records]

    def _poll(self, most: int, timeout: float) -> list[Record]:
        try:
            records = self._source.poll(most, timeout)
        except SourceUnavailableError:
            self._away = True
            # A server that is away for a while is no reason to end: lag and freshness tell.
            self._stop.wait(self._settings.poll_wait)
            return []
        self._away = False
        return records

    def _look(self, *, found: bool) -> None:
        """Note how far behind it is, and whether the source holds back what it has."""
        self._lag = self._source.lag()
        self._looked = self._monotonic()
        behind = any(self._lag.values())
        if not behind:
            self._behind_since = None
        elif self._behind_since is None:
            self._behind_since = self._clock()
        withheld = behind if self._withheld is None else self._withheld()
        if found or self._away or not withheld:
            self._stalled_since = None
        elif self._stalled_since is None:
            self._stalled_since = self._monotonic()

    def _commit(self, batch: _Pending) -> None:
        self._enter(Phase.ANALYZE)
        started = self._clock()
        done = batch.future.result()
        analyses = {
            (document.id, document.content_hash()): analysis
            for document, analysis in zip(batch.documents, done, strict=True)
        }
        plan = self._planned(batch)
        unread = without_analysis(plan)
        keyed = {document.id: (document.id, document.content_hash()) for document in unread}
        # Between reading ahead and now another batch may have changed what is new.
        missing = [document for document in unread if keyed[document.id] not in analyses]
        if missing:
            for document, analysis in zip(
                missing, self._pool.submit(missing).result(), strict=True
            ):
                analyses[keyed[document.id]] = analysis
        analyzed = self._clock()
        self._enter(Phase.COMMIT)
        found = brought(plan) | {key: analyses[at] for key, at in keyed.items()}
        report = self._writer.commit(plan, found)
        committed = self._clock()
        self._batches += 1
        self._records += len(batch.arrivals)
        self._observe(
            BatchReport(
                generation=report,
                records=len(batch.arrivals),
                bytes=batch.bytes,
                waited=started - batch.read_at,
                analyzed=analyzed - started,
                committed=committed - analyzed,
                freshness=max(0.0, committed - batch.oldest),
                lag=sum(self._lag.values()),
            )
        )

    def _planned(self, batch: _Pending) -> Plan:
        """What is done with a batch now; decided anew where something was committed since."""
        if batch.generation == self._writer.generation.head.generation:
            return batch.plan
        return self._writer.plan(batch.arrivals)

    def _step(self, *, idle: bool) -> None:
        if idle:
            self._expire()
            self._writer.rest()
        self._enter(Phase.GROUP)
        report = self._grouping.step(idle=idle)
        if report is not None:
            self._observe(report)

    def _expire(self) -> bool:
        """Take out some of what the window has left behind; whether there was any."""
        self._enter(Phase.COMMIT)
        report = self._writer.expire()
        if report is not None:
            self._observe(report)
        return report is not None

    def _reached(self, ends: Mapping[Partition, int]) -> bool:
        positions = self._source.positions()
        return all(positions.get(partition, 0) >= end for partition, end in ends.items())
