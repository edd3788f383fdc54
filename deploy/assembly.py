"""The only place that constructs adapters: from settings to parts that fit together."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import get_args

from fastapi import FastAPI
from index.analysis.analyzer import Analyzer
from index.analysis.pool import AnalysisPool
from query.news import Newsroom

from deploy.errors import UsageError
from deploy.rates import Rates
from deploy.settings import LOOPBACK, Settings
from deploy.status import Status
from deploy.telemetry.metrics import Metrics
from deploy.telemetry.observe import Telemetry
from index.analysis.settings import AnalyzerSettings
from index.communities.keeper import CommunityKeeper, GroupingSettings
from index.errors import FingerprintMismatchError
from index.reindex import ReindexReport
from index.reindex import reindex as reindex_store
from index.store.follower import Follower
from index.view import SnapshotSource
from index.writer import GenerationReport, Writer
from query.assessor import OfflineAssessor
from query.search import Engine
from query.service.app import create_app
from query.service.service import Limits, Service
from query.service.status import StatusReport
from query.settings import SearchSettings
from stream import convert
from stream.consumer import BatchReport, Consumer, ConsumerSettings
from stream.files import FileSource
from stream.log import LogProducer, LogSource
from stream.message import MessageLimits
from stream.produce import Pace, ProduceReport
from stream.produce import produce as publish_source
from stream.source import Partition, Source

LOG_NAME = "log.db"

Told = Callable[[str, int, int | None], None]
"""What long work tells: what it does, how many are done, of how many (None: not known)."""

Observe = Callable[[BatchReport | GenerationReport], None]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where documents come from: a file, or the embedded log where ``file`` is None."""

    file: Path | None = None
    form: str = "documents"
    only: Mapping[str, str] = field(default_factory=dict)
    follow: bool = True


@dataclass(frozen=True, slots=True)
class Ingestion:
    """A writer with the source and the consumer that feed it, and its analyzer for questions."""

    writer: Writer
    source: Source
    consumer: Consumer
    analyzer: Analyzer

    def remaining(self) -> int:
        """Records between the writer's positions and the end that the source has now."""
        ends = self.source.end_offsets()
        return sum(max(0, end - self.writer.positions.get(at, 0)) for at, end in ends.items())


def release() -> str:
    """The release that runs."""
    return version("tidegraph")


def analyzer_settings(settings: Settings) -> AnalyzerSettings:
    """The part of the settings that decides an analysis."""
    return AnalyzerSettings(
        chunk_words=settings.chunk_words,
        tagger=settings.tagger,
        parser=settings.phrases == "parser",
        embedder=settings.embedder,
    )


def source_of(settings: Settings, origin: Origin) -> Source:
    """The source of an origin. Raises ``UsageError`` or ``StreamError``."""
    if origin.file is None:
        return LogSource(settings.data / LOG_NAME, [settings.topic])
    forms = get_args(convert.Format)
    if origin.form not in forms:
        raise UsageError(f"--format {origin.form}: one of {', '.join(forms)}")
    form: convert.Format = "revisions" if origin.form == "revisions" else "documents"
    return FileSource(
        origin.file,
        follow=origin.follow,
        transform=convert.transform(form, origin.only),
    )


@contextmanager
def producer(settings: Settings) -> Iterator[LogProducer]:
    """A producer to the embedded log of the data directory."""
    with closing(LogProducer(settings.data / LOG_NAME)) as made:
        yield made


def publish(
    settings: Settings,
    origin: Origin,
    stop: threading.Event,
    *,
    rate: float | None = None,
    replay: float | None = None,
    told: Told = lambda _what, _done, _total: None,
) -> ProduceReport:
    """Publish a file into the topic, to its end or, where it is followed, until stopped."""
    with closing(source_of(settings, origin)) as source, producer(settings) as made:
        source.seek({})
        total = None if origin.follow else sum(source.end_offsets().values())
        return publish_source(
            source,
            made,
            settings.topic,
            pace=Pace(rate, replay),
            clock=time.monotonic,
            sleep=pause(stop),
            progress=lambda done: told("publishing", done, total),
            stop=stop.is_set,
            until_end=not origin.follow,
            limits=message_limits(settings),
        )


def pause(stop: threading.Event) -> Callable[[float], None]:
    """A sleep that ends when it is to stop."""

    def wait(seconds: float) -> None:
        stop.wait(seconds)

    return wait


def message_limits(settings: Settings) -> MessageLimits:
    """How large a message may be."""
    return MessageLimits(message_bytes=settings.message_max_bytes)


