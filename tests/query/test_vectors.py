"""A search with a vector index beside it: the same answers, and an honest word where it fails."""

import pytest

from index.vectors.protocol import Condition
from index.vectors.similarity import ExactLookup
from query.assessor import OfflineAssessor
from query.filters import condition
from query.search import Engine
from query.types import Filters, Mode, Question, TimeAxis
from tests.query.memory import MemorySource
from tests.query.small import LANGUAGE
from tests.query.test_search import ASKED, stories


class Given:
    """Exact, remembering what it was asked for; ``degraded`` as a test says."""

    def __init__(self, *, degraded: bool = False) -> None:
        self.degraded = degraded
        self.conditions: list[Condition] = []

    def over(self, view, rows, asked):
        self.conditions.append(asked)
        return ExactLookup(view.snapshot, rows, degraded=self.degraded)


def answered(similar, mode=Mode.LAZY, filters=None):
    engine = Engine(MemorySource(stories()), LANGUAGE, OfflineAssessor(), similar=similar)
    return engine.answer(Question(ASKED, 20, mode, filters or Filters()))


@pytest.mark.parametrize("mode", list(Mode))
def test_an_index_that_cannot_help_changes_no_answer_and_is_told(mode):
    without, lost = answered(None, mode), answered(Given(degraded=True), mode)
    assert (without.degraded, lost.degraded) == ((), ("vectors",))
    assert (without.text, without.ranking) == (lost.text, lost.ranking)


def test_the_filters_of_a_question_reach_the_index():
    similar = Given()
    filters = Filters(since=5, source=("Wire",), where={"desk": "city"})
    answered(similar, filters=filters)
    assert similar.conditions == [condition(filters)]


def test_a_window_is_on_one_axis_of_time():
    window = {"since": 3, "until": 9}
    assert condition(Filters(**window)) == Condition(event_at=(3, 9))
    observed = condition(Filters(**window, time=TimeAxis.OBSERVED))
    assert observed == Condition(observed_at=(3, 9))
    assert condition(Filters()) == Condition()
