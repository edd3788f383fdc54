"""Envelopes: Kafka Connect, Debezium and CloudEvents give what the plain message would."""

import base64
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.types import Deletion, Millis, Position, Reason, Record, Rejected, Upsert
from stream.message import decode

ARRIVED = Millis(1_800_000_000_000)
ROW = {"id": "a", "title": "A title", "text": "A text.", "version": 3}


def record(value, key=None, headers=()):
    body = value if value is None or isinstance(value, bytes) else json.dumps(value).encode()
    named = key if key is None or isinstance(key, bytes) else json.dumps(key).encode()
    return Record(Position("t", 0, 0), named, body, ARRIVED, tuple(headers))


def connect(payload, *columns):
    listed = [{"field": name, "name": kind, "type": "int64"} for name, kind in columns]
    return {"schema": {"type": "struct", "fields": listed}, "payload": payload}


def change(operation, after=None, before=None):
    return {"before": before, "after": after, "source": {"db": "news"}, "op": operation}


def event(**more):
    return {"specversion": "1.0", "id": "e1", "source": "/desk", "type": "news.written"} | more


def binary(**attributes):
    told = {"specversion": "1.0", "id": "e1", "source": "/desk", "type": "news.written"}
    headers = [(f"ce_{name}", value.encode()) for name, value in (told | attributes).items()]
    return [*headers, ("content-type", b"application/json")]


def document(*args, envelope="auto", **more):
    content = decode(record(*args, **more), envelope=envelope)
    assert isinstance(content, Upsert), content
    return content.document


def deleted(*args, **more):
    content = decode(record(*args, **more))
    assert isinstance(content, Deletion), content
    return content


def refused(*args, envelope="auto", **more):
    content = decode(record(*args, **more), envelope=envelope)
    assert isinstance(content, Rejected), content
    return content


ENVELOPES = [
    (connect(ROW), None, ()),
    (connect(ROW), connect("a"), ()),
    (connect(change("u", ROW)), connect({"id": "a"}), ()),
    (change("c", ROW), {"id": "a"}, ()),
    (change("r", ROW), b"a", ()),
    (ROW | {"__deleted": "false"}, {"key": "a"}, ()),
    (ROW, b'"a"', ()),
]


@pytest.mark.parametrize(("value", "key", "headers"), ENVELOPES)
def test_what_is_wrapped_says_what_the_plain_message_says(value, key, headers):
    assert document(value, key=key, headers=headers) == document(ROW, key=b"a")


def test_a_cloud_event_says_what_its_data_says_and_lends_its_source_and_time():
    moment = "2026-02-28T09:30:00Z"
    wanted = document(ROW | {"source": "/desk", "observed_at": moment}, key=b"a")
    assert document(event(data=ROW, time=moment), key=b"desk-1") == wanted
    packed = base64.b64encode(json.dumps(ROW).encode()).decode()
    assert document(event(data_base64=packed, time=moment)) == wanted
    assert document(ROW, key=b"desk-1", headers=binary(time=moment)) == wanted


def test_a_cloud_events_subject_names_what_its_data_does_not():
    bare = {"title": "t", "text": "x"}
    assert document(event(data=bare, subject="b")).id == "b"
    assert document(bare, key=b"other", headers=binary(subject="b")).id == "b"
    assert document(bare, key=b"other", headers=binary()).id == "other"


@pytest.mark.parametrize(
    ("value", "key", "headers"),
    [
        (connect(None), connect("a"), ()),
        (connect(change("d", before=ROW)), connect({"id": "a"}), ()),
        (change("d", before=ROW), None, ()),
        (change("d"), {"id": "a"}, ()),
        (ROW | {"__deleted": "true"}, None, ()),
        (None, {"id": "a"}, ()),
        (None, connect({"number": "a"}), ()),
        (None, b"a", ()),
        (event(type="news.deleted", subject="a"), None, ()),
        (b"", b"k", binary(type="news.removed", subject="a")),
        (None, b"k", binary(type="news.removed", subject="a")),
    ],
)
def test_what_deletes_deletes_without_a_version(value, key, headers):
    found = deleted(value, key=key, headers=headers)
    assert (found.id, found.version) == ("a", None)


