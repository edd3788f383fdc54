"""The processes of the program: everything in one, the writer alone, the service alone."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

from fastapi import FastAPI

from deploy import service_file, threads, watching
from deploy.assembly import outbox, replica, writing
from deploy.assembly import serving as answering
from deploy.assembly import standing as standing_questions
from deploy.assembly import vectors as vector_index
from deploy.assembly.language import load_analyzer
from deploy.assembly.streams import Origin, Told
from deploy.assembly.writing import Ingestion
from deploy.errors import DeployError
from deploy.patience import patiently
from deploy.process import memory_bytes, release, serve_promptly
from deploy.rates import Rates
from deploy.rejects import RejectShare
from deploy.settings import Settings
from deploy.telemetry.metrics import Metrics
from deploy.telemetry.observe import Telemetry
from index.report import GenerationReport
from index.view import SnapshotSource
from query.language import Language
from query.search import Engine
from query.service.server import ServerThread
from query.standing.store import StandingStore
from stream.consumer import BatchReport


@contextmanager
def embedded(
    settings: Settings, origin: Origin, stop: threading.Event, *, polls: bool = False
) -> Iterator[threads.Running]:
    """Everything in one process, feeds too; on leaving, what was read is committed."""
    telemetry, rates = _telemetry(), Rates()
    with ExitStack() as stack:
        rejects, fresh = _rejects(settings, telemetry), threading.Event()

        def observe(report: writing.Observed) -> None:
            telemetry.observe(report)
            if isinstance(report, BatchReport):
                fresh.set()
                rates.add(sum(report.generation.outcomes.values()))
                rejects(report.generation)

        ingestion = stack.enter_context(writing.ingestion(settings, origin, observe))
        vectors = stack.enter_context(
            vector_index.kept(settings, ingestion.writer.latest, telemetry.observe)
        )
        status = writing.ingestion_status(settings, ingestion, rates, vectors)
        telemetry.metrics.follow(status)
        engine = answering.engine(
            ingestion.writer,
            ingestion.analyzer,
            settings,
            backlog=lambda: status().lag or 0,
            vectors=vectors,
            spent=telemetry.observe,
        )
        stack.callback(engine.close)
        standing = stack.enter_context(standing_questions.kept(settings))
        origin_ = stack.enter_context(replica.origin(settings))
        app = answering.application(
            settings, ingestion.writer, engine, status, telemetry, standing=standing, origin=origin_
        )
        url = stack.enter_context(_served(settings, app, "run"))
        stack.enter_context(
            _standing(settings, standing, ingestion.writer, engine, ingestion.analyzer, telemetry)
        )
        running = threads.Running(url, stop, ingestion=ingestion)
        stack.enter_context(outbox.publishing(settings, telemetry.observe))
        stack.enter_context(threads.marking(settings, origin, ingestion, telemetry))
        stack.enter_context(_watched(settings, ingestion, telemetry))
        stack.enter_context(threads.preparing(running, ingestion, fresh, engine.graphs, telemetry))
        stack.enter_context(threads.consuming(running, ingestion, telemetry))
        if polls:
            stack.enter_context(threads.polling(running, settings, telemetry))
        yield running


@contextmanager
def serving(settings: Settings, stop: threading.Event) -> Iterator[threads.Running]:
    """The service over a store that another process writes, here or on the host it follows."""
    telemetry = _telemetry()
    with ExitStack() as stack:
        follows, analyzer = None, None
        if settings.follow:
            analyzer = load_analyzer(settings)
            follows = stack.enter_context(
                replica.following(settings, analyzer.fingerprint, telemetry.observe, stop)
            )
            if not follows.first(stop):
                raise DeployError("stopped before the writer's store had come")
        follower = stack.enter_context(answering.follower(settings))
        analyzer = analyzer or load_analyzer(settings, follower.fingerprint)
        # The embedded engine belongs to the one process that changes the store.
        vectors = stack.enter_context(
            vector_index.watched(settings)
            if follows is None or vector_index.kind(settings) == "qdrant"
            else vector_index.kept(settings, follower.latest, telemetry.observe)
        )
        told = None if follows is None else follows.status
        role = "serve" if follows is None else "follow"
        status = answering.follower_status(settings, follower, role, vectors, told)
        telemetry.metrics.follow(status)
        engine = answering.engine(
            follower,
            analyzer,
            settings,
            backlog=lambda: status().lag or 0,
            vectors=vectors,
            spent=telemetry.observe,
        )
        stack.callback(engine.close)
        standing = stack.enter_context(standing_questions.kept(settings))
        origin = stack.enter_context(replica.origin(settings))
        app = answering.application(
            settings, follower, engine, status, telemetry, standing=standing, origin=origin
        )
        url = stack.enter_context(_served(settings, app, role))
        stack.enter_context(_standing(settings, standing, follower, engine, analyzer, telemetry))
        running = threads.Running(url, stop)
        if follows is not None:
            work = follows.run
            stack.enter_context(threads.working("replica", lambda: work(stop), running, telemetry))
        stack.enter_context(threads.following(running, follower, engine.graphs, telemetry))
        yield running


def index(
    settings: Settings,
    origin: Origin,
    stop: threading.Event,
    *,
    until_end: bool,
    told: Told | None,
) -> str:
    """The writer alone, to the end of the stream or until it is to stop; says what it did."""
    telemetry = _telemetry()
    started = time.monotonic()
    progress = _Progress(telemetry, told, _rejects(settings, telemetry))
    with (
        writing.ingestion(settings, origin, progress.observe, told) as ingestion,
        outbox.publishing(settings, telemetry.observe),
        threads.marking(settings, origin, ingestion, telemetry),
        _watched(settings, ingestion, telemetry),
        vector_index.kept(settings, ingestion.writer.latest, telemetry.observe) as vectors,
    ):
        progress.total = ingestion.remaining() if until_end else None
        patiently(
            lambda: ingestion.consumer.run(stop, until_end=until_end),
            stop,
            telemetry.waits_for_embedder,
        )
        snapshot = ingestion.writer.latest()
        if until_end and vectors is not None:
            vectors.reached(snapshot, stop)
    head = snapshot.head
    totals = head.totals
    return (
        f"generation {head.generation}: {totals.documents:,} documents, {totals.chunks:,} chunks, "
        f"{totals.concepts:,} concepts, {totals.edges:,} edges; {progress.records:,} records read "
        f"in {time.monotonic() - started:.1f} s, {memory_bytes() / 1e6:,.0f} MB in memory"
    )


class _Progress:
    """Passes reports on and tells how far a bounded run has come."""

    def __init__(
        self,
        telemetry: Telemetry,
        told: Told | None,
        rejects: Callable[[GenerationReport], None],
    ) -> None:
        self._telemetry = telemetry
        self._told = told
        self._rejects = rejects
        self.records = 0
        self.total: int | None = None

    def observe(self, report: writing.Observed) -> None:
        self._telemetry.observe(report)
        if not isinstance(report, BatchReport):
            return
        self._rejects(report.generation)
        self.records += report.records
        if self._told is None:
            return
        self._told("indexing", self.records, self.total)
        if self.total is not None and self.records >= self.total:
            self._told("finding communities", 0, None)


def _rejects(settings: Settings, telemetry: Telemetry) -> Callable[[GenerationReport], None]:
    """Follows the share of rejected records and shows it; raises where it is to end the process."""
    share = RejectShare(
        settings.rejects_share,
        stop=settings.rejects_stop,
        told=lambda said: telemetry.warned("rejects", said),
    )

    def follow(report: GenerationReport) -> None:
        share.add(report)
        telemetry.metrics.rejects_share.set(share.share)
        telemetry.metrics.rejects_over.set(share.over)

    return follow


def _telemetry() -> Telemetry:
    metrics = Metrics()
    metrics.build.labels(release()).set(1)
    return Telemetry(metrics)


@contextmanager
def _served(settings: Settings, app: FastAPI, role: str) -> Iterator[str]:
    """Serve, and say so in the data directory."""
    serve_promptly()
    server = ServerThread(app, settings.host, settings.port)
    port = server.start()
    url = service_file.url_of(settings.host, port)
    record = service_file.own_record(url, role)
    service_file.announce(settings.data, record)
    try:
        yield url
    finally:
        service_file.withdraw(settings.data, record)
        server.stop()


def _standing(
    settings: Settings,
    store: StandingStore,
    source: SnapshotSource,
    engine: Engine,
    language: Language,
    telemetry: Telemetry,
) -> AbstractContextManager[None]:
    """Run the standing questions, unless another process of the data directory does."""
    return standing_questions.running(
        settings,
        store,
        source,
        engine,
        language,
        observe=telemetry.observe,
        failed=lambda said: telemetry.warned("standing questions", said),
    )


def _watched(
    settings: Settings, ingestion: Ingestion, telemetry: Telemetry
) -> AbstractContextManager[None]:
    return watching.watched(settings, lambda: ingestion.consumer.status().activity, telemetry)
