"""Polling: only what is new is published, the first poll is history, failures wait longer."""

import json
import sqlite3
import time
from datetime import UTC, datetime

import pytest

from index.types import Millis, Position, Record, Upsert
from stream.errors import FeedError, ProduceError
from stream.feeds.fetch import Fetcher, FetchLimits
from stream.feeds.poll import LONGEST_WAIT, FeedPoller, next_wait
from stream.feeds.state import FeedStore
from stream.message import decode
from tests.stream.feeds import servers
from tests.stream.feeds.servers import page, served

NOW = datetime(2026, 11, 2, 6, tzinfo=UTC).timestamp()
HOUR = 3600.0


class Topic:
    """A producer that keeps what it is given, and fails when told to."""

    def __init__(self):
        self.messages = []
        self.failing = False

    def publish(self, topic, messages):
        if self.failing:
            raise ProduceError("the topic is away")
        self.messages += messages
        return [Position(topic, 0, number) for number in range(len(messages))]

    def close(self):
        pass

    def take(self):
        taken, self.messages = self.messages, []
        return [json.loads(one.value) for one in taken]


class World:
    """One feed on a server, a list, a poller, and a clock that is set."""

    def __init__(self, server, path):
        self.server, self.path, self.now = server, path, NOW
        self.url = server.url + "/feed"
        self.topic = Topic()
        self.reports = []
        self.open()
        self.store.add(self.url)

    def open(self):
        self.store = FeedStore(self.path)
        self.poller = FeedPoller(
            self.store,
            Fetcher(
                FetchLimits(allow_private=True, wait_seconds=2.0),
                clock=time.monotonic,
                now=lambda: datetime.fromtimestamp(self.now, UTC),
                agent="test/1",
            ),
            self.topic,
            "documents",
            interval=HOUR,
            clock=lambda: self.now,
            observe=self.reports.append,
        )

    def shows(self, *items, **headers):
        inner = "".join(f"<item>{item}</item>" for item in items)
        body = f'<rss version="2.0"><channel><title>News</title>{inner}</channel></rss>'
        self.server.pages["/feed"] = page(body.encode(), Content_Type="application/xml", **headers)

    def poll(self):
        self.now += HOUR
        (report,) = self.poller.poll_due()
        return report


@pytest.fixture
def world(tmp_path):
    with served({}) as server:
        made = World(server, tmp_path / "feeds.db")
        yield made
        made.store.close()


OLD = "<guid>1</guid><link>/1</link><title>Old</title><pubDate>1 Oct 2026 08:00 GMT</pubDate>"
UNDATED = "<guid>2</guid><link>/2</link><title>Undated</title><pubDate>03/04/2026</pubDate>"


def test_the_first_poll_is_history_and_the_next_is_news(world):
    world.shows(OLD)
    assert world.poll().backfill
    (first,) = world.topic.take()
    assert first["metadata"]["backfill"] is True
    assert first["observed_at"] == first["published_at"] == "2026-10-01T08:00:00+00:00"
    world.shows(UNDATED, OLD)
    report = world.poll()
    (second,) = world.topic.take()
    assert (report.new, report.changed, report.undated, report.backfill) == (1, 0, 1, False)
    assert "backfill" not in second["metadata"]
    assert "observed_at" not in second
    assert "ambiguous" in second["metadata"]["published_left_out"]


def test_what_is_published_is_a_document_that_the_index_takes(world):
    world.shows(
        OLD, UNDATED, "<guid>3</guid><description>&lt;p&gt;no title&lt;/p&gt;</description>"
    )
    world.poll()
    for number, message in enumerate(world.topic.messages):
        record = Record(
            Position("documents", 0, number), message.key, message.value, Millis(int(NOW * 1000))
        )
        assert isinstance(decode(record), Upsert)


def test_only_what_changed_is_published_again_under_its_id(world):
    world.shows(OLD, UNDATED)
    world.poll()
    before = {one["title"]: one["id"] for one in world.topic.take()}
    world.shows(OLD.replace("Old", "Edited"), UNDATED)
    report = world.poll()
    (edited,) = world.topic.take()
    assert (report.new, report.changed) == (0, 1)
    assert edited["id"] == before["Old"]
    assert world.poll().outcome == "unchanged"


