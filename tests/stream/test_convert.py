"""Filters and conversions on the way from a file."""

import json

import orjson
import pytest

from index.types import Deletion, Millis, Position, Reason, Record, Rejected, Upsert
from stream.convert import revision_to_message, transform
from stream.files import FileSource
from stream.message import decode
from tests.stream.conformance import drain


def record(body, offset=7):
    value = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Record(Position("f", 0, offset), None, value, Millis(1_800_000_000_000))


@pytest.mark.parametrize("op", ["insert", "update"])
def test_an_insertion_and_an_update_are_upserts_seen_at_their_time(op):
    event = {"op": op, "id": "a", "version": 3, "event_at": "1998-08-31T07:20:50Z", "text": "t"}
    message = revision_to_message(record(event))
    assert orjson.loads(message.value) == {
        "op": "upsert",
        "id": "a",
        "text": "t",
        "observed_at": "1998-08-31T07:20:50Z",
    }
    assert message.position == Position("f", 0, 7)


def test_a_deletion_stays_one():
    event = {"op": "delete", "id": "a", "event_at": "1998-12-14T22:41:25Z", "lang": "en"}
    content = decode(revision_to_message(record(event)))
    assert isinstance(content, Deletion)
    assert content.observed_at.year == 1998


@pytest.mark.parametrize("body", [b"[oops", b"17", b"\xff"])
def test_what_cannot_be_read_is_given_on_untouched(body):
    original = record(body)
    assert revision_to_message(original) is original
    assert transform("revisions", {"lang": "en"})(original) is original


def test_a_byte_order_mark_does_not_hide_the_first_event():
    message = revision_to_message(record(b'\xef\xbb\xbf{"op": "insert", "id": "a", "text": "t"}'))
    assert isinstance(decode(message), Upsert)


def test_another_operation_is_left_to_the_decoding():
    assert orjson.loads(revision_to_message(record({"op": "merge", "id": "a"})).value)["op"] == (
        "merge"
    )


def test_the_english_revisions_of_a_real_archive(corpora):
    source = FileSource(
        corpora / "debian_news_revisions.events.jsonl.gz",
        transform=transform("revisions", {"lang": "en"}),
    )
    contents = [decode(one) for one in drain(source, step=500)]
    source.close()
    rejected = [content for content in contents if isinstance(content, Rejected)]
    assert sum(isinstance(content, Upsert) for content in contents) == 4063
    assert sum(isinstance(content, Deletion) for content in contents) == 12
    assert [one.reason for one in rejected] == [Reason.BAD_TIME] * 2
    assert "2000-17-11" in rejected[0].detail
