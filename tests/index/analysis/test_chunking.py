"""Sentences and chunks: exact offsets, whole sentences, bounded on any text."""

from itertools import islice, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.analysis.chunking import chunk_spans
from index.analysis.extraction import distinct
from index.analysis.plain import plain_writing
from index.analysis.sentences import sentence_spans

TEXTS = st.text(max_size=400) | st.lists(
    st.sampled_from(
        [
            "word",
            "U.S.",
            "dlrs.",
            "5.81",
            "Mr.",
            "A.",
            "end.",
            "\n",
            "\n\n",
            "x" * 90,
            "\u3002",
            "?",
            '"',
        ]
    ),
    max_size=120,
).map(" ".join)


def holds_everything(text: str, spans: list[tuple[int, int]]) -> bool:
    """In order, inside, apart, and nothing but white space left out."""
    at = 0
    for start, end in spans:
        if not (at <= start < end <= len(text)) or text[at:start].strip():
            return False
        at = end
    return not text[at:].strip()


@given(TEXTS)
def test_sentences_hold_every_visible_character_once(text):
    assert holds_everything(text, sentence_spans(text))


@given(TEXTS, st.integers(1, 30))
def test_chunks_hold_every_visible_character_once(text, words):
    spans = chunk_spans(text, words)
    assert holds_everything(text, [(s.start, s.end) for s in spans])
    assert all(text[s.start : s.end] == text[s.start : s.end].strip() for s in spans)
    assert all(s.end - s.start <= 60 * words for s in spans)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=60))
def test_chunks_are_whole_sentences_of_about_the_target(lengths):
    text = " ".join("Ab " + "cd " * n + "ef." for n in lengths)
    spans = chunk_spans(text, 100)
    assert all(text[s.end - 1] == "." for s in spans)
    assert all(s.words == len(text[s.start : s.end].split()) for s in spans)
    assert all(s.words >= 70 for s in spans[:-1])
    assert all(s.words <= 140 for s in spans)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("The U.S. Treasury paid 5.81 mln dlrs. It was late.", 2),
        ('"Fine," said Mr. A. B. Smith of Acme Inc. He left.', 2),
        ("Was it so? No! It was not.", 3),
        ("New para (see No. 5). Done", 2),
        ("They met Sen. Smith on Feb. 5 in Washington.", 1),
        ("Net 3 cts.\nRevs 4 mln", 2),
        ("one line\n\nanother", 2),
        ("a line that goes\non here", 1),
        ("\u6771\u4eac\u3002\u5927\u962a\u3002", 2),
        ("He lives in the U.S. The house is new.", 2),
        ("", 0),
        (" \n\t ", 0),
    ],
)
def test_a_sentence_ends_where_a_reader_ends_it(text, count):
    assert len(sentence_spans(text)) == count


@pytest.mark.parametrize(
    "text",
    [
        "a" * 200_000,
        "\n" * 200_000,
        "a b " * 50_000,
        "\u4e2d" * 100_000,
        "." * 200_000,
        "x.\n" * 50_000,
    ],
)
def test_pathological_texts_give_bounded_chunks(text):
    spans = chunk_spans(text, 100)
    assert all(s.end - s.start <= 2400 and s.words <= 300 for s in spans)
    assert len(spans) <= 1 + len(text) // 100


@pytest.mark.parametrize("between", [" ", ","])
def test_a_document_of_a_hundred_thousand_concepts_has_few_in_each_chunk(between):
    """Pairs are counted within a chunk: they grow with the text, not with its square."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    names = ["X" + "".join(four) for four in islice(product(letters, repeat=4), 100_000)]
    text = between.join(names)
    found = [
        len(distinct(plain_writing("sv").mentions(text[span.start : span.end]), 2000))
        for span in chunk_spans(text, 100)
    ]
    assert sum(found) > 99_000
    assert max(found) <= 200
