"""One search over one pinned view."""

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from index.types import BoolArray
from index.vectors.similarity import ExactSimilarity, Lookup, Similarity
from index.view import View
from query import answer as wording
from query.assessor import Assessor, OfflineAssessor
from query.broad import rank_broad
from query.candidates import Candidates, Texts
from query.communities import group
from query.conclude import Conclusion, relevant_outside
from query.counting import Wanted
from query.enumeration import listed, mostly_found
from query.everywhere import everything, level_for, visits
from query.filters import condition, searched
from query.graph import GraphCache
from query.language import Language, Steady
from query.lazy import Descent, Explored, Groups, RelevanceTest, Verdicts, search
from query.ledger import Clock, Ledger
from query.memory import Memory
from query.model.calls import Model
from query.model.refine import Refined
from query.model.session import ModelSession
from query.parts import Part
from query.plan import Subquery, subqueries
from query.ranking import Ranking, rank
from query.readers import Gathered, Reader
from query.reading import read
from query.record import missing, why_nothing
from query.said import Said, amiss, counted, how_read
from query.settings import SearchSettings
from query.standing.recall import Recall
from query.tally import Counter
from query.telling import claimed, descended, tested
from query.types import (
    BASELINES,
    Answer,
    Claim,
    EventKind,
    Mode,
    Outcome,
    Preset,
    Question,
    SearchEvent,
    Stopped,
)
from query.words import names

MAPPED_AT_ONCE = 8
"""Communities of mode ``global`` that a model is given together."""

_LEAST_CHUNK = 40
"""Tokens: hardly a chunk has fewer, so that a context is filled before the candidates end."""

Events = Generator[SearchEvent, None, None]


@dataclass(frozen=True, slots=True)
class Tools:
    """What a search works with, beside its view and its question."""

    language: Language
    assessor: Assessor
    settings: SearchSettings
    clock: Clock
    backlog: Callable[[], int]
    graphs: GraphCache
    model: Model | None = None
    memory: Memory | None = None
    offline: OfflineAssessor = field(default_factory=OfflineAssessor)
    similar: Similarity = field(default_factory=ExactSimilarity)


