"""One search over one pinned view."""

from collections.abc import Generator, Iterator, Sequence

from index.view import View
from query import answer as wording
from query.assessor import Assessor
from query.conclude import Conclusion
from query.counting import Wanted
from query.everywhere import everything, level_for, visits
from query.lazy import Descent, Explored, RelevanceTest, Verdicts, search
from query.ledger import Ledger
from query.model.refine import Refined
from query.model.session import ModelSession
from query.parts import Part
from query.posed import Posed, Tools
from query.readers import Gathered, Reader
from query.said import Said, amiss, counted, how_read
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

MAPPED_AT_ONCE = 8
"""Communities of mode ``global`` that a model is given together; ours: two rounds of calls."""

_LEAST_CHUNK = 40
"""Tokens: hardly a chunk has fewer, so that a context is filled before the candidates end."""

Events = Generator[SearchEvent, None, None]


class Run:
    """The steps of one search; used once. ``recall`` is what those before it left."""

    def __init__(
        self, view: View, question: Question, tools: Tools, recall: Recall | None = None
    ) -> None:
        self.question = question
        self.tools = tools
        self.settings = tools.settings
        self.ledger = Ledger(tools.clock)
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
                deadline=tools.settings.deadline,
            )
        self.recall = recall
        self.assessor: Assessor = self.model or tools.assessor
        if recall is not None:
            self.assessor = recall.over(self.assessor)
        with self.ledger.stage("plan"):
            self.posed = Posed(view, question, tools)
        self.reading, self.absent = self.posed.reading, self.posed.absent
        self.asked = self.posed.asked
        self.reader: Reader | None = None
        if self.model is not None and question.mode is not Mode.LAZY and recall is None:
            tokens, longest = question.context, self.settings.claims.longest
            self.reader = Reader(
                self.model, self.posed.texts, self.ledger, tokens=tokens, longest=longest
            )

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
        if self.reading.count is not None and self.absent is None and self.posed.searched.chunks:
            yield from self._count(self.reading.count)
            return
        if self.posed.searched.chunks and (self.absent is None or self.offline):
            self._refine()
            with self.ledger.stage("rank"):
                least = 0 if self.reader is None else self.question.context // _LEAST_CHUNK
                self.parts = [self.posed.part(subquery, least) for subquery in self.asked]
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
                "generation": self.posed.view.snapshot.generation,
                "documents": self.posed.searched.documents,
                "chunks": self.posed.searched.chunks,
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
                self.asked = self.posed.subqueries(refined.subqueries)

    def _refined(self, model: ModelSession) -> Refined:
        """The model's refinement, or that of an earlier asking."""
        recall = self.recall
        if recall is not None and recall.refined is not None:
            return recall.refined
        refined = model.refine(self.reading.text)
        if recall is not None and not model.lost:
            recall.refined = refined
        return refined

    def _look_at_top(self) -> None:
        """A baseline: no relevance test is spent; its top is quoted, whatever it is."""
        with self.ledger.stage("claims"):
            for part in self.parts:
                rows = part.ranking.rows[: self.settings.claims.baseline]
                shown = part.candidates.of(self.posed.graph.snapshot.slots[rows].tolist())
                verdicts = self.tools.offline.assess(part.candidates.subquery, shown)
                part.verdicts.update((verdict.slot, verdict) for verdict in verdicts)
                if shown:
                    self.stopped = Stopped.NOTHING_LEFT

    def _tests(self) -> Events:
        """Walk over the communities, as the verdicts say."""
        groups = [part.groups for part in self.parts]
        walk = search(groups, self.question.budget, self.posed.neighbours, self.settings.lazy)
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
        graph = self.posed.graph
        rows = everything(part.ranking.rows, self.posed.rows)
        level = level_for(graph, self.question.level, budget)
        steps = visits(graph, rows, level, budget)
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

    def _conclude(self) -> Events:
        """Claims, then the answer.

        What a model words comes last, for that takes it long: all else is read off while the
        view is sure to be held.
        """
        end = Conclusion(self.posed, self.parts, self.tools.offline)
        with self.ledger.stage("claims"):
            ranking = end.ranking()
        found = self._gathered(end)
        claims, citations = found.claims, found.citations
        for claim in claims:
            yield claimed(claim, citations)
        with self.ledger.stage("answer"):
            if claims:
                outcome, text = Outcome.ANSWERED, found.text or self._worded(end, claims)
            else:
                outcome, text = end.no_record(self.asked, self.stopped, self.tools.backlog())
            if self.model is not None and self.model.notes:
                text = "\n\n".join([text, *self.model.notes])
        yield self._answer(Said(outcome, text, claims, citations, ranking))

    def _gathered(self, end: Conclusion) -> Gathered:
        """What the answer stands on: what a model read, or quotes from what was relevant."""
        if self.absent is None and self.reader is not None and self.parts:
            found = self._read_by_model(self.reader, self.parts[0])
            if found is not None:
                return found
        if self.absent is not None or not self._supported(end):
            return Gathered((), ())
        with self.ledger.stage("claims"):
            return Gathered(*end.claims())

    def _read_by_model(self, reader: Reader, part: Part) -> Gathered | None:
        if self.question.mode is Mode.GLOBAL:
            return reader.gathered()
        with self.ledger.stage("answer"):
            slots = self.posed.graph.snapshot.slots[part.ranking.rows].tolist()
            return reader.from_top(part, self.reading.text, slots)

    def _count(self, asked: Wanted) -> Events:
        """Count over the postings: exact, so that nothing is tested."""
        with self.ledger.stage("count"):
            posed = self.posed
            counter = Counter(posed.view, posed.graph, posed.language, posed.rows)
            said = counted(counter.tally(asked))
        self.stopped = Stopped.NOTHING_LEFT
        for claim in said.claims:
            yield claimed(claim, said.citations)
        yield self._answer(said)

    def _answer(self, said: Said) -> SearchEvent:
        """The last event."""
        snapshot, reading = self.posed.view.snapshot, self.reading
        answer = Answer(
            question=self.question.text,
            text="\n\n".join([said.text, *how_read(reading)]),
            outcome=said.outcome,
            stopped=self.stopped,
            citations=said.citations,
            claims=said.claims,
            ranking=said.ranking,
            searched=self.posed.searched,
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

    def _degraded(self) -> tuple[str, ...]:
        """What should have helped and could not."""
        memory = self.tools.memory
        parts = (
            ("model", self.lost),
            ("embedder", self.posed.language.lost),
            ("vectors", self.posed.lookup.degraded),
            ("memory", self.model is not None and memory is not None and memory.lost),
        )
        return tuple(name for name, lost in parts if lost)

    @property
    def lost(self) -> bool:
        """Whether the model did not do its part."""
        return self.model is not None and self.model.lost

    def _worded(self, end: Conclusion, claims: Sequence[Claim]) -> str:
        headings = end.headings(claims)
        text = self.model.reduce(self.expanded, claims) if self.model is not None else None
        return text or wording.answered(claims, headings, offline=self.offline)

    def _supported(self, end: Conclusion) -> bool:
        """Whether there is a record at all; a model's verdicts need no support."""
        by_model = not (self.offline or self.lost) and self.question.mode not in BASELINES
        return by_model or end.supported()


def _overall(explored: Sequence[Explored]) -> Stopped:
    """Why the whole search ended: as the last subquery that had candidates did."""
    reasons = [part.stopped for part in explored if part.stopped is not Stopped.NO_CANDIDATES]
    return reasons[-1] if reasons else Stopped.NO_CANDIDATES
