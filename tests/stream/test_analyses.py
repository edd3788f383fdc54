"""The form of records of analyses: nothing is lost in it, and nothing malformed gets through."""

import struct

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.types import (
    Analysis,
    AnalyzedChunk,
    ConceptKind,
    Facet,
    FacetKind,
    Mention,
    Millis,
    Position,
    Reason,
    Record,
    Rejected,
)
from stream.analyses import MAGIC, Extracted, MalformedError, Opened, UnknownVersionError, encode
from stream.analyzed import fitting
from tests.index.simple import FINGERPRINT, analysis, document

AT = ("news", 3)
DIMENSIONS = FINGERPRINT.dimensions
ANALYZER = FINGERPRINT.to_json()
RECORD = Record(
    Position("news", 3, 11), b"a", b'{"id": "a"}', Millis(1_700_000_000_000), (("h", b"\xff"),)
)
WHOLE = Extracted("news", 3, 9, 12, ANALYZER, RECORD, analysis(document("a", "one two\nthree")))

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
counts = st.integers(0, 2**31 - 1)
numbers = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def facet(draw):
    low, high = sorted((draw(numbers), draw(numbers)))
    kind = draw(st.sampled_from(FacetKind))
    return Facet(kind, low, high, draw(st.text(max_size=3)), draw(counts), draw(counts))


@st.composite
def mentions(draw):
    keys = sorted(draw(st.sets(texts, max_size=5)))
    return tuple(Mention(k, draw(texts), draw(st.sampled_from(ConceptKind))) for k in keys)


@st.composite
def chunks(draw):
    cuts = sorted(draw(st.lists(counts, max_size=8)))
    made = []
    for start, end in zip(cuts[::2], cuts[1::2], strict=False):
        vector = np.array(draw(st.lists(st.floats(-1, 1), min_size=8, max_size=8)), np.float16)
        found = tuple(draw(st.lists(facet(), max_size=3)))
        made.append(
            AnalyzedChunk(start, end, draw(counts), draw(mentions()), found, vector.tobytes())
        )
    return tuple(made)


analyses = st.builds(Analysis, texts, st.text("abc", max_size=3), chunks(), mentions())
rejections = st.builds(Rejected, st.sampled_from(Reason), texts)
maybe_bytes = st.none() | st.binary(max_size=20)


@st.composite
def extracted(draw):
    since = draw(st.integers(0, 2**40))
    until = since + draw(st.integers(1, 5))
    record = Record(
        Position("news", 3, until - 1),
        draw(maybe_bytes),
        draw(maybe_bytes),
        Millis(draw(st.integers(0, 2**41))),
        tuple(draw(st.lists(st.tuples(texts, st.binary(max_size=9)), max_size=3))),
    )
    result = draw(st.none() | analyses | rejections)
    if draw(st.integers(0, 5)) == 0:
        return Extracted("news", 3, since, until, ANALYZER)
    return Extracted("news", 3, since, until, ANALYZER, record, result)


@given(extracted())
def test_what_is_read_is_what_was_written(one):
    assert Opened(encode(one), AT).extracted(DIMENSIONS) == one


@given(st.integers(0, len(encode(WHOLE)) - 1), st.integers(1, 255))
def test_a_damaged_byte_is_refused_or_read_and_never_raises_anything_else(at, change):
    value = bytearray(encode(WHOLE))
    value[at] ^= change
    try:
        Opened(bytes(value), AT).extracted(DIMENSIONS)
    except MalformedError:
        return


@given(st.integers(0, len(encode(WHOLE)) - 1))
def test_one_that_is_cut_off_is_never_taken_for_whole(length):
    try:
        read = Opened(encode(WHOLE)[:length], AT).extracted(DIMENSIONS)
    except MalformedError:
        return
    assert read.record == RECORD
    assert read.analysis.reason is Reason.ANALYSIS_FAILED


@pytest.mark.parametrize(
    "value", [None, b"", b"TGA", b"nonsense" * 9, MAGIC + b"\xff\xff\xff\xff{"]
)
def test_what_is_no_record_of_analyses_is_refused(value):
    with pytest.raises(MalformedError):
        Opened(value, AT)


