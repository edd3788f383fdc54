"""The analyzer: concepts as a reader would name them, and purity."""

import gzip
import itertools
import json
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index.analysis.analyzer import Analyzer
from index.analysis.settings import AnalyzerSettings
from index.types import Analysis, ConceptKind, FacetKind, Reason, Rejected
from tests.index.analysis.documents import document

NOISE = """
    pct dlrs mln dlr cts ct year years march january february april week weeks month months day days
    shr shrs net qtr revs vs avg oper nil monday tuesday wednesday thursday friday saturday sunday
    company companies total spokesman official officials analyst analysts today yesterday share
    shares tonne tonnes quarter period billion million number amount percent note spokeswoman
    executive president chairman one two first second time it he which other others end part group
    statement level result increase decrease rise u.s the said reuter nine-months mln-dlr stg yen
"""


@pytest.fixture(scope="module")
def analyzer():
    return Analyzer(AnalyzerSettings())


def keys(analyzer, text):
    return {mention.key for mention in analyzer.concepts_of(text)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Officer Johnson met the crowd.", {"johnson", "crowd"}),
        ("Inspector Johnson met the crowd.", {"johnson", "crowd"}),
        ("The Electrons hit an electron's path.", {"electron", "path"}),
        (
            "The Japanese government met OPEC members.",
            {"japan", "government", "organization of petroleum exporting countries"},
        ),
        ("Treasury Secretary James Baker spoke.", {"treasury", "james baker"}),
        (
            "The U.S. Agriculture Department raised wheat prices.",
            {"united states", "agriculture department", "wheat price"},
        ),
        ("It fixed CVE-2019-1234 in the kernel.", {"CVE-2019-1234", "kernel"}),
        ("Standard Oil Co bought 55 pct for 5 mln dlrs last year.", {"standard oil"}),
        (
            "The Bank of England and the Securities and Exchange Commission agreed.",
            {"bank of england", "securities and exchange commission"},
        ),
    ],
)
def test_concepts_are_the_names_and_nouns_that_mean_something(analyzer, text, expected):
    assert keys(analyzer, text) == expected


@pytest.mark.parametrize(
    ("text", "key", "kind"),
    [
        ("They met Officer Johnson there.", "johnson", ConceptKind.PERSON),
        ("They met James Baker there.", "james baker", ConceptKind.PERSON),
        ("He works for Standard Oil Co now.", "standard oil", ConceptKind.ORGANISATION),
        ("They met the Bank of England.", "bank of england", ConceptKind.ORGANISATION),
        ("They flew to Tokyo.", "tokyo", ConceptKind.PLACE),
        ("It fixed CVE-2019-1234 today.", "CVE-2019-1234", ConceptKind.IDENTIFIER),
        ("They sold wheat.", "wheat", ConceptKind.OTHER),
    ],
)
def test_a_kind_follows_from_what_is_written(analyzer, text, key, kind):
    assert {m.key: m.kind for m in analyzer.concepts_of(text)}[key] is kind


def test_amounts_are_facets_and_no_concepts(analyzer):
    [result] = analyzer.analyze([document("Brazil lost 5 million dlrs and 3 pct in March 1987.")])
    assert [m.key for m in result.chunks[0].mentions] == ["brazil"]
    assert [f.kind for f in result.chunks[0].facets] == [
        FacetKind.MONEY,
        FacetKind.PERCENT,
        FacetKind.DATE,
    ]


def test_facets_of_later_chunks_have_offsets_into_the_document(analyzer):
    text = "Nothing happens in this sentence at all. " * 40 + "It cost 5 mln dlrs."
    [result] = analyzer.analyze([document(text)])
    [facet] = [f for chunk in result.chunks for f in chunk.facets]
    assert text[facet.start : facet.end] == "5 mln dlrs"


def test_a_title_in_capitals_names_what_the_body_names(analyzer):
    body = "Standard Oil Co and BP North America Inc said they plan to form a venture."
    [result] = analyzer.analyze([document(body, title="STANDARD OIL <SRD> TO FORM FINANCIAL UNIT")])
    assert "standard oil" in {m.key for m in result.title_mentions}
    assert "srd" not in {m.key for m in result.title_mentions}


def test_a_short_title_is_a_concept_itself(analyzer):
    [result] = analyzer.analyze([document("It is a film.", title="The Wings of the Dove")])
    assert "wings of the dove" in {m.key for m in result.title_mentions}


def test_a_name_in_lower_case_is_found_among_the_candidate_keys(analyzer):
    """Runs of a question's words, as names and as nouns, the longest first."""
    found = analyzer.candidate_keys("films with tom hanks")
    assert {"tom hanks", "film"} <= set(found)
    assert found[0].count(" ") == 3


def test_addresses_are_no_concepts(analyzer):
    assert keys(analyzer, "Write to press@debian.org or see https://debian.org/ soon.") == set()


