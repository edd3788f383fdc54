"""Scripted searches and stories over the small index, and the whole service put together."""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from index.view import StoredDocument
from query.errors import UnknownCommunityError, UnknownConceptError
from query.graph import SearchGraph
from query.service.service import Limits, RequestReport, SearchReport, Service
from query.service.status import Operations, StatusReport
from query.trends import trends
from query.types import (
    Answer,
    Citation,
    Claim,
    EventKind,
    Found,
    Outcome,
    Question,
    Searched,
    SearchEvent,
    StageCost,
    Stopped,
)
from query.types_news import (
    Communities,
    CommunityBrief,
    CommunityCard,
    ConceptCard,
    ConceptNeighbour,
    DocumentBrief,
    News,
    Order,
    Story,
    TimeRow,
    Trends,
)
from tests.query.service.small_index import NOW, FakeIndex


class FakeNews:
    """Answers about the small index, just enough to show."""

    def new(self, view, *, about, since, until, limit) -> News:
        story = Story(
            1, 0, ("Harbour Bridge",), self._brief(view, 0), ("Port Wire",),
            (self._brief(view, 1),), 2, 2, 0, 0, NOW, None,
        )  # fmt: skip
        matched = (about.title(),) if about else ()
        return News(about, matched, since, until, 2, 1, (story,)[:limit], view.generation)

    def timeseries(self, view, *, concept, **_) -> list[TimeRow]:
        if view.snapshot.concept(concept.lower()) is None:
            raise UnknownConceptError(f"The index holds no concept {concept!r}.")
        return [TimeRow("2026-02-20T00:00:00Z", 2, 1, 0)]

    def trends(self, view, asked) -> Trends:
        return trends(view, SearchGraph(view.snapshot), asked)

    def communities(self, view, *, level, order, since, limit) -> Communities:
        if level:
            raise UnknownCommunityError(f"There is no level C{level}.")
        found = [self._community(view, c) for c in view.snapshot.hierarchy.ids.tolist()]
        by = {Order.SIZE: lambda c: -c.documents, Order.GROWTH: lambda c: -c.growth}[order]
        first = tuple(sorted(found, key=lambda c: (by(c), c.id))[:limit])
        return Communities(0, 1, len(found), since, first, view.generation)

    def community(self, view, community, **_) -> CommunityCard:
        if not view.snapshot.hierarchy.has(community):
            raise UnknownCommunityError(f"There is no community {community}.")
        members = view.snapshot.hierarchy.members(community).tolist()
        keys = tuple(view.snapshot.vocabulary.keys(members))
        return CommunityCard(self._community(view, community), keys, (), view.generation)

    def concept(self, view, key) -> ConceptCard:
        number = view.snapshot.concept(key.lower())
        if number is None:
            raise UnknownConceptError(f"The index holds no concept {key!r}.")
        frequency = int(view.snapshot.frequency[number])
        near = ConceptNeighbour("ferry", "Ferry", "other", 1, 0.5)
        documents = (self._brief(view, 0),)
        return ConceptCard(
            key, key.title(), "other", frequency, frequency, (1,), (near,), documents,
            view.generation,
        )  # fmt: skip

    def _community(self, view, community) -> CommunityBrief:
        places = [n for n, item in enumerate(view.items) if item.community == community]
        members = view.snapshot.hierarchy.members(community).tolist()
        recent = sum(view.items[n].hours < 24 for n in places)
        return CommunityBrief(
            community, 0, 0, len(members), tuple(view.displays(members).values()), len(places),
            recent, 0.5 * community, tuple(self._brief(view, n) for n in places[-1:]),
        )  # fmt: skip

    def _brief(self, view, number) -> DocumentBrief:
        d = view.documents([number])[number]
        return DocumentBrief(
            d.id, d.title, d.source, d.url, d.observed_at, d.event_at, "insert", d.lang
        )