def test_a_version_that_is_not_known_is_refused_by_its_number():
    with pytest.raises(UnknownVersionError, match="version 2"):
        Opened(b"TGA\x02" + encode(WHOLE)[4:], AT)


def test_a_record_for_another_partition_is_refused():
    with pytest.raises(MalformedError, match="news/3"):
        Opened(encode(WHOLE), ("news", 4))


def spoiled(change):
    """``WHOLE`` with its analysis changed as JSON."""
    value = encode(WHOLE)
    length = struct.unpack(">I", value[4:8])[0]
    head = orjson.loads(value[8 : 8 + length])
    sizes = [11, 1, 1]
    start = 8 + length + sum(sizes)
    body = orjson.loads(value[start : start + head["analysis"]])
    vectors = value[start + head["analysis"] :]
    change(body)
    new = orjson.dumps(body)
    head["analysis"] = len(new)
    packed = orjson.dumps(head)
    source = value[8 + length : start]
    return MAGIC + struct.pack(">I", len(packed)) + packed + source + new + vectors


def set_chunk(number, value):
    def change(body):
        body[3][0][number] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        set_chunk(0, -1),
        set_chunk(1, 2**31),
        set_chunk(2, 1.5),
        set_chunk(3, [["b", "", 0], ["a", "", 0]]),
        set_chunk(3, [["a", "", 0], ["a", "", 0]]),
        set_chunk(3, [["a", "", 99]]),
        set_chunk(3, [["", "", 0]]),
        set_chunk(4, [[0, 2.0, 1.0, "", 0, 1]]),
        set_chunk(4, [[0, None, 1.0, "", 0, 1]]),
        set_chunk(5, 2),
        lambda body: body.pop(),
        lambda body: body[3].pop(),
    ],
)
def test_an_analysis_that_breaks_a_rule_is_a_rejection_beside_the_whole_record(change):
    read = Opened(spoiled(change), AT).extracted(DIMENSIONS)
    assert read.record == RECORD
    assert read.analysis.reason is Reason.ANALYSIS_FAILED
    assert Opened(spoiled(lambda _: None), AT).extracted(DIMENSIONS) == WHOLE


def test_a_vector_that_is_not_finite_is_a_rejection():
    value = encode(WHOLE)
    read = Opened(value[:-2] + np.float16("nan").tobytes(), AT).extracted(DIMENSIONS)
    assert "not finite" in read.analysis.detail


def test_an_analysis_of_another_document_or_beyond_its_text_does_not_fit():
    of = document("a", "one two\nthree")
    assert fitting(of, analysis(of)) == analysis(of)
    assert fitting(document("b", "one two\nthree"), analysis(of)).reason is Reason.ANALYSIS_FAILED
    assert "beyond" in fitting(document("a", "one"), analysis(of)).detail


def test_the_form_of_today_can_be_read_for_ever():
    """Golden bytes: a change of the form needs another version."""
    golden = (
        b'TGA\x01\x00\x00\x00\xa3{"topic":"news","partition":3,"since":9,"until":12,'
        b'"analyzer":"{}","record":{"timestamp":5,"key":1,"value":null,"headers":[["h",1]]},'
        b'"rejected":null,"analysis":63}aH["a","en",[["t","T",4]],[[0,3,1,[],[[0,5.0,6.0,"EUR",'
        b"0,1]],2]]]\x00<"
    )
    record = Record(Position("news", 3, 11), b"a", None, Millis(5), (("h", b"H"),))
    money = Facet(FacetKind.MONEY, 5.0, 6.0, "EUR", 0, 1)
    chunk = AnalyzedChunk(0, 3, 1, (), (money,), np.float16(1).tobytes())
    title = (Mention("t", "T", ConceptKind.OTHER),)
    one = Extracted("news", 3, 9, 12, "{}", record, Analysis("a", "en", (chunk,), title))
    assert encode(one) == golden
    assert Opened(golden, AT).extracted(1) == one
