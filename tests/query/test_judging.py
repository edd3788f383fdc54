"""Answers judged in pairs, and questions made from an index, with a scripted model."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from query.graph import SearchGraph
from query.judging import compared, corrected, plain, sign_test
from query.model.calls import ModelError
from query.model.judge import CRITERIA
from query.synthesis import synthesised
from tests.query.model.server import StatusError, model
from tests.query.small import STORIES, stories

TEXTS = [f"Question {n}?" for n in range(8)]
GOOD, BAD = ["good [1]."] * 8, ["bad [2]."] * 8


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def fair(call):
    """Sees what is good, wherever it stands, but on relevance, where all are alike."""
    first, second = (answer["text"] for answer in call.quoted)
    better = "tie" if first == second else "first" if "good" in first else "second"
    return {**dict.fromkeys(CRITERIA, better), "relevance": "tie"}


def compare(script, ours=GOOD, theirs=BAD, trials=2):
    with model(script) as (client, calls):
        pair = ("lazy 100", ours), ("vector 8k", theirs)
        random = np.random.default_rng(0)
        found = compared(client, TEXTS, *pair, trials=trials, random=random)
    return {row.criterion: row for row in found}, calls


def test_the_better_answer_wins_in_both_orders():
    found, calls = compare(fair)
    row = found["diversity"]
    assert (row.ours, row.theirs, row.questions) == ("lazy 100", "vector 8k", 8)
    assert (row.win_rate, row.interval, row.won, row.lost) == (1.0, (1.0, 1.0), 8, 0)
    assert row.p == pytest.approx(2 / 2**8)
    assert (found["relevance"].win_rate, found["relevance"].p) == (0.5, 1.0)
    firsts = [call.quoted[0]["text"] for call in calls]
    assert len(calls) == 2 * 2 * len(TEXTS)
    assert firsts.count("good.") == firsts.count("bad.")


def test_a_judge_that_likes_the_first_answer_is_no_win_for_anybody():
    found, _ = compare(lambda _: dict.fromkeys(CRITERIA, "first"))
    assert all(row.win_rate == 0.5 and row.won == row.lost == 0 for row in found.values())


def test_losses_are_told_as_such():
    found, _ = compare(fair, ours=[*BAD[:6], *GOOD[:2]], theirs=[*GOOD[:6], *BAD[:2]])
    row = found["empowerment"]
    assert (row.won, row.lost, row.win_rate) == (2, 6, 0.25)
    assert row.interval[0] < 0.25 < row.interval[1]


@pytest.mark.parametrize("wrong", ["prose", {"comprehensiveness": "first"}, {"winner": 1}])
def test_a_judgement_that_cannot_be_used_is_asked_for_once_more_and_counted(wrong):
    found, calls = compare(lambda _: wrong, trials=1)
    row = found["diversity"]
    assert (row.questions, row.unjudged, row.win_rate, row.p) == (0, 2 * len(TEXTS), 0.5, 1.0)
    assert len(calls) == 4 * len(TEXTS)


def test_the_judge_does_not_see_who_cites_more():
    assert plain("Rain fell. [1][22] It stopped. [3]") == "Rain fell. It stopped."


@pytest.mark.parametrize(
    ("won", "lost", "p"),
    [(0, 0, 1.0), (5, 5, 1.0), (6, 0, 2 / 64), (0, 6, 2 / 64), (9, 1, 22 / 1024)],
)
def test_the_sign_test_is_exact(won, lost, p):
    assert sign_test(won, lost) == pytest.approx(p)


def test_many_comparisons_need_more_to_be_believed():
    found, _ = compare(fair)
    row = found["diversity"]
    rows = [replace(row, p=p) for p in (0.01, 0.04, 0.03, 0.5)]
    assert [r.p for r in corrected(rows)] == pytest.approx([0.04, 0.09, 0.09, 0.5])


def make(script, count=3):
    view = stories()
    with model(script) as (client, calls):
        found = synthesised(client, view, SearchGraph(view.snapshot), count, Random(1))
    return found, calls


def test_local_questions_know_their_document_and_global_ones_see_several_communities():
    asked = iter(range(100))
    found, calls = make(lambda _: {"question": f"What of {next(asked)}?"})
    assert [q.kind for q in found] == ["local"] * 3 + ["global"] * 3
    held = {story.id: story for story in STORIES}
    for question, call in zip(found[:3], calls, strict=False):
        (passage,) = call.quoted
        assert passage["text"] in held[question.document_id].text
    assert all(question.document_id == "" for question in found[3:])
    assert all(len(call.quoted) >= 2 for call in calls[3:])


def test_a_question_made_twice_counts_once_and_an_unusable_one_never():
    replies = iter(["prose", {"question": " "}, *[{"question": "Why?"}] * 100])
    found, calls = make(lambda _: next(replies), count=2)
    assert [q.text for q in found] == ["Why?"]
    assert len(calls) <= 2 * 3 * 2


def test_the_same_seed_shows_the_model_the_same_passages():
    def script(call):
        return {"question": f"What of {call.quoted[0]['text'][:40]}?"}

    assert make(script)[0] == make(script)[0]


def test_a_model_that_is_away_is_an_error():
    def failing(_):
        raise StatusError(500)

    with pytest.raises(ModelError):
        make(failing)
