"""The measures, on answers whose worth can be counted by hand."""

import numpy as np
import pytest

from query.assessor import OfflineAssessor
from query.evaluate import JudgedQuery, Score, difference, evaluate, interval, score, summary
from query.search import Engine
from query.types import Found, Mode, Outcome, Question
from tests.query.memory import MemorySource
from tests.query.small import LANGUAGE, stories


def answer(ids, tested=(), mode=Mode.LAZY, budget=10):
    engine = Engine(MemorySource(stories()), LANGUAGE, OfflineAssessor())
    whole = engine.answer(Question("the strike in Port Alder", budget, mode))
    ranking = tuple(Found(i, "", -n, i in tested, False) for n, i in enumerate(ids))
    return type(whole)(
        **{name: getattr(whole, name) for name in whole.__dataclass_fields__} | {"ranking": ranking}
    )


def test_measures_follow_the_ranking():
    ids = [f"x{n}" for n in range(4)] + ["a"] + [f"y{n}" for n in range(4)] + ["b", "c"]
    got = score(answer(ids, tested={"a", "c"}), JudgedQuery("", frozenset("abc")), 0.1)
    assert got.mrr == pytest.approx(1 / 5)
    assert got.recall_5 == pytest.approx(1 / 3)
    assert got.recall_10 == pytest.approx(2 / 3)
    assert got.reached == pytest.approx(2 / 3)
    assert got.all_evidence_10 == 0


def test_a_baseline_reaches_what_stands_within_its_budget():
    got = score(
        answer(["x", "a", "b"], mode=Mode.BM25, budget=2), JudgedQuery("", frozenset("ab")), 0.1
    )
    assert (got.reached, got.all_evidence_10) == (0.5, 1.0)


def test_the_document_that_a_question_was_made_from_does_not_count():
    got = score(answer(["own", "a"]), JudgedQuery("", frozenset("a"), left_out="own"), 0.1)
    assert got.mrr == 1


def test_nothing_found_scores_nothing():
    got = score(answer([]), JudgedQuery("", frozenset("a")), 0.1)
    assert (got.mrr, got.reached, got.recall_10) == (0, 0, 0)


def test_rows_come_by_mode_and_budget_with_bounds_around_the_mean():
    engine = Engine(MemorySource(stories()), LANGUAGE, OfflineAssessor())
    queries = [
        JudgedQuery("When did the strike in Port Alder end?", frozenset({"d3"})),
        JudgedQuery("Where was Mara Voss born?", frozenset({"d2"})),
        JudgedQuery("no evidence", frozenset()),
    ]
    ticks = iter(range(10_000))
    rows = evaluate(
        engine, queries, [Mode.LAZY, Mode.BM25], [2, 20], clock=lambda: next(ticks), seed=1
    )
    assert [(row.mode, row.budget) for row in rows] == [
        ("lazy", 2), ("lazy", 20), ("bm25", 2), ("bm25", 20),
    ]  # fmt: skip
    assert all(row.queries == 2 and row.recall_10 == 1 for row in rows)
    assert all(low <= high for row in rows for low, high in row.intervals.values())
    assert rows[0].tests == 2
    assert rows[0].latency_ms_median == 1_000


def of(reached):
    return Score(reached, 0, 0, 0, 0, 0.1, 1, Outcome.ANSWERED is None)


def test_intervals_hold_the_mean_and_are_drawn_from_the_seed():
    values = np.linspace(0, 1, 50)
    low, high = interval(values, np.random.default_rng(3))
    assert low < 0.5 < high
    assert (low, high) == interval(values, np.random.default_rng(3))
    assert interval(np.zeros(0), np.random.default_rng(3)) == (0.0, 0.0)


def test_differences_are_paired():
    ours, theirs = [of(0.6), of(0.2)], [of(0.5), of(0.1)]
    mean, low, high = difference(ours, theirs, "reached", np.random.default_rng(0))
    assert mean == pytest.approx(0.1)
    assert (low, high) == (pytest.approx(0.1), pytest.approx(0.1))


def test_no_scores_make_a_row_of_zeros():
    row = summary([], Mode.LAZY, 5, np.random.default_rng(0))
    assert (row.queries, row.reached, row.no_record) == (0, 0, 0)
