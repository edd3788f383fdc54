"""The document message: what is accepted, what is made whole, what is rejected and why."""

import json
from datetime import UTC, datetime

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.types import Deletion, Millis, Position, Reason, Record, Rejected, Upsert, from_millis
from stream.message import MessageLimits, decode, message_id
from stream.source import INCOMPLETE_HEADER, UNREADABLE_HEADER

ARRIVED = Millis(1_800_000_000_000)


def record(value, key=None, timestamp=ARRIVED, headers=()):
    body = value if value is None or isinstance(value, bytes) else json.dumps(value).encode()
    return Record(Position("t", 0, 0), key, body, timestamp, headers)


def document(value, **more):
    content = decode(record(value, **more))
    assert isinstance(content, Upsert), content
    return content.document


def rejected(value, **more):
    content = decode(record(value, **more))
    assert isinstance(content, Rejected), content
    return content


FULL = {
    "id": "a",
    "title": "A title",
    "text": "A text.",
    "source": "wire",
    "url": "https://example.org/a",
    "lang": "en",
    "published_at": "2026-02-28T10:30:00+01:00",
    "observed_at": "2026-02-28T09:45:00Z",
    "version": 3,
    "metadata": {"desk": "metals", "page": 4, "front": True, "share": 0.5, "none": None},
}


def test_a_whole_message_says_everything():
    found = document(FULL, key=b"a")
    assert found.id == "a"
    assert (found.title, found.text, found.source) == ("A title", "A text.", "wire")
    assert (found.url, found.lang, found.version) == ("https://example.org/a", "en", 3)
    assert found.published_at == datetime(2026, 2, 28, 9, 30, tzinfo=UTC)
    assert found.observed_at == datetime(2026, 2, 28, 9, 45, tzinfo=UTC)
    assert found.metadata == FULL["metadata"]
    assert found.derived == frozenset()


def test_what_is_missing_is_derived_and_marked():
    found = document({"text": "x"}, key=b"k")
    assert found.id == "k"
    assert found.observed_at == from_millis(ARRIVED)
    assert found.published_at is None
    assert found.derived == {"id", "lang", "observed_at"}


def test_null_is_missing():
    nothing = dict.fromkeys(("title", "source", "url", "lang", "published_at", "metadata", "op"))
    assert document({"id": "a", "text": "x", **nothing}) == document({"id": "a", "text": "x"})


def test_a_title_without_a_text_is_its_own_text():
    found = document({"id": "a", "title": " A  title\n", "text": " \n "})
    assert found.title == found.text == "A title"
    assert "text" in found.derived


def test_fields_of_other_names_are_passed_over():
    assert document({"id": "a", "text": "x", "topics": ["cocoa"]}).metadata == {}


def test_a_whole_number_is_an_id():
    assert document({"id": 17, "text": "x"}, key=b"17").id == "17"


class TestDeletion:
    def test_by_operation(self):
        content = decode(record({"id": "a", "op": "delete", "version": 4}))
        assert content == Deletion("a", 4, from_millis(ARRIVED))

    def test_by_a_value_that_is_missing(self):
        assert decode(record(None, key=b"a")) == Deletion("a", None, from_millis(ARRIVED))

    def test_has_its_own_time(self):
        content = decode(record({"id": "a", "op": "delete", "observed_at": "1998-12-14"}))
        assert content.observed_at == datetime(1998, 12, 14, tzinfo=UTC)