def test_times_and_json_become_what_the_schema_says_they_are():
    row = ROW | {
        "published_at": 1_772_271_000_000_000,
        "observed_at": 20_512,
        "metadata": '{"desk": "metals"}',
    }
    kinds = [
        ("published_at", "io.debezium.time.MicroTimestamp"),
        ("observed_at", "org.apache.kafka.connect.data.Date"),
        ("metadata", "io.debezium.data.Json"),
    ]
    inner = connect(row, *kinds)
    whole = {
        "schema": {"fields": [{"field": "after", **inner["schema"]}]},
        "payload": change("c", row),
    }
    for value in (inner, whole):
        found = document(value)
        assert found.published_at == datetime(2026, 2, 28, 9, 30, tzinfo=UTC)
        assert found.observed_at == datetime(2026, 2, 28, tzinfo=UTC)
        assert found.metadata == {"desk": "metals"}


@pytest.mark.parametrize(
    ("value", "reason", "words"),
    [
        (change("t"), Reason.BAD_OP, "names no documents"),
        (change("x", ROW), Reason.BAD_OP, "is not c, r, u or d"),
        (change("c"), Reason.BAD_ENVELOPE, '"after" must be an object, not null'),
        (connect("text"), Reason.BAD_ENVELOPE, '"payload" must be an object, not text'),
        (event(), Reason.BAD_ENVELOPE, "has no data"),
        (event(data=[1]), Reason.BAD_ENVELOPE, "is a list"),
        (event(data=ROW, type=5), Reason.BAD_ENVELOPE, "not valid"),
        (event(data=ROW, time="yesterday"), Reason.BAD_ENVELOPE, "cannot be read"),
        (event(data="{", subject="a"), Reason.BAD_ENVELOPE, "not JSON"),
        (
            connect(ROW | {"published_at": 2**62}, ("published_at", "io.debezium.time.Timestamp")),
            Reason.BAD_TIME,
            "is no such time",
        ),
        (
            connect(ROW | {"metadata": "{"}, ("metadata", "io.debezium.data.Json")),
            Reason.BAD_FIELD,
            "is not JSON",
        ),
    ],
)
def test_what_cannot_be_unwrapped_is_refused_with_the_reason(value, reason, words):
    found = refused(value)
    assert found.reason is reason
    assert words in found.detail


def test_a_key_of_several_values_names_no_document():
    assert refused(connect(ROW), key={"x": 1, "y": 2}).reason is Reason.BAD_ID
    assert refused(connect(ROW), key=b"b").reason is Reason.KEY_MISMATCH


def test_a_named_envelope_is_insisted_on_and_plain_takes_nothing_off():
    assert refused(ROW, envelope="connect").reason is Reason.BAD_ENVELOPE
    assert refused(ROW, envelope="debezium").reason is Reason.BAD_ENVELOPE
    assert refused(ROW, envelope="cloudevents").reason is Reason.BAD_ENVELOPE
    assert document(connect(ROW) | {"id": "p", "text": "x"}, envelope="plain").id == "p"
    assert refused(connect(ROW), envelope="plain").reason is Reason.NO_ID
    quoted = decode(record(None, key=b'"a"'), envelope="plain")
    assert isinstance(quoted, Deletion)
    assert quoted.id == '"a"'


def test_a_document_with_fields_of_an_envelopes_names_stays_a_document():
    assert document(ROW | {"op": "upsert", "after": 1, "payload": 2, "schema": 3}).id == "a"


def test_a_schema_that_changes_in_flight_changes_nothing_about_what_is_known():
    wide = connect(ROW | {"desk": 7, "extra": {"a": 1}}, ("desk", "x.Unknown"))
    assert document(wide) == document(connect(ROW))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "id",
                    "op",
                    "after",
                    "before",
                    "payload",
                    "schema",
                    "fields",
                    "field",
                    "name",
                    "__deleted",
                    "specversion",
                    "type",
                    "source",
                    "data",
                    "data_base64",
                    "subject",
                    "time",
                    "text",
                ]
            ),
            inner,
            max_size=6,
        )
    ),
    max_leaves=12,
)


@given(JSON, JSON, st.sampled_from(["auto", "plain", "connect", "debezium", "cloudevents"]))
def test_whatever_comes_is_decoded_or_refused(value, key, envelope):
    for one in (record(value, key=key), record(value, key=key, headers=binary())):
        assert isinstance(decode(one, envelope=envelope), Upsert | Deletion | Rejected)
