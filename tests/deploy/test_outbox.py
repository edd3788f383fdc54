"""Dead letters on their way to a topic, by the program's own processes."""

import threading
import time
from contextlib import closing
from functools import partial

import pytest

from deploy import runtime
from deploy.assembly import outbox
from deploy.assembly.streams import Origin
from deploy.errors import UsageError
from deploy.settings import Settings
from index.store import dead_letters
from index.store.connection import open_writable, store_path
from index.types import Millis, Position, Reason, Record, Rejected
from stream.log import LogSource
from stream.outbox import Outbox, OutboxReport
from tests.stream.test_produce import Memory

LINES = b'{"id": "a", "text": "Prices rose."}\nnot json\n{"text": "nobody"}\n'


def letters(directory, topic="dead"):
    with closing(LogSource(directory / "log.db", [topic])) as source:
        source.seek({})
        return source.poll(100, 0)


def test_what_indexing_rejects_is_in_the_topic_when_it_ends(tmp_path):
    data, file = tmp_path / "data", tmp_path / "news.jsonl"
    file.write_bytes(LINES)
    settings = Settings(data=data, dead_letter_topic="dead")
    for _ in range(2):  # the second run finds nothing new
        origin = Origin(file, follow=False)
        runtime.index(settings, origin, threading.Event(), until_end=True, told=None)
    found = letters(data)
    assert [record.value for record in found] == [b"not json", b'{"text": "nobody"}']
    told = [dict(record.headers) for record in found]
    assert [one["tidegraph-reason"] for one in told] == [b"not_json", b"no_id"]
    assert [one["tidegraph-offset"] for one in told] == [b"1", b"2"]


def test_a_topic_that_is_away_is_told_and_holds_up_nothing(tmp_path, monkeypatch):
    settings = Settings(
        data=tmp_path, kafka="127.0.0.1:9", dead_letter_topic="dead", topic="documents"
    )
    reports = []
    monkeypatch.setattr(outbox.streams, "producer", _away)
    started = time.monotonic()
    with outbox.publishing(settings, reports.append):
        while not reports and time.monotonic() < started + 10:
            time.sleep(0.01)
    assert "nobody is there" in reports[0].problem


def _away(_settings):
    from stream.errors import ProduceError

    raise ProduceError("nobody is there")


def test_letters_given_up_for_their_bytes_before_they_were_published_are_told(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(dead_letters, "KEPT_BYTES", 1_000)
    settings, memory = Settings(data=tmp_path), Memory()
    out = Outbox(partial(outbox._letters, settings), memory, "dead", tmp_path / "mark.json")
    with closing(open_writable(store_path(tmp_path))) as connection:
        for first, last, lost in ((0, 1, 0), (1, 9, 4)):
            for offset in range(first, last):
                record = Record(Position("news", 0, offset), None, b"x" * 200, Millis(1))
                why = Rejected(Reason.NOT_JSON, "broken")
                dead_letters.insert(connection, [(record, why)], Millis(1))
            assert out.step() == OutboxReport(last - first - lost, lost=lost)


def test_the_topic_of_documents_is_refused():
    with pytest.raises(UsageError, match="documents are read from"):
        outbox.check(Settings(topic="news", dead_letter_topic="news"))