class TestTimes:
    @pytest.mark.parametrize(
        ("written", "meant"),
        [
            ("2026-02-28", datetime(2026, 2, 28, tzinfo=UTC)),
            ("2026-02-28T09:30Z", datetime(2026, 2, 28, 9, 30, tzinfo=UTC)),
            ("2026-02-28t09:30:00z", datetime(2026, 2, 28, 9, 30, tzinfo=UTC)),
            ("2026-02-28 09:30:00+00:00", datetime(2026, 2, 28, 9, 30, tzinfo=UTC)),
            ("2026-02-28T04:00:00-0530", datetime(2026, 2, 28, 9, 30, tzinfo=UTC)),
            (" 1987-02-26T15:02:20.00Z ", datetime(1987, 2, 26, 15, 2, 20, tzinfo=UTC)),
            ("2026-02-28T09:30:00.123456789Z", datetime(2026, 2, 28, 9, 30, 0, 123456, tzinfo=UTC)),
            ("1000-01-01", datetime(1000, 1, 1, tzinfo=UTC)),
            ("2099-12-31T23:59:59Z", datetime(2099, 12, 31, 23, 59, 59, tzinfo=UTC)),
        ],
    )
    def test_that_are_accepted(self, written, meant):
        assert document({"id": "a", "text": "x", "published_at": written}).published_at == meant

    @pytest.mark.parametrize(
        ("written", "said"),
        [
            ("2026-02-30", "impossible"),
            ("2026-13-01T00:00:00Z", "impossible"),
            ("2026-02-28T25:00:00Z", "impossible"),
            ("2026-02-28T09:30:00+99:00", "impossible"),
            ("yesterday", "no time"),
            ("2026", "no time"),
            ("28.02.2026", "no time"),
            ("Mo, 25 Jun 2018 10:00:00 +0200", "no time"),
            ("20260228", "no time"),
            ("2026-02-28T09:30:00", "no time zone"),
            ("0999-12-31", "outside the years 1000 to 2999"),
            ("0001-01-01T00:00:00+14:00", "outside the years"),
            ("9999-12-31T23:59:59-14:00", "outside the years"),
            ("२०२६-०२-२८", "no time"),
        ],
    )
    def test_that_are_not(self, written, said):
        for field in ("published_at", "observed_at"):
            found = rejected({"id": "a", "text": "x", field: written})
            assert found.reason is Reason.BAD_TIME
            assert said in found.detail
            assert field in found.detail
        if "outside" not in said:
            assert '"2026-02-28T09:30:00Z"' in found.detail

    @pytest.mark.parametrize("written", [1772271000, 1772271000.5, True, ["2026-02-28"], {}])
    def test_that_are_no_text(self, written):
        assert rejected({"id": "a", "text": "x", "published_at": written}).reason is Reason.BAD_TIME

    def test_nothing_is_observed_after_it_was_published_here(self):
        """A date in 2099 must not move the stream's clock."""
        found = document({"id": "a", "text": "x", "observed_at": "2099-01-01"})
        assert found.observed_at == from_millis(ARRIVED)
        assert "observed_at" in found.derived
        assert found.event_at == from_millis(ARRIVED)

    def test_a_date_of_publication_ahead_does_not_move_the_event_time(self):
        found = document({"id": "a", "text": "x", "published_at": "2099-01-01"})
        assert found.published_at.year == 2099
        assert found.event_at == from_millis(ARRIVED)

    def test_a_clock_that_was_not_set_does_not_cut_the_time_of_observation(self):
        found = document({"id": "a", "text": "x", "observed_at": "2026-02-28"}, timestamp=Millis(5))
        assert found.observed_at.year == 2026