class Run:
    """The steps of one search; used once. ``recall`` is what those before it left."""

    def __init__(
        self, view: View, question: Question, tools: Tools, recall: Recall | None = None
    ) -> None:
        self.view = view
        self.question = question
        self.tools = tools
        self.settings = tools.settings
        self.ledger = Ledger(tools.clock)
        self.texts = Texts(view, tools.language)
        self.parts: list[Part] = []
        self.stopped = Stopped.NO_CANDIDATES
        self.expanded = question.text
        self.model: ModelSession | None = None
        asks = question.mode not in BASELINES or recall is None
        if tools.model is not None and asks:
            lite = question.preset is Preset.Z100_LITE
            self.model = ModelSession(
                tools.model,
                tools.assessor,
                self.ledger,
                tools.memory,
                lite=lite,
                payer=question.payer,
            )
        self.reader: Reader | None = None
        if self.model is not None and question.mode is not Mode.LAZY and recall is None:
            tokens, longest = question.context, self.settings.claims.longest
            self.reader = Reader(
                self.model, self.texts, self.ledger, tokens=tokens, longest=longest
            )
        self.recall = recall
        self.assessor: Assessor = self.model or tools.assessor
        if recall is not None:
            self.assessor = recall.over(self.assessor)
        with self.ledger.stage("plan"):
            self.graph = tools.graphs.of(view.snapshot)
            self.language = Steady(tools.language, view.snapshot.dimensions)
            self.reading = read(question, view, self.language)
            self.rows: BoolArray = self.reading.rows
            self.searched = searched(view, self.rows, self.reading.filters)
            self.asked = subqueries([self.reading.text], self.graph, self.language)
            named = not any(subquery.broad for subquery in self.asked)
            self.absent = missing(self.reading.text, view, self.graph, self.rows) if named else None

    @property
    def offline(self) -> bool:
        """Whether relevance tests cost nothing."""
        return self.assessor.name == self.tools.offline.name

    def steps(self) -> Iterator[SearchEvent]:
        """Search; the last event carries the answer.

        A question that names what the index does not hold gets no claim. Offline it is searched
        all the same, so that the ranking shows what the rest of it meets; a model's tests would
        be money for nothing.
        """
        yield self._started()
        if self.reading.amiss and (self.absent is None or self.absent.outside):
            yield self._answer(amiss(self.reading))
            return
        if self.reading.count is not None and self.absent is None and self.searched.chunks:
            yield from self._count(self.reading.count)
            return
        if self.searched.chunks and (self.absent is None or self.offline):
            self._refine()
            with self.ledger.stage("rank"):
                self.parts = [self._part(subquery) for subquery in self.asked]
            candidates = sum(len(part.ranking.rows) for part in self.parts)
            asked = [subquery.text for subquery in self.asked]
            yield SearchEvent(EventKind.RANKED, {"candidates": candidates, "subqueries": asked})
            if self.question.mode in BASELINES:
                self._look_at_top()
            elif self.question.mode is Mode.GLOBAL:
                yield from self._everywhere(self.parts[0])
            else:
                yield from self._tests()
        yield from self._conclude()

    def _started(self) -> SearchEvent:
        return SearchEvent(
            EventKind.STARTED,
            {
                "generation": self.view.snapshot.generation,
                "documents": self.searched.documents,
                "chunks": self.searched.chunks,
                "subqueries": [subquery.text for subquery in self.asked],
                "assessor": self.assessor.name,
            },
        )

    def _refine(self) -> None:
        """Have the model say what to search for, after the first event: it may take seconds."""
        if self.model is not None and self.question.mode is Mode.LAZY:
            with self.ledger.stage("refine"):
                refined = self._refined(self.model)
                self.expanded = refined.expanded
                self.asked = subqueries(refined.subqueries, self.graph, self.language)

    def _refined(self, model: ModelSession) -> Refined:
        """The model's refinement, or that of an earlier asking."""
        recall = self.recall
        if recall is not None and recall.refined is not None:
            return recall.refined
        refined = model.refine(self.reading.text)
        if recall is not None and not model.lost:
            recall.refined = refined
        return refined

    def _part(self, subquery: Subquery) -> Part:
        mode = self.question.mode
        if subquery.broad and mode not in BASELINES:
            ranking, groups = rank_broad(self.graph, subquery, self.rows)
        else:
            ranking = rank(
                self.view,
                self.graph,
                subquery,
                self.rows,
                mode=mode,
                settings=self.settings.rank,
                count=self._candidates(),
                lookup=self._lookup,
            )
            groups = self._grouped(ranking)
        return Part(Candidates(subquery, ranking, self.graph, self.texts), ranking, groups)

    def _candidates(self) -> int:
        least = 0 if self.reader is None else self.question.context // _LEAST_CHUNK
        return max(self.settings.candidates, 3 * self.question.budget, least)

    def _grouped(self, ranking: Ranking) -> Groups:
        if self.question.mode is not Mode.LAZY:
            return Groups((), {}, {}, {}, {}, ())
        # Communities are those of a fixed number of chunks: where it grew with the budget, their
        # order would too, and a larger budget would not test a superset.
        grouped = group(self.graph, ranking.rows[: self.settings.candidates], self.settings.lazy)
        return replace(grouped, ranked=self.graph.snapshot.slots[ranking.rows].tolist())

    def _look_at_top(self) -> None:
        """A baseline: no relevance test is spent; its top is quoted, whatever it is."""
        with self.ledger.stage("claims"):
            for part in self.parts:
                rows = part.ranking.rows[: self.settings.claims.baseline]
                shown = part.candidates.of(self.graph.snapshot.slots[rows].tolist())
                verdicts = self.tools.offline.assess(part.candidates.subquery, shown)
                part.verdicts.update((verdict.slot, verdict) for verdict in verdicts)
                if shown:
                    self.stopped = Stopped.NOTHING_LEFT

    def _tests(self) -> Events:
        """Walk over the communities, as the verdicts say."""
        groups = [part.groups for part in self.parts]
        walk = search(groups, self.question.budget, self._neighbours, self.settings.lazy)
        reply: Verdicts | None = None
        while True:
            try:
                step = walk.send(reply)
            except StopIteration as end:
                self.stopped = _overall(end.value)
                return
            if isinstance(step, Descent):
                reply = None
                yield descended(step)
            elif self.ledger.seconds > self.settings.deadline:
                self.stopped = Stopped.DEADLINE
                return
            else:
                reply = self._test(step)
                verdicts = (v for part in self.parts for v in part.verdicts.values())
                yield tested(step, verdicts, self.question.budget)

    def _everywhere(self, part: Part) -> Events:
        """Mode ``global``: read every community of a level, a model several at once."""
        budget = self.question.budget
        rows = everything(part.ranking.rows, self.rows)
        level = level_for(self.graph, self.question.level, budget)
        steps = visits(self.graph, rows, level, budget)
        at_once = MAPPED_AT_ONCE if self.reader is not None else 1
        self.stopped = Stopped.BUDGET_SPENT if len(rows) > budget else Stopped.NOTHING_LEFT
        for start in range(0, len(steps), at_once):
            if self.ledger.seconds > self.settings.deadline:
                self.stopped = Stopped.DEADLINE
                return
            batch = steps[start : start + at_once]
            self._read(part, batch)
            for step in batch:
                yield tested(step, part.verdicts.values(), budget)

    def _read(self, part: Part, steps: Sequence[RelevanceTest]) -> None:
        if self.reader is None:
            for step in steps:
                self._test(step)
            return
        with self.ledger.stage("map"):
            verdicts = self.reader.collect(part, self.reading.text, steps)
            part.verdicts.update((verdict.slot, verdict) for verdict in verdicts)
        self.ledger.tests("map", sum(len(step.slots) for step in steps))

    def _test(self, step: RelevanceTest) -> Verdicts:
        part = self.parts[step.subquery]
        with self.ledger.stage("test"):
            shown = part.candidates.of(step.slots)
            verdicts = self.assessor.assess(part.candidates.subquery, shown)
            part.verdicts.update((verdict.slot, verdict) for verdict in verdicts)
        self.ledger.tests("test", len(step.slots))
        if self.model is None:
            self.ledger.call("test")
        return [verdict.relevant for verdict in verdicts]

    def _neighbours(self, slot: int) -> list[int]:
        """The chunks before and after one in its document, those that may be tested."""
        snapshot = self.graph.snapshot
        row = int(snapshot.rows_of(np.array([slot]))[0])
        near = [n for n in (row - 1, row + 1) if 0 <= n < snapshot.rows and self.rows[n]]
        of = snapshot.chunk_document
        return [int(snapshot.slots[n]) for n in near if of[n] == of[row]]

    def _conclude(self) -> Events:
        """Claims, then the answer."""
        end = Conclusion(self.view, self.graph, self.texts, self.parts, self.settings)
        found = self._gathered(end)
        claims, citations = found.claims, found.citations
        for claim in claims:
            yield claimed(claim, citations)
        with self.ledger.stage("answer"):
            if claims:
                outcome, text = Outcome.ANSWERED, found.text or self._worded(end, claims)
            else:
                outcome, text = self._no_record()
            if self.model is not None and self.model.notes:
                text = "\n\n".join([text, *self.model.notes])
            ranking = end.ranking(self.question.mode, self.question.budget)
        yield self._answer(Said(outcome, text, claims, citations, ranking))

    def _gathered(self, end: Conclusion) -> Gathered:
        """What the answer stands on: what a model read, or quotes from what was relevant."""
        if self.absent is None and self.reader is not None and self.parts:
            found = self._read_by_model(self.reader, self.parts[0])
            if found is not None:
                return found
        if self.absent is not None or not self._supported():
            return Gathered((), ())
        with self.ledger.stage("claims"):
            return Gathered(*end.claims(self.question.mode))

    def _read_by_model(self, reader: Reader, part: Part) -> Gathered | None:
        if self.question.mode is Mode.GLOBAL:
            return reader.gathered()
        with self.ledger.stage("answer"):
            slots = self.graph.snapshot.slots[part.ranking.rows].tolist()
            return reader.from_top(part, self.reading.text, slots)

    def _count(self, asked: Wanted) -> Events:
        """Count over the postings: exact, so that nothing is tested."""
        with self.ledger.stage("count"):
            counter = Counter(self.view, self.graph, self.language, self.rows)
            said = counted(counter.tally(asked))
        self.stopped = Stopped.NOTHING_LEFT
        for claim in said.claims:
            yield claimed(claim, said.citations)
        yield self._answer(said)

    def _answer(self, said: Said) -> SearchEvent:
        """The last event."""
        snapshot, reading = self.view.snapshot, self.reading
        answer = Answer(
            question=self.question.text,
            text="\n\n".join([said.text, *how_read(reading)]),
            outcome=said.outcome,
            stopped=self.stopped,
            citations=said.citations,
            claims=said.claims,
            ranking=said.ranking,
            searched=self.searched,
            ledger=self.ledger.costs(),
            budget=self.question.budget,
            assessor=self.assessor.name,
            mode=self.question.mode,
            generation=snapshot.generation,
            watermark=snapshot.head.watermark,
            positions=snapshot.head.positions,
            subqueries=tuple(subquery.text for subquery in self.asked),
            degraded=self._degraded(),
            window=reading.window,
            amounts=reading.amounts,
            counted=said.counted,
            preset=self.question.preset,
        )
        return SearchEvent(EventKind.ANSWER, {"outcome": said.outcome.value}, answer)

    @cached_property
    def _lookup(self) -> Lookup:
        """Similarity over the allowed rows; made late, since an index may have to be asked."""
        limits = condition(self.reading.filters, self.view.snapshot.head.horizon)
        return self.tools.similar.over(self.view, self.rows, limits)

    def _degraded(self) -> tuple[str, ...]:
        """What should have helped and could not."""
        memory = self.tools.memory
        parts = (
            ("model", self.lost),
            ("embedder", self.language.lost),
            ("vectors", self._lookup.degraded),
            ("memory", self.model is not None and memory is not None and memory.lost),
        )
        return tuple(name for name, lost in parts if lost)

    @property
    def lost(self) -> bool:
        """Whether the model did not do its part."""
        return self.model is not None and self.model.lost

    def _worded(self, end: Conclusion, claims: Sequence[Claim]) -> str:
        text = self.model.reduce(self.expanded, claims) if self.model is not None else None
        return text or end.text(claims, offline=self.offline)

    def _supported(self) -> bool:
        """Whether there is a record at all; a model's verdicts need no support."""
        if not (self.offline or self.lost) and self.question.mode not in BASELINES:
            return True
        verdicts = [verdict for part in self.parts for verdict in part.verdicts.values()]
        if self.tools.offline.supports(verdicts, named=bool(names(self.reading.text))):
            return True
        things = listed(self.reading.text)
        relevant = [verdict.slot for verdict in verdicts if verdict.relevant] if things else []
        return mostly_found(things, (chunk.text for chunk in self.view.chunks(relevant)))

    def _no_record(self) -> tuple[Outcome, str]:
        backlog = self.tools.backlog()
        if self.absent is not None:
            outcome = self.absent.outcome(backlog)
            return outcome, wording.no_record(self.absent.names, outcome, self.searched)
        outcome = why_nothing(
            stopped=self.stopped,
            outside=relevant_outside(
                self.view, self.graph, self.asked, self.rows, self.texts, self.settings
            ),
            documents=len(self.view.snapshot.documents),
            backlog=backlog,
        )
        return outcome, wording.no_record((), outcome, self.searched)


def _overall(explored: Sequence[Explored]) -> Stopped:
    """Why the whole search ended: as the last subquery that had candidates did."""
    reasons = [part.stopped for part in explored if part.stopped is not Stopped.NO_CANDIDATES]
    return reasons[-1] if reasons else Stopped.NO_CANDIDATES
