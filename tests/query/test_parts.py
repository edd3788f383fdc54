"""What a chunk is worth in the end: the ranking's score, moved by its verdict."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from query.assessor import AssessorSettings, Verdict
from query.model.assessor import TAU
from query.parts import worth
from query.settings import RankSettings

SCORE = 3.0


def moved(verdict):
    """By how much a verdict moves a chunk."""
    candidates = SimpleNamespace(score=lambda _: SCORE)
    part = SimpleNamespace(candidates=candidates, verdicts={7: verdict} if verdict else {})
    return worth(part, 7, RankSettings()) - SCORE


@pytest.mark.parametrize("verdict", [None, Verdict(7, 0.0, None)], ids=["untested", "no verdict"])
def test_what_was_not_tested_stays_where_the_ranking_has_it(verdict):
    assert moved(verdict) == 0


@given(st.floats(0, 1), st.sampled_from([TAU, AssessorSettings().tau]))
def test_a_chunk_found_not_relevant_never_passes_one_that_was_not_tested(score, tau):
    by = moved(Verdict(7, score, score >= tau, tau=tau))
    assert by >= 0 if score >= tau else by <= 0


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_higher_score_never_moves_a_chunk_less(one, other):
    low, high = sorted((one, other))
    assert moved(Verdict(7, low, relevant=True)) <= moved(Verdict(7, high, relevant=True))