def answer_to(question: Question, index: FakeIndex) -> Answer:
    """An answer that quotes the second sentence of the first two documents."""
    citations = tuple(_citation(index.documents([n])[n]) for n in (0, 1))
    return Answer(
        question=question.text,
        text=f"{citations[0].quote} [1]\n\n{citations[1].quote} [1, 2]",
        outcome=Outcome.ANSWERED,
        stopped=Stopped.NOTHING_LEFT,
        citations=citations,
        claims=tuple(Claim(c.quote, (n,), 1, 0.9) for n, c in enumerate(citations, start=1)),
        ranking=(Found("harbour/1", "Harbour bridge closed", 1.0, tested=True, relevant=True),),
        searched=Searched(len(index.items), len(index.items), None, None, NOW),
        ledger={"test": StageCost(relevance_tests=4, seconds=0.01)},
        budget=question.budget,
        assessor="offline",
        mode=question.mode,
        generation=index.generation,
        watermark=NOW,
        positions={("documents", 0): len(index.items)},
        subqueries=(question.text,),
    )


def _citation(document: StoredDocument) -> Citation:
    start = document.text.index(". ") + 2
    return Citation(
        document.id, f"{document.number:032x}", start, len(document.text),
        document.text[start:], document.title, document.source, document.url,
        document.published_at, document.observed_at, document.lang,
    )  # fmt: skip


@dataclass
class FakeEngine:
    """Tells a search step by step; ``gate`` holds it before each step after the first."""

    index: FakeIndex
    failure: Exception | None = None
    fails_at: int = 0
    gate: threading.Event | None = None
    degraded: tuple[str, ...] = ()
    delay: float = 0.0
    asked: list[Question] = field(default_factory=list)
    closed: threading.Event = field(default_factory=threading.Event)

    def search(self, question: Question) -> Iterator[SearchEvent]:
        self.asked.append(question)
        time.sleep(self.delay)
        try:
            for number, event in enumerate(self._steps(question)):
                if self.failure is not None and number == self.fails_at:
                    raise self.failure
                if self.gate is not None and number:
                    self.gate.wait(5)
                yield event
        finally:
            self.closed.set()

    def _steps(self, question: Question) -> Iterator[SearchEvent]:
        yield SearchEvent(EventKind.STARTED, {"subqueries": [question.text]})
        yield SearchEvent(EventKind.RANKED, {"candidates": len(self.index.items)})
        answer = answer_to(question, self.index)
        for number, claim in enumerate(answer.claims, start=1):
            detail = {
                "community": 1,
                "tested": number,
                "relevant": number,
                "budget": question.budget,
            }
            yield SearchEvent(EventKind.TESTED, detail)
            yield SearchEvent(EventKind.CLAIM, {"text": claim.text, "title": "A title"})
        yield SearchEvent(EventKind.ANSWER, answer=replace(answer, degraded=self.degraded))


@dataclass
class Desk:
    """A whole service over the small index; ``reports`` holds what it observed."""

    index: FakeIndex = field(default_factory=FakeIndex)
    limits: Limits = field(default_factory=Limits)
    keys: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    reports: list[RequestReport | SearchReport] = field(default_factory=list)
    operations: Operations = field(
        default_factory=lambda: Operations(rejects={"not_json": 2}, documents_per_second=1.5)
    )
    engine: FakeEngine = field(init=False)

    def __post_init__(self) -> None:
        self.engine = FakeEngine(self.index)

    def service(self) -> Service:
        return Service(
            engine=self.engine,
            news=FakeNews(),
            source=self.index,
            status=self.status,
            metrics=lambda: b"# HELP tidegraph_up\ntidegraph_up 1\n",
            observe=self.reports.append,
            keys=self.keys,
            hosts=self.hosts,
            limits=self.limits,
            clock=lambda: NOW,
        )

    def status(self) -> StatusReport:
        head = self.index.snapshot.head
        return StatusReport(
            generation=head.generation,
            documents=head.totals.documents,
            chunks=head.totals.chunks,
            concepts=head.totals.concepts,
            edges=3,
            communities={0: 2},
            modularity={0: 0.5},
            positions=head.positions,
            lag=5,
            freshness_seconds=0.25,
            newest_arrival=head.newest_arrival,
            operations=self.operations,
        )
