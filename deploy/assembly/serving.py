"""What answers, from settings: the application over a writer or over a follower."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from fastapi import FastAPI

from deploy.assembly import standing as questions_kept
from deploy.assembly.language import load_analyzer
from deploy.assembly.models import memory, models
from deploy.assembly.streams import Backlog
from deploy.assembly.vectors import Vectors, beside
from deploy.errors import DeployError
from deploy.settings import LOOPBACK, Settings
from deploy.status import Status
from index.replica.origin import Origin
from index.store.follower import Follower
from index.store.pins import PIN_SECONDS
from index.types import Millis
from index.view import SnapshotSource
from query.assessor import OfflineAssessor
from query.graph import GraphCache
from query.language import Language
from query.model.spending import Spent
from query.news import Newsroom
from query.search import Engine
from query.service.app import create_app
from query.service.service import Limits, Searcher, Service
from query.service.status import FollowStatus, StatusReport
from query.settings import LazySettings, RankSettings, SearchSettings
from query.standing.store import StandingStore
from query.types import Question, SearchEvent

if TYPE_CHECKING:  # reading a store once needs neither, and their imports take a second
    from deploy.telemetry.observe import Telemetry

WITH_MODEL = LazySettings(k=6, root_k=12)
"""Steps twice as large as without a model, in the same proportion: fewer wait for one another.

The calls of a step are made at once. A budget of 100 is 12 steps over three subqueries and 15 over
five, where k = 3 and root_k = 6 make 24 and 25.
"""

_LAST_CALL = 5.0
"""Seconds for what is left to do with a view after the last call to a model; it takes one."""
_LEAST_DEADLINE = 30.0
"""Seconds that tests may be begun in, however long a call may take; ours."""


class _NoQuestions:
    """What answers in an application that is asked none: the models need not be loaded."""

    def search(self, question: Question) -> Iterator[SearchEvent]:
        raise DeployError(f"this application answers no questions: {question.text!r}")


@contextmanager
def following(settings: Settings, *, questions: bool) -> Iterator[FastAPI]:
    """The application over a store, without a service of its own.

    Where ``questions`` will be asked the analyzer is loaded, which takes seconds.
    """
    with ExitStack() as stack:
        source = stack.enter_context(follower(settings))
        status = follower_status(settings, source, "store")
        searcher: Searcher = _NoQuestions()
        if questions:
            analyzer = load_analyzer(settings, source.fingerprint)
            vectors = stack.enter_context(beside(settings, follows=False))
            searcher = engine(
                source, analyzer, settings, backlog=lambda: status().lag or 0, vectors=vectors
            )
            stack.callback(searcher.close)
        store = stack.enter_context(questions_kept.kept(settings))
        yield application(settings, source, searcher, status, standing=store)


@contextmanager
def follower(settings: Settings) -> Iterator[Follower]:
    """A follower of the data directory."""
    with closing(Follower.open(settings.data)) as source:
        yield source


def application(
    settings: Settings,
    source: SnapshotSource,
    searcher: Searcher,
    status: Callable[[], StatusReport],
    telemetry: "Telemetry | None" = None,
    *,
    standing: StandingStore | None = None,
    origin: Origin | None = None,
) -> FastAPI:
    """The HTTP application over a source of snapshots; without telemetry nothing is counted."""
    keys = tuple(key.get_secret_value() for key in settings.api_keys)
    open_on_loopback = settings.loopback and not keys
    # What places documents in communities is made once for a snapshot, for all who ask.
    graphs = searcher.graphs if isinstance(searcher, Engine) else GraphCache()
    return create_app(
        Service(
            engine=searcher,
            news=Newsroom(graphs),
            graphs=graphs,
            source=source,
            status=status,
            metrics=(lambda: b"") if telemetry is None else telemetry.metrics.exposition,
            observe=(lambda _: None) if telemetry is None else telemetry.observe,
            keys=keys,
            hosts=tuple(sorted(LOOPBACK | {"[::1]"})) if open_on_loopback else (),
            limits=Limits(
                default_budget=settings.budget,
                largest_budget=settings.budget_max,
                standing_tests_a_day=settings.standing_tests_day,
            ),
            standing=standing,
            origin=origin,
            check_webhook=questions_kept.webhooks(settings),
        )
    )


def engine(
    source: SnapshotSource,
    language: Language,
    settings: Settings,
    *,
    backlog: Callable[[], int] = lambda: 0,
    vectors: Vectors | None = None,
    spent: Callable[[Spent], None] = lambda _: None,
) -> Engine:
    """What answers questions over a source of snapshots; ``spent`` is told each call to a model."""
    return Engine(
        source,
        language,
        OfflineAssessor(),
        search_settings(settings),
        model=models(settings, spent),
        memory=memory(settings),
        backlog=backlog,
        similar=None if vectors is None else vectors.similar,
    )


def search_settings(settings: Settings) -> SearchSettings:
    """The constants of a search; with a model its last call must end while the view is held."""
    found = SearchSettings(
        rank=RankSettings(walk=settings.walk), largest_budget=settings.budget_max
    )
    if not settings.model:
        return found
    latest = max(_LEAST_DEADLINE, PIN_SECONDS - settings.model_timeout - _LAST_CALL)
    return replace(found, lazy=WITH_MODEL, deadline=min(found.deadline, latest))


def follower_status(
    settings: Settings,
    source: Follower,
    role: str,
    vectors: Vectors | None = None,
    follows: Callable[[int, Millis | None], FollowStatus] | None = None,
) -> Status:
    """The status of a process that reads; the stream tells how far the writer is behind."""
    return Status(
        settings.data,
        source,
        role=role,
        collection=settings.collection,
        model=settings.model,
        backlog=Backlog(settings),
        vectors=None if vectors is None else vectors.status,
        follows=follows,
    )
