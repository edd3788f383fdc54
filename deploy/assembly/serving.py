"""What answers, from settings: the application over a writer or over a follower."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

from fastapi import FastAPI

from deploy.assembly.streams import Backlog
from deploy.assembly.writing import Ingestion, analyzer_settings
from deploy.rates import Rates
from deploy.settings import LOOPBACK, Settings
from deploy.status import Status
from deploy.telemetry.metrics import Metrics
from deploy.telemetry.observe import Telemetry
from index.analysis.analyzer import Analyzer
from index.errors import FingerprintMismatchError
from index.store.follower import Follower
from index.view import SnapshotSource
from query.assessor import OfflineAssessor
from query.news import Newsroom
from query.search import Engine
from query.service.app import create_app
from query.service.service import Limits, Service
from query.service.status import StatusReport
from query.settings import SearchSettings


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
    """The status of a process that reads; the stream tells how far the writer is behind."""
    return Status(
        settings.data,
        source,
        role=role,
        collection=settings.collection,
        backlog=Backlog(settings),
    )
