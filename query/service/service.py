"""What the HTTP application is given: its ports, its limits, and what it reports."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from uuid import uuid4

from index.replica.origin import Origin
from index.types import Millis
from index.view import SnapshotSource, View
from query.changes import Time
from query.graph import GraphCache
from query.service.status import StatusReport
from query.standing.store import StandingStore
from query.standing.types import BadWebhookError
from query.trends import TrendsAsked
from query.types import Question, SearchEvent
from query.types_news import (
    Communities,
    CommunityCard,
    ConceptCard,
    News,
    Order,
    TimeRow,
    Trends,
)


class Searcher(Protocol):
    """What answers a question; ``query.search.Engine`` and the tests' own."""

    def search(self, question: Question) -> Iterator[SearchEvent]:
        """Search; the last event carries the answer. Closing the iterator stops the search."""


class Newsroom(Protocol):
    """What can be had without a question; ``query.news`` and the tests' own.

    Times are milliseconds since 1970, windows are half open.
    """

    def new(
        self, view: View, *, about: str | None, since: Millis, until: Millis, limit: int
    ) -> News:
        """What arrived in a window, as stories."""

    def timeseries(
        self,
        view: View,
        *,
        concept: str,
        interval: Millis,
        since: Millis,
        until: Millis,
        time: Time = Time.OBSERVED,
    ) -> Sequence[TimeRow]:
        """Changes that concern a concept, by interval; raises ``UnknownConceptError``."""

    def trends(self, view: View, asked: TrendsAsked) -> Trends:
        """What rose beyond its past; raises ``UnknownCommunityError`` for no such level."""

    def communities(
        self, view: View, *, level: int, order: Order, since: Millis, limit: int
    ) -> Communities:
        """One level; raises ``UnknownCommunityError`` where there is no such level."""

    def community(self, view: View, community: int, *, since: Millis) -> CommunityCard:
        """One community; raises ``UnknownCommunityError``."""

    def concept(self, view: View, key: str) -> ConceptCard:
        """One concept; raises ``UnknownConceptError``."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on what a client may ask for.

    ``running_searches`` run at once and ``waiting_searches`` more may wait; beyond that a
    question is refused with 429. ``rate`` is requests a second for one client (key or address)
    below ``/v1``, ``burst`` how many may come at once. ``body_seconds`` bounds the time in which
    a body must have arrived. ``standing_tests_a_day`` bounds the first tests of a standing question
    in a day. Sizes in bytes or characters as named.
    """

    question_characters: int = 2_000
    body_bytes: int = 64 * 1024
    body_seconds: float = 10.0
    default_budget: int = 100
    largest_budget: int = 10_000
    running_searches: int = 2
    waiting_searches: int = 32
    rate: float = 50.0
    burst: int = 200
    page_size: int = 100
    standing_tests_a_day: int = 1_000


@dataclass(frozen=True, slots=True)
class RequestReport:
    """One HTTP request, done. ``route`` is the template, so that labels stay few.

    ``status`` 499 means that the client hung up first. ``error`` is what was not foreseen.
    """

    request_id: str
    method: str
    route: str
    status: int
    seconds: float
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class SearchReport:
    """One search, done. ``outcome`` and ``stopped`` are "" for one that gave no answer.

    ``tests`` counts relevance tests and ``stages`` gives the seconds of each stage.
    ``first_event_seconds`` is None for a search that told nothing.
    """

    request_id: str
    mode: str
    assessor: str
    budget: int
    outcome: str
    stopped: str
    tests: int
    generation: int
    seconds: float
    first_event_seconds: float | None
    stages: Mapping[str, float] = field(default_factory=dict)
    error: Exception | None = None


def _nothing(report: RequestReport | SearchReport) -> None:
    del report


def _no_webhooks(address: str) -> None:
    raise BadWebhookError(f"This service posts to no webhook: {address[:80]!r}.")


def wall_clock() -> Millis:
    """Milliseconds since 1970."""
    return Millis(time.time_ns() // 1_000_000)


@dataclass(frozen=True, slots=True)
class Service:
    """All that ``create_app`` needs.

    ``status`` and ``metrics`` must be cheap: they are called for every poll; ``metrics`` gives
    the Prometheus text exposition. ``observe`` gets one report for each unit of work, from any
    thread. ``keys`` are the accepted API keys, none for an open service. ``hosts`` are the
    accepted ``Host`` names (without port), none for any: a service on loopback without a key
    names them, so that a foreign web page cannot reach it by rebinding its own name. ``graphs``
    is best the newsroom's own: what follows from a snapshot is then worked out once. ``standing``
    keeps standing questions, None where there are none; ``check_webhook`` raises
    ``BadWebhookError`` for an address that may not be posted to. ``origin`` gives the store to
    followers on other hosts, None where nobody may have it.
    """

    engine: Searcher
    news: Newsroom
    source: SnapshotSource
    status: Callable[[], StatusReport]
    metrics: Callable[[], bytes]
    observe: Callable[[RequestReport | SearchReport], None] = _nothing
    keys: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    graphs: GraphCache = field(default_factory=GraphCache)
    standing: StandingStore | None = None
    origin: Origin | None = None
    check_webhook: Callable[[str], None] = _no_webhooks
    clock: Callable[[], Millis] = wall_clock
    stopwatch: Callable[[], float] = time.monotonic
    new_id: Callable[[], str] = lambda: uuid4().hex