@contextmanager
def ingestion(
    settings: Settings, origin: Origin, observe: Observe, told: Told | None = None
) -> Iterator[Ingestion]:
    """Writer, pool, communities, source and consumer of one process."""
    tell = told or (lambda _what, _done, _total: None)
    with ExitStack() as stack:
        source = stack.enter_context(closing(source_of(settings, origin)))
        tell("loading the language models", 0, None)
        analyzer = Analyzer(analyzer_settings(settings))
        tell("opening the store", 0, None)
        writer = stack.enter_context(
            closing(
                Writer.open(
                    settings.data,
                    fingerprint=analyzer.fingerprint,
                    collection=settings.collection,
                )
            )
        )
        pool = stack.enter_context(
            closing(AnalysisPool(analyzer_settings(settings), settings.workers))
        )
        keeper = stack.enter_context(closing(CommunityKeeper(writer, grouping(settings))))
        consumer = Consumer(
            source,
            writer,
            pool,
            keeper,
            ConsumerSettings(
                batch_records=settings.batch_records,
                batch_bytes=settings.batch_bytes,
                batch_age=settings.batch_age,
                limits=message_limits(settings),
            ),
            observe=observe,
        )
        yield Ingestion(writer, source, consumer, analyzer)


def grouping(settings: Settings) -> GroupingSettings:
    """How communities are kept."""
    return GroupingSettings(
        interval=settings.communities_every,
        share=settings.communities_share,
        max_size=settings.community_size,
        seed=settings.seed,
    )


@contextmanager
def following(settings: Settings) -> Iterator[FastAPI]:
    """The application over a store that another process writes, or that nobody writes now."""
    with follower(settings) as source:
        status = follower_status(settings, source, "store")
        analyzer = analyzer_of(settings, source)
        yield application(settings, source, analyzer, status, Telemetry(Metrics()))


@contextmanager
def follower(settings: Settings) -> Iterator[Follower]:
    """A follower of the data directory."""
    with closing(Follower.open(settings.data)) as source:
        yield source


def analyzer_of(settings: Settings, source: Follower) -> Analyzer:
    """The analyzer for questions to a store; refuses a store that was built with another one.

    Raises:
        FingerprintMismatchError: vectors and concepts of the questions would not fit.
    """
    analyzer = Analyzer(analyzer_settings(settings))
    differences = source.fingerprint.differences(analyzer.fingerprint)
    if differences:
        raise FingerprintMismatchError(
            "this index was built with another analyzer: "
            + "; ".join(differences)
            + ". Set the settings back to what it was built with, or run `tidegraph reindex`"
        )
    return analyzer


def application(
    settings: Settings,
    source: SnapshotSource,
    analyzer: Analyzer,
    status: Callable[[], StatusReport],
    telemetry: Telemetry,
) -> FastAPI:
    """The HTTP application over a source of snapshots."""
    keys = tuple(key.get_secret_value() for key in settings.api_keys)
    open_on_loopback = settings.loopback and not keys
    return create_app(
        Service(
            engine=engine(source, analyzer, settings, backlog=lambda: status().lag or 0),
            news=Newsroom(),
            source=source,
            status=status,
            metrics=telemetry.metrics.exposition,
            observe=telemetry.observe,
            keys=keys,
            hosts=tuple(sorted(LOOPBACK | {"[::1]"})) if open_on_loopback else (),
            limits=Limits(default_budget=settings.budget, largest_budget=settings.budget_max),
        )
    )


def engine(
    source: SnapshotSource,
    analyzer: Analyzer,
    settings: Settings,
    *,
    backlog: Callable[[], int] = lambda: 0,
) -> Engine:
    """What answers questions over a source of snapshots."""
    search = SearchSettings(largest_budget=settings.budget_max)
    return Engine(source, analyzer, OfflineAssessor(), search, backlog=backlog)


def ingestion_status(settings: Settings, ingestion_: Ingestion, rates: Rates) -> Status:
    """The status of the process that writes."""
    return Status(
        settings.data,
        ingestion_.writer,
        role="run",
        collection=settings.collection,
        consumer=ingestion_.consumer.status,
        rates=rates,
    )


def follower_status(settings: Settings, source: Follower, role: str) -> Status:
    """The status of a process that reads; the embedded log tells how far the writer is behind."""
    return Status(
        settings.data,
        source,
        role=role,
        collection=settings.collection,
        ends=lambda: log_ends(settings),
    )


def log_ends(settings: Settings) -> Mapping[Partition, int] | None:
    """The next offsets of the embedded log; None where there is no log."""
    path = settings.data / LOG_NAME
    if not path.exists():
        return None
    with closing(LogSource(path, [settings.topic])) as source:
        return source.end_offsets()


def reindex(settings: Settings, told: Told) -> ReindexReport:
    """Build the store anew with the settings in force."""
    told("loading the language models", 0, None)
    analyzer = Analyzer(analyzer_settings(settings))
    return reindex_store(
        settings.data,
        analyzer,
        progress=lambda done, total: told("indexing anew", done, total),
    )
