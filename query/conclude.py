"""The end of a search: from verdicts to claims, ranking and the words of the answer."""

from collections.abc import Mapping, Sequence

import numpy as np

from index.types import BoolArray
from index.view import View
from query import answer as wording
from query.assessor import OfflineAssessor, Verdict
from query.candidates import Candidates, Texts
from query.claims import Evidence, extract
from query.communities import main_home
from query.graph import SearchGraph
from query.labels import named_by
from query.parts import Part, best_documents, document_numbers, found, worth
from query.plan import Subquery
from query.ranking import rank
from query.settings import SearchSettings
from query.types import BASELINES, Citation, Claim, Found, Mode
from query.words import names


class Conclusion:
    """What is read off a search that has ended."""

    def __init__(
        self,
        view: View,
        graph: SearchGraph,
        texts: Texts,
        parts: Sequence[Part],
        settings: SearchSettings,
    ) -> None:
        self._view = view
        self._graph = graph
        self._texts = texts
        self._parts = parts
        self._settings = settings

    def claims(self, mode: Mode) -> tuple[tuple[Claim, ...], tuple[Citation, ...]]:
        """Claims from the relevant chunks, or in a baseline from those at the top."""
        best: dict[int, tuple[float, Verdict]] = {}
        for part in self._parts:
            for slot, verdict in part.verdicts.items():
                if verdict.relevant or mode in BASELINES:
                    value = worth(part, slot, self._settings.rank)
                    if slot not in best or best[slot][0] < value:
                        best[slot] = (value, verdict)
        slots = sorted(best)
        rows = self._graph.snapshot.rows_of(np.array(slots, np.int64))
        homes = main_home(self._graph, rows, self._settings.claims.level).tolist()
        evidence = [
            Evidence(
                chunk=self._texts.chunk(slot),
                document=self._texts.document(slot),
                sentences=self._texts.sentences(slot),
                verdict=best[slot][1],
                worth=best[slot][0],
                community=home,
            )
            for slot, home in zip(slots, homes, strict=True)
        ]
        return extract(evidence, self._settings.claims)

    def ranking(self, mode: Mode, budget: int) -> tuple[Found, ...]:
        """The documents tested (or, in a baseline, within the budget), and enough of the rest."""
        baseline = mode in BASELINES
        scores = best_documents(self._parts, self._graph, self._settings.rank, tests=not baseline)
        tested, relevant = document_numbers(self._parts, self._graph)
        if baseline:
            tested, relevant = set(), set()
            keep = dict.fromkeys(self._within(budget))
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

    def text(self, claims: Sequence[Claim], *, offline: bool) -> str:
        """The answer from its claims, a heading over the claims of each community."""
        return wording.answered(claims, self._headings(claims), offline=offline)

    def _headings(self, claims: Sequence[Claim]) -> Mapping[int, str]:
        communities = sorted({claim.community for claim in claims if claim.community})
        count = self._settings.claims.heading
        names = named_by(self._view, self._graph, communities, count)
        return {c: ", ".join(name) for c, name in zip(communities, names, strict=True)}


def relevant_outside(
    view: View,
    graph: SearchGraph,
    asked: Sequence[Subquery],
    rows: BoolArray,
    texts: Texts,
    settings: SearchSettings,
) -> bool:
    """Whether the best chunks that the filters left out are relevant to a question."""
    outside = graph.snapshot.shown & ~rows
    if not outside.any():
        return False
    offline = OfflineAssessor()
    for subquery in asked:
        if subquery.broad:
            return True
        ranking = rank(
            view,
            graph,
            subquery,
            outside,
            mode=Mode.LAZY,
            settings=settings.rank,
            count=settings.claims.baseline,
        )
        slots = graph.snapshot.slots[ranking.rows].tolist()
        shown = Candidates(subquery, ranking, graph, texts).of(slots)
        if offline.supports(offline.assess(subquery, shown), named=bool(names(subquery.text))):
            return True
    return False