MIXED = [
    document("The Soviet Union bought wheat. " * 30, title="GRAIN", number=1),
    document("Cocoa.", title="Bahia", number=2),
    document("Die Bundesbank senkte am Dienstag in Frankfurt die Zinsen.", lang="de", number=3),
    document(
        "\u65e5\u672c\u9280\u884c\u306f\u91d1\u5229\u3092\u5f15\u304d\u4e0b\u3052\u305f\u3002",
        lang="ja",
        number=4,
    ),
    document(" \n ", number=5),
    document("\ud800 broken \x00 text of Paris \udfff", number=6),
    document("x" * 50_000, number=7),
    document("1 2 3 4 5 6 7 ! ? . , ;", number=8),
    document("Prices rose in the second quarter as farmers sold more coffee.", lang="", number=9),
]


def test_an_analysis_is_the_same_alone_and_in_any_batch(analyzer):
    """Bit for bit, vectors included, whatever the analyzer has seen before."""
    together = analyzer.analyze(MIXED)
    alone = [analyzer.analyze([one])[0] for one in reversed(MIXED)][::-1]
    fresh = Analyzer(AnalyzerSettings()).analyze(MIXED[::-1])[::-1]
    assert together == alone == fresh


@settings(max_examples=15)
@given(st.lists(st.text(max_size=300), min_size=1, max_size=4))
def test_any_text_is_analyzed_or_rejected_and_the_batch_does_not_matter(analyzer, texts):
    documents = [document(text, lang="", number=n) for n, text in enumerate(texts)]
    results = analyzer.analyze(documents)
    assert results == [analyzer.analyze([one])[0] for one in documents]
    for text, result in zip(texts, results, strict=True):
        if isinstance(result, Rejected):
            assert result.reason is Reason.EMPTY_TEXT
        else:
            assert all(0 <= c.start < c.end <= len(text) for c in result.chunks)
            found = [[m.key for m in c.mentions] for c in result.chunks]
            assert found == [sorted(set(k)) for k in found]


def test_a_text_without_words_is_rejected_with_the_reason(analyzer):
    [result] = analyzer.analyze([document("\x00 \n")])
    assert isinstance(result, Rejected)
    assert result.reason is Reason.EMPTY_TEXT


def test_one_bad_document_does_not_take_its_batch(analyzer):
    """A text of a wrong type stands for any failure inside a library."""
    good, bad = document("Paris."), document(None, number=2)
    analysis, rejected = analyzer.analyze([good, bad])
    assert isinstance(analysis, Analysis)
    assert rejected.reason is Reason.ANALYSIS_FAILED


def test_vectors_are_unit_rows_and_near_for_near_texts(analyzer):
    rows = analyzer.embed_queries(["oil prices rose", "crude oil became dearer", "a cat slept", ""])
    assert rows.shape == (4, analyzer.fingerprint.dimensions)
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1)[:3] == pytest.approx(1, abs=1e-5)
    assert not rows[3].any()
    assert rows[0] @ rows[1] > rows[0] @ rows[2]


def test_concepts_of_a_chunk_are_bounded():
    small = Analyzer(AnalyzerSettings(max_concepts=3))
    [result] = small.analyze([document("Wheat, corn, rice, cocoa, coffee and sugar were sold.")])
    assert len(result.chunks[0].mentions) == 3


def test_the_parser_is_a_setting_with_a_fingerprint_of_its_own(analyzer):
    parsing = Analyzer(AnalyzerSettings(parser=True))
    assert not parsing.fingerprint.same_but_embedder(analyzer.fingerprint)
    assert "wheat price" in keys(parsing, "The Soviet Union raised wheat prices.")


@pytest.mark.parametrize("lang", ["", "de"])
def test_another_language_gives_its_names(analyzer, lang):
    text = "Die Bundesbank senkte am Dienstag in Frankfurt die Zinsen um einen halben Prozentpunkt."
    [result] = analyzer.analyze([document(text, lang=lang)])
    assert result.lang == "de"
    assert "frankfurt" in " ".join(m.key for m in result.chunks[0].mentions)


def test_settings_and_fingerprint_load_no_model():
    """``--help`` imports them and must answer at once."""
    code = (
        "import sys, index.analysis.settings, index.analysis.fingerprint;"
        "assert not {'spacy', 'numpy', 'wordllama'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_no_noise_among_the_most_frequent_concepts_of_a_newswire(analyzer, corpora):
    with gzip.open(corpora / "reuters21578.docs.jsonl.gz") as lines:
        items = [json.loads(line) for line in itertools.islice(lines, 1000)]
    documents = [
        document(item["text"], number=n) for n, item in enumerate(items) if item["text"].strip()
    ]
    counts = Counter(
        mention.key
        for result in analyzer.analyze(documents)
        for chunk in result.chunks
        for mention in chunk.mentions
    )
    frequent = {key for key, _ in counts.most_common(200)}
    assert not frequent & set(NOISE.split())
    assert not [key for key in frequent if any(map(str.isdigit, key))]
    assert {"japan", "treasury", "interest rate"} <= frequent
