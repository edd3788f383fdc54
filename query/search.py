"""The search as a whole: pin a view, plan, rank, test, claim, answer, telling what happens."""

import time
from collections.abc import Callable, Iterator

from index.vectors.similarity import ExactSimilarity, Similarity
from index.view import SnapshotSource
from query.assessor import Assessor
from query.errors import BadFilterError
from query.graph import GraphCache
from query.language import Language
from query.ledger import Clock
from query.memory import Memory
from query.model.calls import Model
from query.model.session import NAME as BY_MODEL
from query.plan import checked
from query.posed import Tools
from query.run import Run
from query.settings import SearchSettings
from query.standing.recall import Recall
from query.types import Answer, Filters, Question, SearchEvent


class Engine:
    """Answers questions from a source of views; safe to use from several threads.

    Args:
        source: Where views come from; each search pins one and uses nothing else.
        language: The analyzer that the index was built with.
        assessor: Tests chunks for relevance.
        settings: All constants.
        clock: Seconds that never go backwards, for the ledger and the deadline.
        model: A language model; it then tests, refines and words, and the assessor stands in
            where it is lost.
        memory: What the model judged before, so that it is asked only for what is new.
        backlog: Records that have arrived and are not indexed yet, for an honest "no record".
        similar: How chunks near a vector are found; by the snapshot alone without it.

    ``graphs`` may be shared with others that look at the same snapshots.
    """

    def __init__(
        self,
        source: SnapshotSource,
        language: Language,
        assessor: Assessor,
        settings: SearchSettings | None = None,
        *,
        model: Model | None = None,
        memory: Memory | None = None,
        clock: Clock = time.perf_counter,
        backlog: Callable[[], int] = lambda: 0,
        similar: Similarity | None = None,
    ) -> None:
        self._source = source
        self.graphs = GraphCache()
        self._tools = Tools(
            language,
            assessor,
            settings or SearchSettings(),
            clock,
            backlog,
            self.graphs,
            model,
            memory,
            similar=similar or ExactSimilarity(),
        )

    @property
    def assessor(self) -> str:
        """Name of the assessor."""
        return self._tools.assessor.name if self._tools.model is None else BY_MODEL

    def close(self) -> None:
        """Let go of the model; searches under way go on without it."""
        if self._tools.model is not None:
            self._tools.model.close()
        if self._tools.memory is not None:
            self._tools.memory.close()

    def search(self, question: Question, recall: Recall | None = None) -> Iterator[SearchEvent]:
        """Answer a question, step by step; the last event carries the answer.

        Closing the iterator stops the search and gives the view back. With ``recall`` what
        former askings found out is used again, and what this one does is left there.

        Raises:
            QueryError: At once, before the first step, where the question cannot be.
        """
        question = checked(question, self._tools.settings)
        _check_window(question.filters)
        return self._steps(question, recall)

    def _steps(self, question: Question, recall: Recall | None) -> Iterator[SearchEvent]:
        with self._source.pin() as view:
            yield from Run(view, question, self._tools, recall).steps()

    def answer(self, question: Question, recall: Recall | None = None) -> Answer:
        """The answer alone."""
        answer: Answer | None = None
        for event in self.search(question, recall):
            answer = event.answer
        if answer is None:
            raise AssertionError("a search ends with its answer")
        return answer


def _check_window(filters: Filters) -> None:
    if filters.since is not None and filters.until is not None and filters.since >= filters.until:
        raise BadFilterError("the window is empty: since must be before until")