BAD = {
    "not json": (b"not json at all", Reason.NOT_JSON),
    "nothing": (b"", Reason.NOT_JSON),
    "half an object": (b'{"id": "a", "text": "x"', Reason.NOT_JSON),
    "two objects": (b'{"id": "a"} {"id": "b"}', Reason.NOT_JSON),
    "NaN": (b'{"id": "a", "text": "x", "metadata": {"n": NaN}}', Reason.NOT_JSON),
    "infinity": (b'{"id": "a", "text": "x", "metadata": {"n": 1e999}}', Reason.NOT_JSON),
    "a number of 5,000 digits": (b'{"id": ' + b"1" * 5000 + b"}", Reason.NOT_JSON),
    "deep nesting": (b"[" * 100_000 + b"]" * 100_000, Reason.NOT_JSON),
    "a raw control character": (b'{"id": "a", "text": "\x01"}', Reason.NOT_JSON),
    "latin-1": ('{"id": "a", "text": "é"}'.encode("latin-1"), Reason.NOT_UTF8),
    "utf-16": ('{"id": "a", "text": "x"}'.encode("utf-16"), Reason.NOT_UTF8),
    "an encoded surrogate": (b'{"id": "a", "text": "\xed\xa0\x80"}', Reason.NOT_UTF8),
    "a list": (b'["id"]', Reason.NOT_AN_OBJECT),
    "null": (b"null", Reason.NOT_AN_OBJECT),
    "text": (b'"id"', Reason.NOT_AN_OBJECT),
    "no id": ({"text": "x"}, Reason.NO_ID),
    "an empty id": ({"id": "", "text": "x"}, Reason.NO_ID),
    "a blank id": ({"id": " \t", "text": "x"}, Reason.NO_ID),
    "an id that is true": ({"id": True, "text": "x"}, Reason.BAD_ID),
    "an id with a fraction": ({"id": 1.5, "text": "x"}, Reason.BAD_ID),
    "an id that is a list": ({"id": ["a"], "text": "x"}, Reason.BAD_ID),
    "an id with NUL": ({"id": "a\0b", "text": "x"}, Reason.BAD_ID),
    "an id with half a surrogate": (b'{"id": "a\\ud800", "text": "x"}', Reason.BAD_ID),
    "an id with outer space": ({"id": " a", "text": "x"}, Reason.BAD_ID),
    "an id of 513 characters": ({"id": "a" * 513, "text": "x"}, Reason.BAD_ID),
    "no text": ({"id": "a"}, Reason.EMPTY_TEXT),
    "an empty text": ({"id": "a", "text": ""}, Reason.EMPTY_TEXT),
    "a blank text": ({"id": "a", "text": " \n\t\u00a0", "title": " "}, Reason.EMPTY_TEXT),
    "a text of 5 MB": ({"id": "a", "text": "x" * 5_000_000}, Reason.TOO_LARGE),
    "a title of a book's length": ({"id": "a", "text": "x", "title": "t" * 4001}, Reason.TOO_LARGE),
    "a text that is a number": ({"id": "a", "text": 5}, Reason.BAD_FIELD),
    "a title that is a list": ({"id": "a", "text": "x", "title": ["t"]}, Reason.BAD_FIELD),
    "a source that is an object": ({"id": "a", "text": "x", "source": {}}, Reason.BAD_FIELD),
    "a language that is none": ({"id": "a", "text": "x", "lang": "?"}, Reason.BAD_FIELD),
    "metadata that is a list": ({"id": "a", "text": "x", "metadata": []}, Reason.BAD_FIELD),
    "nested metadata": ({"id": "a", "text": "x", "metadata": {"n": {"m": 1}}}, Reason.BAD_FIELD),
    "a list in metadata": ({"id": "a", "text": "x", "metadata": {"n": [1]}}, Reason.BAD_FIELD),
    "beyond 64 bits": ({"id": "a", "text": "x", "metadata": {"n": 2**63}}, Reason.BAD_FIELD),
    "much metadata": (
        {"id": "a", "text": "x", "metadata": {str(n): n for n in range(65)}},
        Reason.TOO_LARGE,
    ),
    "long metadata": ({"id": "a", "text": "x", "metadata": {"n": "x" * 4001}}, Reason.TOO_LARGE),
    "an unknown operation": ({"id": "a", "text": "x", "op": "insert"}, Reason.BAD_OP),
    "an operation that is a number": ({"id": "a", "text": "x", "op": 1}, Reason.BAD_OP),
    "an operation nested deeply": (
        b'{"id": "a", "op": ' + b"[" * 900 + b"]" * 900 + b"}",
        Reason.BAD_OP,
    ),
    "a negative version": ({"id": "a", "text": "x", "version": -1}, Reason.BAD_VERSION),
    "a version as text": ({"id": "a", "text": "x", "version": "3"}, Reason.BAD_VERSION),
    "a version with a fraction": ({"id": "a", "text": "x", "version": 3.0}, Reason.BAD_VERSION),
    "a version that is true": ({"id": "a", "text": "x", "version": True}, Reason.BAD_VERSION),
    "a version beyond 63 bits": ({"id": "a", "text": "x", "version": 2**63}, Reason.BAD_VERSION),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_rejected_with_its_reason(name):
    value, reason = BAD[name]
    found = rejected(value)
    assert found.reason is reason
    assert 0 < len(found.detail) < 500
    assert found.detail.isprintable()


@pytest.mark.parametrize("key", [b"b", b"A", b"a-"])
def test_a_key_that_is_not_the_id_is_rejected(key):
    found = rejected({"id": "a", "text": "x"}, key=key)
    assert found.reason is Reason.KEY_MISMATCH


@pytest.mark.parametrize(
    ("value", "key", "reason"),
    [
        (None, None, Reason.NO_ID),
        (None, b"", Reason.NO_ID),
        (None, b"\xff", Reason.BAD_ID),
        ({"id": "a", "text": "x"}, b"\xff\xfe", Reason.BAD_ID),
    ],
)
def test_a_key_that_names_nothing_is_rejected(value, key, reason):
    assert rejected(value, key=key).reason is reason


def test_a_cut_line_is_incomplete_only_where_it_cannot_be_read():
    mark = ((INCOMPLETE_HEADER, b""),)
    assert rejected(b'{"id": "a', headers=mark).reason is Reason.INCOMPLETE
    assert document(b'{"id": "a", "text": "x"}', headers=mark).id == "a"


def test_a_record_that_a_source_could_not_read_says_why():
    found = rejected(b"", headers=((UNREADABLE_HEADER, b"bad \xff checksum"),))
    assert found == Rejected(Reason.UNREADABLE, "the record cannot be read: bad \ufffd checksum")


def test_a_limit_is_said_with_what_was_found():
    limits = MessageLimits(message_bytes=10)
    content = decode(record({"id": "a", "text": "x"}), limits)
    assert content == Rejected(Reason.TOO_LARGE, "the message has 24 bytes; the limit is 10")


class TestText:
    def test_a_byte_order_mark_is_no_part_of_it(self):
        assert document(b'\xef\xbb\xbf{"id": "a", "text": "x"}').text == "x"

    def test_lone_surrogates_are_replaced_and_pairs_are_not(self):
        body = rb'{"id": "a", "text": "\ud83d\ude00 \ud800 \udc00x \\ud800"}'
        assert document(body).text == "\U0001f600 \ufffd \ufffdx \\ud800"

    def test_control_characters_are_replaced_one_for_one(self):
        text = "a\0b\x1b[31m\x0cc\x85d\x9b\te\r\n\x7f"
        found = document({"id": "a", "text": text}).text
        assert found == "a\ufffdb\ufffd[31m\nc\nd\ufffd\te\r\n\ufffd"
        assert len(found) == len(text)

    def test_markup_is_text(self):
        title = "<script>alert('x')</script> & <b>"
        assert document({"id": "a", "text": "x", "title": title}).title == title

    def test_the_last_of_two_equal_names_counts(self):
        assert document(b'{"id": "a", "text": "x", "text": "y"}').text == "y"

    def test_a_language_tag_has_one_form(self):
        assert document({"id": "a", "text": "x", "lang": "pt_BR"}).lang == "pt-br"


def records(values):
    return st.builds(
        Record,
        st.just(Position("t", 0, 0)),
        st.none() | st.binary(max_size=20),
        values,
        st.integers(-(2**63), 2**63 - 1),
        st.lists(st.tuples(st.text(max_size=30), st.binary(max_size=30)), max_size=2).map(tuple),
    )


anything = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**64), 2**64) | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
names = st.sampled_from([*FULL, "op", "other"])
objects = st.dictionaries(names, anything, max_size=11).map(lambda one: json.dumps(one).encode())