def test_a_guid_that_comes_to_be_shared_changes_no_id(world):
    world.shows(OLD)
    world.poll()
    (first,) = world.topic.take()
    twin = OLD.replace("/1", "/other").replace("Old", "Other")
    world.shows(twin, OLD)
    world.poll()
    (other,) = world.topic.take()
    assert other["title"] == "Other"
    assert other["id"] != first["id"]
    world.shows(twin)
    assert world.poll().outcome == "unchanged"


def test_the_state_outlives_the_process(world):
    world.shows(OLD)
    world.poll()
    world.topic.take()
    world.store.close()
    world.open()
    report = world.poll()
    assert (report.outcome, report.backfill) == ("unchanged", False)


def test_an_unchanged_feed_costs_one_small_answer(world):
    world.server.pages["/feed"] = servers.with_validators(
        b'<rss version="2.0"><channel><item><title>x</title></item></channel></rss>'
    )
    assert world.poll().new == 1
    assert world.poll().found == 0
    assert world.server.seen[-1][1]["If-None-Match"] == '"one"'


def test_a_feed_that_fails_is_asked_later_and_later_and_recovers(world):
    world.server.pages["/feed"] = page(b"", status=500)
    assert world.poll().outcome == "failed"
    (state,) = world.store.feeds()
    assert state.next_poll - world.now == 2 * HOUR
    assert world.poller.poll_due() == []
    world.now += HOUR
    world.shows(OLD)
    assert world.poll().backfill
    (state,) = world.store.feeds()
    assert (state.failures, state.problem) == (0, "")


def test_a_server_that_names_a_wait_is_obeyed_within_reason():
    assert next_wait(60, 0, None) == 60
    assert next_wait(60, 3, None) == 480
    assert next_wait(60, 1, 7200) == 7200
    assert next_wait(60, 1, 1e9) == LONGEST_WAIT
    assert next_wait(60, 10_000, None) == LONGEST_WAIT
    assert next_wait(7 * 86_400, 3, 1e9) == 7 * 86_400


def test_what_could_not_be_published_is_published_later(world):
    world.shows(OLD)
    world.topic.failing = True
    assert world.poll().problem == "the topic is away"
    world.topic.failing = False
    world.now += HOUR
    report = world.poll()
    assert (report.new, report.backfill) == (1, True)


@pytest.mark.parametrize("body", [b"", b"<html><body>Sign in</body></html>"])
def test_what_is_no_feed_fails_and_publishes_nothing(world, body):
    world.server.pages["/feed"] = page(body, Content_Type="text/html")
    report = world.poll()
    assert report.outcome == "failed"
    assert "feed" in report.problem
    assert world.topic.messages == []


def test_the_oldest_entry_is_published_first(world):
    newer = OLD.replace("<guid>1", "<guid>9").replace("1 Oct", "5 Oct").replace("Old", "Newer")
    world.shows(newer, OLD)
    world.poll()
    assert [one["title"] for one in world.topic.take()] == ["Old", "Newer"]


def test_a_feed_is_on_the_list_once_and_gone_when_removed(world):
    assert not world.store.add(world.url)
    assert world.store.remove(world.url)
    assert not world.store.remove(world.url)
    assert world.store.feeds() == []
    assert world.poller.poll_due() == []


def test_a_feed_removed_while_it_is_polled_stays_removed(world):
    world.shows(OLD)
    (state,) = world.store.feeds()
    world.store.remove(world.url)
    world.poller.poll(state)
    assert world.store.feeds() == []


def test_another_file_is_not_taken_for_the_list(tmp_path):
    (tmp_path / "text").write_bytes(b"not a database, but long enough to look like one" * 40)
    with sqlite3.connect(tmp_path / "other") as other:
        other.execute("CREATE TABLE t (x)")
    other.close()
    for name in ("text", "other"):
        with pytest.raises(FeedError):
            FeedStore(tmp_path / name)
