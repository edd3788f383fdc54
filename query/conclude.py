"""The end of a search: from verdicts to claims, ranking, and whether there is a record at all."""

from collections.abc import Mapping, Sequence

import numpy as np

from query import answer as wording
from query.assessor import OfflineAssessor, Verdict
from query.candidates import Candidates
from query.claims import Evidence, extract
from query.communities import main_home
from query.enumeration import listed, mostly_found
from query.labels import named_by
from query.parts import Part, best_documents, document_numbers, found, worth
from query.plan import Subquery
from query.posed import Posed
from query.ranking import rank
from query.record import why_nothing
from query.types import BASELINES, Citation, Claim, Found, Mode, Outcome, Stopped
from query.words import names


class Conclusion:
    """What is read off a search that has ended."""

    def __init__(self, posed: Posed, parts: Sequence[Part], offline: OfflineAssessor) -> None:
        self._posed = posed
        self._view = posed.view
        self._graph = posed.graph
        self._parts = parts
        self._settings = posed.settings
        self._mode = posed.question.mode
        self._offline = offline

    def claims(self) -> tuple[tuple[Claim, ...], tuple[Citation, ...]]:
        """Claims from the relevant chunks, or in a baseline from those at the top."""
        best: dict[int, tuple[float, Verdict]] = {}
        for part in self._parts:
            for slot, verdict in part.verdicts.items():
                if verdict.relevant or self._mode in BASELINES:
                    value = worth(part, slot, self._settings.rank)
                    if slot not in best or best[slot][0] < value:
                        best[slot] = (value, verdict)
        slots = sorted(best)
        rows = self._graph.snapshot.rows_of(np.array(slots, np.int64))
        homes = main_home(self._graph, rows, self._settings.claims.level).tolist()
        evidence = [
            Evidence(
                chunk=self._posed.texts.chunk(slot),
                document=self._posed.texts.document(slot),
                sentences=self._posed.texts.sentences(slot),
                verdict=best[slot][1],
                worth=best[slot][0],
                community=home,
            )
            for slot, home in zip(slots, homes, strict=True)
        ]
        return extract(evidence, self._settings.claims)

    def ranking(self) -> tuple[Found, ...]:
        """The documents tested (or, in a baseline, within the budget), and enough of the rest."""
        baseline = self._mode in BASELINES
        scores = best_documents(self._parts, self._graph, self._settings.rank, tests=not baseline)
        tested, relevant = document_numbers(self._parts, self._graph)
        if baseline:
            tested, relevant = set(), set()
            keep = dict.fromkeys(self._within(self._posed.question.budget))
        else:
            keep = dict.fromkeys(tested)
        keep.update(dict.fromkeys(list(scores)[: self._settings.ranking]))
        documents = self._view.documents(sorted(keep))
        known = {number: (d.id, d.title) for number, d in documents.items()}
        return found({n: s for n, s in scores.items() if n in keep}, known, tested, relevant)

    def _within(self, budget: int) -> list[int]:
        snapshot = self._graph.snapshot
        numbers: list[int] = []
        for part in self._parts:
            rows = part.ranking.rows[:budget]
            numbers += snapshot.documents[snapshot.chunk_document[rows]].tolist()
        return numbers

    def headings(self, claims: Sequence[Claim]) -> Mapping[int, str]:
        """What the communities of claims are called."""
        communities = sorted({claim.community for claim in claims if claim.community})
        count = self._settings.claims.heading
        named = named_by(self._view, self._graph, communities, count)
        return {c: ", ".join(name) for c, name in zip(communities, named, strict=True)}

    def supported(self) -> bool:
        """Whether verdicts that no model gave stand for a record at all."""
        verdicts = [verdict for part in self._parts for verdict in part.verdicts.values()]
        text = self._posed.reading.text
        if self._offline.supports(verdicts, named=bool(names(text))):
            return True
        relevant = [verdict.slot for verdict in verdicts if verdict.relevant]
        chunks = (self._posed.texts.chunk(slot).text for slot in relevant)
        return mostly_found(listed(text), chunks)

    def no_record(
        self, asked: Sequence[Subquery], stopped: Stopped, backlog: int
    ) -> tuple[Outcome, str]:
        """Which kind of nothing was found, in words."""
        posed = self._posed
        if posed.absent is not None:
            outcome = posed.absent.outcome(backlog)
            return outcome, wording.no_record(posed.absent.names, outcome, posed.searched)
        outcome = why_nothing(
            stopped=stopped,
            # At the deadline the view is about to be given back: nothing more is looked up.
            outside=stopped is not Stopped.DEADLINE and self._relevant_outside(asked),
            documents=len(self._view.snapshot.documents),
            backlog=backlog,
        )
        return outcome, wording.no_record((), outcome, posed.searched)

    def _relevant_outside(self, asked: Sequence[Subquery]) -> bool:
        """Whether the best chunks that the filters left out are relevant to a question."""
        outside = self._graph.snapshot.shown & ~self._posed.rows
        if not outside.any():
            return False
        for subquery in asked:
            if subquery.broad:
                return True
            ranking = rank(
                self._view,
                self._graph,
                subquery,
                outside,
                mode=Mode.LAZY,
                settings=self._settings.rank,
                count=self._settings.claims.baseline,
            )
            slots = self._graph.snapshot.slots[ranking.rows].tolist()
            shown = Candidates(subquery, ranking, self._graph, self._posed.texts).of(slots)
            verdicts = self._offline.assess(subquery, shown)
            if self._offline.supports(verdicts, named=bool(names(subquery.text))):
                return True
        return False