@given(records(st.none() | st.binary(max_size=200)))
def test_arbitrary_bytes_never_raise(one):
    assert isinstance(decode(one), Upsert | Deletion | Rejected)
    message_id(one.value)


@given(records(objects))
def test_arbitrary_objects_never_raise_and_decode_to_storable_text(one):
    content = decode(one)
    assert decode(one) == content
    if isinstance(content, Upsert):
        assert len(content.document.content_hash()) == 16
        assert "\0" not in content.document.text + content.document.title + content.document.id


times = st.datetimes(datetime(1000, 1, 2), datetime(2026, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
scalars = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text("abc é", max_size=9)
)


@given(
    text=st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1).filter(str.strip),
    published=times,
    observed=times,
    version=st.none() | st.integers(0, 2**63 - 1),
    metadata=st.dictionaries(st.text("abc", max_size=5), scalars, max_size=5),
)
def test_a_valid_document_comes_back_as_it_was(text, published, observed, version, metadata):
    body = {
        "id": "a",
        "text": text,
        "published_at": published.isoformat(),
        "observed_at": observed.isoformat(),
        "version": version,
        "metadata": metadata,
    }
    found = document(orjson.dumps(body), key=b"a")
    assert (found.text, found.version, found.metadata) == (text, version, metadata)
    assert (found.published_at, found.observed_at) == (published, observed)


def test_the_id_of_a_message_is_found_for_its_key():
    assert message_id(b'{"id": "a"}') == "a"
    assert message_id(b'{"id": 5}') == "5"
    for nothing in (None, b"", b"oops", b"[]", b"{}", b'{"id": ""}', b'{"id": [1]}'):
        assert message_id(nothing) is None
