"""What a status knows of the stream."""

import pytest

from deploy.status import Status
from stream.consumer import ConsumerStatus
from stream.watchdog import Activity, Phase
from tests.index.simple import Feed, commit, open_writer
from tests.index.test_live import STORIES, started

WORKING = {
    "lag": {("news", 0): 0},
    "freshness": 0.0,
    "queue": 0,
    "queue_bytes": 0,
    "away": False,
    "activity": Activity(Phase.GROUP, 60.0),
    "batches": 1,
    "records": 1,
    "running": True,
    "looked": 0.0,
}


@pytest.mark.parametrize(
    ("now", "lag", "freshness"),
    [
        ({}, 0, 0.0),
        # Something took a minute, and what came meanwhile was not seen.
        ({"looked": 60.0}, None, None),
        ({"looked": 60.0, "queue": 3, "freshness": 61.0}, 3, 61.0),
        ({"looked": 60.0, "running": False}, 0, 0.0),
        ({"away": True}, None, None),
        ({"away": True, "lag": {("news", 0): 5}, "freshness": 9.0}, 5, 9.0),
    ],
)
def test_what_is_not_known_is_never_told_as_zero(tmp_path, now, lag, freshness):
    writer = open_writer(tmp_path)
    commit(writer, [Feed().upsert("d1", "oil ship")])
    told = Status(
        tmp_path,
        writer,
        role="run",
        collection="default",
        model="",
        consumer=lambda: ConsumerStatus(**(WORKING | now)),
    )()
    assert (told.lag, told.freshness_seconds) == (lag, freshness)
    writer.close()


def test_the_checkpoint_beside_the_store_is_told_and_whether_it_is_current(tmp_path, monkeypatch):
    monkeypatch.setattr("deploy.status.LOOKS_LAST", -1.0)
    writer, feed = started(tmp_path)
    commit(writer, [feed.upsert("e", STORIES[0])])
    status = Status(
        tmp_path, writer, role="run", collection="default", problem=lambda: "it is damaged"
    )
    none = status().operations.checkpoint
    assert (none.generation, none.current, none.problem) == (None, False, "it is damaged")
    resident = writer._resident
    resident.checkpoint._least = 1
    resident.checkpoint.write(writer.live, writer.generation, resident._dynamic)
    found = status().operations.checkpoint
    assert (found.generation, found.current) == (3, True)
    assert found.bytes == (tmp_path / "index.graph").stat().st_size
    commit(writer, [feed.upsert("f", STORIES[1])])
    assert not status().operations.checkpoint.current
    writer.close()
