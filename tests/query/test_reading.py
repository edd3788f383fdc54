"""What a question's words say before it is searched, through the engine."""

import time
from dataclasses import replace

import pytest

from index.analysis.facets import facets
from index.types import from_millis
from query.assessor import OfflineAssessor
from query.errors import BadBudgetError, EmptyQuestionError, QueryError
from query.presets import BUDGETS, budget_of
from query.search import Engine
from query.types import Filters, Mode, Outcome, Preset, Question
from tests.query.memory import MemorySource, MemoryView
from tests.query.small import DAY, DIMENSIONS, LANGUAGE, WordLanguage, document, stories


class Valued(WordLanguage):
    """The small language, with the values that the analyzer reads."""

    def facets_of(self, text):
        return tuple(facets(text, None))


def valued(name, text, day):
    """A document whose chunk has its values."""
    made = document(name, "", text, event_at=day * DAY, observed_at=day * DAY)
    (chunk,) = made.analysis.chunks
    read = tuple(facets(text, from_millis(day * DAY)))
    return replace(made, analysis=replace(made.analysis, chunks=(replace(chunk, facets=read),)))


BIDS = (
    valued("small", "Acme made a bid of 50,000 dlrs for the brewery.", 1),
    valued("middle", "Brewers Guild made a bid of 400,000 dlrs for the brewery.", 2),
    valued("large", "Corvid Holdings made a bid of 3 mln dlrs for the brewery.", 3),
)


def engine(view=None, language=LANGUAGE):
    return Engine(MemorySource(view or stories()), language, OfflineAssessor())


def ask(text, *, filters=None, **more):
    return engine().answer(Question(text, 20, filters=filters or Filters(), **more))


def bids(text, **more):
    held = engine(MemoryView(BIDS, DIMENSIONS), Valued())
    return held.answer(Question(text, 20, **more))


def cited(answer):
    return {citation.document_id for citation in answer.citations}


def test_a_day_named_in_words_is_all_that_is_searched_and_the_answer_says_so():
    answer = ask("What did the dockers accept since 3 January 1970?")
    assert answer.window.from_words == "since 3 January 1970"
    assert (answer.window.since, answer.window.until, answer.window.applied) == (
        2 * DAY,
        None,
        True,
    )
    assert answer.searched.documents == 5
    assert '"since 3 January 1970" was read as the time from 1970-01-03' in answer.text
    assert answer.subqueries == ("What did the dockers accept?",)


def test_yesterday_is_the_day_before_the_watermark():
    answer = ask("What happened yesterday?")
    assert (answer.window.since, answer.window.until) == (5 * DAY, 6 * DAY)
    assert cited(answer) <= {"d5"}


def test_words_are_not_read_where_the_request_says_so_or_names_a_window():
    assert ask("What happened yesterday?", window=False).window is None
    answer = ask("What happened yesterday?", filters=Filters(since=2 * DAY))
    assert answer.window is None
    assert answer.searched.since == 2 * DAY


@pytest.mark.parametrize(
    "text", ["news since 2030", "What happens next week?", "What did Mara Voss do in June 2031?"]
)
@pytest.mark.parametrize("mode", [Mode.LAZY, Mode.BM25])
def test_a_window_in_the_future_is_told_clearly(text, mode):
    answer = ask(text, mode=mode)
    assert answer.outcome is Outcome.NEVER_SEEN
    assert "in the future of the index" in answer.text
    assert (answer.claims, answer.citations) == ((), ())
    assert "test" not in answer.ledger


def test_a_filter_in_the_future_is_told_alike():
    answer = ask("the strike", filters=Filters(since=30 * DAY))
    assert "in the future of the index" in answer.text


def test_a_time_before_the_first_document_is_a_subject_and_no_filter():
    answer = ask("What wages did the dockers accept in March 1962?")
    assert answer.window.applied is False
    assert answer.searched.documents == 6
    assert "is before the first document" in answer.text


def test_amounts_filter_by_their_values_and_the_answer_says_so():
    answer = bids("Which bid for the brewery was between 100,000 and 1 million dollars?")
    assert answer.outcome is Outcome.ANSWERED
    assert cited(answer) == {"middle"}
    assert [(a.kind, a.low, a.high) for a in answer.amounts] == [("money", 1e5, 1e6)]
    assert "between 100,000 and 1 million dollars" in answer.text


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("of more than 400,000 dlrs", {"large"}), ("of at least 400,000 dlrs", {"middle", "large"}),
        ("under 100,000 dlrs", {"small"}),
    ],
)  # fmt: skip
def test_open_ranges_hold_their_ends_as_they_say(words, found):
    assert cited(bids(f"Which bid for the brewery was {words}?")) == found


def test_an_amount_that_no_text_holds_is_no_record():
    answer = bids("Which bid for the brewery was over 5 billion dollars?")
    assert answer.outcome is Outcome.NEVER_SEEN
    assert 'No record of an amount "over 5 billion dollars"' in answer.text
    unread = bids("Which bid for the brewery was over 5 billion dollars?", amounts=False)
    assert (unread.amounts, unread.searched.documents) == ((), 3)


@pytest.mark.parametrize(
    "text",
    [
        "a", "the of and", "<script>alert(1)</script>", "a bid of more than 1e999 dlrs",
        "more than " + "9" * 400 + " dlrs", "between 1e400 and 1e999 dollars", "'; DROP TABLE--x",
        "how many documents mention", "since since since x", "\u202eyesterday\u202c x",
        "news NEAR(a",
        "how many reports from \"'\"", "which people are named in more than 999999 reports",
    ],
)  # fmt: skip
def test_hostile_questions_get_an_answer(text):
    assert bids(text).text


def test_questions_without_a_word_or_far_too_long_are_refused_at_once():
    with pytest.raises(EmptyQuestionError):
        bids("?!")
    began = time.process_time()
    with pytest.raises(QueryError):
        bids("between 1 and 2 " * 6_250)
    assert time.process_time() - began < 1


def test_presets_have_the_budgets_announced():
    assert [BUDGETS[preset] for preset in Preset] == [100, 500, 1500]
    assert budget_of(Preset.Z500, None, 7) == budget_of(Preset.Z500, 500, 7) == 500
    assert (budget_of(None, None, 7), budget_of(None, 9, 7)) == (7, 9)
    with pytest.raises(BadBudgetError, match="z500 has a budget of 500"):
        budget_of(Preset.Z500, 100, 7)
