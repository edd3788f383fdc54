"""Times in a question's words, by the index's own clock."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.types import from_millis, to_millis
from query.windows import times

NOW = to_millis(datetime(1987, 10, 19, 14, 30, tzinfo=UTC))
"""A Monday, in a replay of 1987."""


def read(text, now=NOW):
    found = times(text, now)
    if found is None:
        return None
    ends = [None if m is None else f"{from_millis(m):%y-%m-%d %H:%M}" for m in _ends(found)]
    return *ends, found.from_words, found.rest


def _ends(found):
    return found.since, found.until


DAY = "00:00"


@pytest.mark.parametrize(
    ("text", "since", "until", "words", "rest"),
    [
        ("What happened yesterday?", "87-10-18", "87-10-19", "yesterday", "What happened?"),
        ("What did OPEC say last week?", "87-10-12", "87-10-19", "last week", "What did OPEC say?"),
        ("Iran since 3 March?", "87-03-03", None, "since 3 March", "Iran?"),
        ("Strikes in June 1987", "87-06-01", "87-07-01", "in June 1987", "Strikes"),
        ("news before March 10", None, "87-03-10", "before March 10", "news"),
        ("news until 10 March", None, "87-03-11", "until 10 March", "news"),
        ("news after 10 March", "87-03-11", None, "after 10 March", "news"),
        (
            "What happened between 3 March and 10 March in Rome?", "87-03-03", "87-03-11",
            "between 3 March and 10 March", "What happened in Rome?",
        ),
        (
            "from March 3 to March 10, cocoa", "87-03-03", "87-03-11", "from March 3 to March 10",
            "cocoa",
        ),
        ("What changed this month?", "87-10-01", "87-11-01", "this month", "What changed?"),
        ("Who resigned last year?", "86-01-01", "87-01-01", "last year", "Who resigned?"),
        ("Who resigned on Friday?", "87-10-16", "87-10-17", "on Friday", "Who resigned?"),
        ("Who resigned last Monday?", "87-10-12", "87-10-13", "last Monday", "Who resigned?"),
        ("3 days ago, what failed?", "87-10-16", "87-10-17", "3 days ago", "what failed?"),
        ("Strikes in December?", "86-12-01", "87-01-01", "in December", "Strikes?"),
        ("What is due next week?", "87-10-26", "87-11-02", "next week", "What is due?"),
        ("news since 2030", "30-01-01", None, "since 2030", "news"),
        ("on 29 February who won?", "84-02-29", "84-03-01", "on 29 February", "who won?"),
    ],
)  # fmt: skip
def test_times_become_a_window_and_leave_the_question(text, since, until, words, rest):
    ends = [None if day is None else f"{day} {DAY}" for day in (since, until)]
    assert read(text) == (*ends, words, rest)


def test_spans_count_back_from_the_newest_document():
    assert read("in the last 3 hours")[:2] == ("87-10-19 11:30", "87-10-19 14:30")
    found = times("news of the past two weeks", NOW)
    assert found.since == NOW - 14 * 86_400_000
    assert found.until == NOW + 1


@pytest.mark.parametrize(
    "text",
    [
        "What was the 1987 trade deficit?", "the Berlin Act of 1885", "the March on Rome",
        "may things change", "Who is April Smith?", "the film Friday", "", "?", "1e999",
        "in the last 9999 years", "in 99999999 days ago", "since 99999", "on 30 February 1987",
        "between 10 March and 3 March 1987", "seit gestern", "the last of the three days",
    ],
)  # fmt: skip
def test_what_is_no_time_is_left_alone(text):
    assert times(text, NOW) is None


def test_an_index_without_a_clock_reads_no_time():
    assert times("yesterday", 0) is None


@given(st.text(max_size=200), st.integers(1, 4_000_000_000_000))
def test_any_text_gives_a_window_that_is_not_empty_or_none(text, now):
    found = times(f"since {text} last week", now)
    if found is not None and None not in _ends(found):
        assert found.since < found.until


def test_a_long_question_of_times_is_read_in_no_time():
    assert times("since yesterday and before 3 March " * 300, NOW) is None
