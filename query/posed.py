"""A question held against one view: how it is read, what it may search, how it is looked up."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from index.types import BoolArray
from index.vectors.similarity import ExactSimilarity, Lookup, Similarity
from index.view import View
from query.assessor import Assessor, OfflineAssessor
from query.broad import rank_broad
from query.candidates import Candidates, Texts
from query.communities import group
from query.filters import condition, searched
from query.graph import GraphCache
from query.language import Language, Steady
from query.lazy import Groups
from query.ledger import Clock
from query.memory import Memory
from query.model.calls import Model
from query.parts import Part
from query.plan import Subquery, subqueries
from query.ranking import Ranking, rank
from query.reading import read
from query.record import missing
from query.settings import SearchSettings
from query.types import BASELINES, Mode, Question


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


class Posed:
    """What follows from a question and a view alone, before anything is tested.

    ``rows`` bool[rows] are the chunks that may be searched; ``asked`` holds the question as the
    one subquery that it is without a model; ``absent`` what it names and the view lacks.
    """

    def __init__(self, view: View, question: Question, tools: Tools) -> None:
        self.view = view
        self.question = question
        self.settings = tools.settings
        self._similar = tools.similar
        self.texts = Texts(view, tools.language)
        self.graph = tools.graphs.of(view.snapshot)
        self.language = Steady(tools.language, view.snapshot.dimensions)
        self.reading = read(question, view, self.language)
        self.rows: BoolArray = self.reading.rows
        self.searched = searched(view, self.rows, self.reading.filters)
        self.asked = self.subqueries([self.reading.text])
        named = not any(subquery.broad for subquery in self.asked)
        self.absent = missing(self.reading.text, view, self.graph, self.rows) if named else None

    def subqueries(self, texts: Sequence[str]) -> list[Subquery]:
        """Texts looked up among the names of the view."""
        return subqueries(texts, self.graph, self.language)

    def part(self, subquery: Subquery, least: int) -> Part:
        """A subquery ranked, at least so many candidates deep, and grouped by community."""
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
                count=max(self.settings.candidates, 3 * self.question.budget, least),
                lookup=self.lookup,
            )
            groups = self._grouped(ranking)
        return Part(Candidates(subquery, ranking, self.graph, self.texts), ranking, groups)

    def _grouped(self, ranking: Ranking) -> Groups:
        if self.question.mode is not Mode.LAZY:
            return Groups((), {}, {}, {}, {}, ())
        # Communities are those of a fixed number of chunks: where it grew with the budget, their
        # order would too, and a larger budget would not test a superset.
        grouped = group(self.graph, ranking.rows[: self.settings.candidates], self.settings.lazy)
        return replace(grouped, ranked=self.graph.snapshot.slots[ranking.rows].tolist())

    def neighbours(self, slot: int) -> list[int]:
        """The chunks before and after one in its document, those that may be tested."""
        snapshot = self.graph.snapshot
        row = int(snapshot.rows_of(np.array([slot]))[0])
        near = [n for n in (row - 1, row + 1) if 0 <= n < snapshot.rows and self.rows[n]]
        of = snapshot.chunk_document
        return [int(snapshot.slots[n]) for n in near if of[n] == of[row]]

    @cached_property
    def lookup(self) -> Lookup:
        """Similarity over the allowed rows; made late, since an index may have to be asked."""
        limits = condition(self.reading.filters, self.view.snapshot.head.horizon)
        return self._similar.over(self.view, self.rows, limits)
