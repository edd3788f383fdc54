import pytest
from hypothesis import given
from hypothesis import strategies as st

from query.words import content_words, is_broad, names, words, years


def spans(text):
    return [name.text for name in names(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("What did Paul Volcker say in Tokyo?", ["Paul Volcker", "Tokyo"]),
        ("Are Marian Gold and Jung Eun-ji in a band?", ["Marian Gold", "Jung Eun-ji"]),
        ("Who founded the Bank of England?", ["Bank of England"]),
        ("what does SYN-REP-1234 say", ["SYN-REP-1234"]),
        ("Where did Saw Thanda's husband die?", ["Saw Thanda"]),
        ("Strikes hurt whom?", []),
        ("a 4-letter acronym of the 1990s", []),
        ("Besides Little Rock, what?", ["Besides Little Rock"]),
        ("", []),
    ],
)
def test_names_are_found_as_a_reader_would(text, found):
    assert spans(text) == found


def test_a_name_knows_that_its_first_word_may_only_open_the_sentence():
    assert [name.opens_sentence for name in names("Besides Little Rock, Mara Voss?")] == [
        True,
        False,
    ]


def test_content_words_leave_out_what_only_asks():
    assert content_words("What did the Dockers ask for?") == ("dockers", "ask")


def test_a_question_of_stop_words_alone_keeps_them():
    assert content_words("who is it") == ("who", "is", "it")


@pytest.mark.parametrize(
    ("text", "broad"),
    [
        ("What are the main themes in the news?", True),
        ("What happened this week?", True),
        ("What are the main themes in Tokyo?", False),
        ("who is it", False),
    ],
)
def test_questions_about_the_whole_are_told_from_others(text, broad):
    assert is_broad(text) is broad


def test_years_are_read_and_other_numbers_are_not():
    assert years("In 1998 and 2008, 12345 of 99 in 1998") == (1998, 2008)


@given(st.text(max_size=200))
def test_no_text_breaks_the_reading_of_words(text):
    for name in names(text):
        assert name.text in text
    assert all(any(c.isalnum() for c in word) for word in words(text))
    is_broad(text)
