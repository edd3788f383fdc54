"""Claims: quotes with exact offsets, merged, spread over communities, cut; and their wording."""

from hypothesis import given
from hypothesis import strategies as st

from index.types import Millis
from index.view import StoredChunk, StoredDocument
from query import answer
from query.assessor import Candidate, Features, OfflineAssessor, Verdict, stem
from query.claims import Evidence, cite, extract
from query.settings import ClaimSettings
from query.types import Outcome, Searched


def stored(number, text, title=""):
    return StoredDocument(
        number, f"d{number}", title, text, "wire", "", "en", None, Millis(1), Millis(1), None,
        {}, frozenset(), 1,
    )  # fmt: skip


def evidence(number, text, *, worth=1.0, community=0, start=0, sentences=None):
    chunk = StoredChunk(number, f"{number:032x}", number, 0, start, len(text), text[start:])
    spans = sentences or ((0, len(chunk.text)),)
    verdict = Verdict(number, 0.5, True, tuple(range(len(spans))))
    return Evidence(chunk, stored(number, text), spans, verdict, worth, community)


def test_a_quote_is_cut_from_the_documents_text_without_its_white_space():
    text = "First.  Second one here.  Third."
    chunk = StoredChunk(0, "0" * 32, 0, 0, 6, len(text), text[6:])
    found = cite(chunk, stored(0, text), (0, 19), 100)
    assert (found.quote, found.start, found.end) == ("Second one here.", 8, 24)


def test_a_blank_sentence_is_no_quote():
    text = "   \n "
    assert cite(StoredChunk(0, "0" * 32, 0, 0, 0, 5, text), stored(0, text), (0, 5), 9) is None


@given(st.text(min_size=1, max_size=80), st.data())
def test_every_quote_is_what_stands_at_its_offsets(text, data):
    start = data.draw(st.integers(0, len(text)))
    first = data.draw(st.integers(0, len(text) - start))
    last = data.draw(st.integers(first, len(text) - start))
    chunk = StoredChunk(0, "0" * 32, 0, 0, start, len(text), text[start:])
    found = cite(chunk, stored(0, text), (first, last), data.draw(st.integers(1, 40)))
    assert found is None or text[found.start : found.end] == found.quote != ""


def test_the_best_claim_comes_first_and_its_community_stays_together():
    claims, citations = extract(
        [
            evidence(1, "Alpha beta gamma.", worth=3, community=7),
            evidence(2, "Delta epsilon zeta.", worth=2, community=8),
            evidence(3, "Eta theta iota.", worth=1, community=7),
        ],
        ClaimSettings(),
    )
    assert [citations[claim.citations[0] - 1].document_id for claim in claims] == ["d1", "d3", "d2"]


def test_one_document_supports_a_claim_once():
    claims, citations = extract(
        [evidence(1, "Same words here.", worth=2), evidence(1, "Same words here.", worth=1)],
        ClaimSettings(),
    )
    assert len(claims) == len(citations) == 1


def test_no_community_takes_all_the_room_while_others_have_claims():
    many = [evidence(n, f"Word{n} other{n} thing{n}.", worth=50 - n, community=1) for n in range(9)]
    rest = [evidence(20, "Something else entirely.", worth=1, community=2)]
    claims, _ = extract([*many, *rest], ClaimSettings(most=4, share=3))
    assert {claim.community for claim in claims} == {1, 2}
    assert len(claims) == 4


def test_claims_are_cut_to_their_words():
    many = [evidence(n, f"Word{n} " * 50, worth=50 - n) for n in range(9)]
    claims, _ = extract(many, ClaimSettings(words=120))
    assert len(claims) == 2


def test_a_long_sentence_is_cut_at_a_word():
    claims, _ = extract([evidence(1, "word " * 100)], ClaimSettings(longest=22))
    assert claims[0].text == "word word word word"


def test_no_evidence_gives_no_claim():
    assert extract([], ClaimSettings()) == ((), ())


def test_claims_of_several_communities_stand_under_headings():
    claims, _ = extract(
        [
            evidence(1, "Alpha beta.", worth=3, community=7),
            evidence(2, "Gamma delta.", community=8),
        ],
        ClaimSettings(),
    )
    text = answer.answered(claims, {7: "Harbour, strike", 8: "Comet"}, offline=True)
    assert "Harbour, strike:\n- Alpha beta. [1]\nComet:\n- Gamma delta. [2]" in text


def test_a_record_that_is_missing_is_told_with_what_was_searched():
    seen = Searched(1, 3, Millis(0), Millis(86_400_000), Millis(86_400_000))
    text = answer.no_record(("Zorblat",), Outcome.EXPIRED, seen)
    assert text == (
        'No record of "Zorblat": the index has held it, but those documents expired or were '
        "withdrawn. Searched: 1 document from 1970-01-01 to 1970-01-02; the newest arrived "
        "1970-01-02 00:00 UTC."
    )


def test_every_outcome_without_an_answer_has_its_words():
    for outcome in set(Outcome) - {Outcome.ANSWERED}:
        assert answer.no_record((), outcome, Searched(0, 0, None, None, None))


def candidate(text, sentences=None, **more):
    values = {"similarity": 0.5, "lexical": 0.5, "named": 0.5, "prior": 0.5, "title": ""} | more
    return Candidate(slot=0, text=text, sentences=sentences or ((0, len(text)),), **values)


def test_the_sentence_with_most_of_the_questions_weight_comes_first():
    text = "Nothing here. Dockers strike. A strike."
    spans = ((0, 13), (14, 29), (30, 39))
    features = Features.of(candidate(text, spans), {"docker": 2.0, "strik": 1.0})
    assert features.order == (1, 2, 0)
    assert (features.sentence, features.covered) == (1.0, 1.0)


def test_a_title_covers_words_that_the_text_leaves_out():
    features = Features.of(candidate("strike", title="Dockers"), {"docker": 1.0, "strik": 1.0})
    assert (features.sentence, features.covered) == (0.5, 1.0)


def test_forms_of_a_word_share_a_stem():
    assert stem("Strikes") == stem("striking") == stem("strike")
    assert stem("is") == "is"


def test_support_is_asked_of_the_best_relevant_verdict():
    verdicts = [Verdict(1, 0.9, True, (), 0.2), Verdict(2, 0.9, False, (), 0.9)]
    assert OfflineAssessor().supports(verdicts, named=True)
    assert not OfflineAssessor().supports(verdicts, named=False)
    assert not OfflineAssessor().supports([], named=True)
