"""The commands that keep the list of feeds."""

import json
import logging
import threading

import pytest
import structlog
from typer.testing import CliRunner

from deploy.assembly import feeds
from deploy.assembly.streams import Origin
from deploy.cli.app import app
from deploy.errors import UsageError
from deploy.settings import Settings
from stream.log import LogSource
from tests.stream.feeds.servers import page, served


@pytest.fixture
def _logging_put_back():
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)


def tidegraph(*arguments, code=0):
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == code, done.output
    return done.output


@pytest.mark.usefixtures("_logging_put_back")
def test_a_feed_is_added_listed_and_removed(tmp_path):
    at = ("--data", str(tmp_path))
    assert json.loads(tidegraph("feeds", "list", "--json", *at)) == []
    assert not (tmp_path / "feeds.db").exists()
    tidegraph("feeds", "add", "https://news.example/feed#top", *at)
    (listed,) = json.loads(tidegraph("feeds", "list", "--json", *at))
    assert listed["url"] == "https://news.example/feed"
    assert "not polled yet" in tidegraph("feeds", "list", *at)
    tidegraph("feeds", "remove", "https://news.example/feed", *at)
    tidegraph("feeds", "remove", "https://news.example/feed", *at, code=1)


def test_a_feed_given_to_run_joins_the_list(tmp_path):
    settings = Settings(data=tmp_path)
    assert not feeds.wanted(settings, Origin(), ())
    assert feeds.wanted(settings, Origin(), ("https://news.example/feed",))
    assert feeds.wanted(settings, Origin(), ())


def test_what_is_no_address_or_has_no_topic_is_a_mistake_of_use(tmp_path):
    settings = Settings(data=tmp_path)
    for origin, given in ((Origin(), "news"), (Origin(tmp_path), "https://news.example/")):
        with pytest.raises(UsageError):
            feeds.wanted(settings, origin, (given,))


def test_a_polled_feed_arrives_in_the_embedded_log(tmp_path):
    settings = Settings(data=tmp_path, feeds_allow_private=True)
    stop, reports = threading.Event(), []

    def observe(report):
        reports.append(report)
        stop.set()

    body = (
        b"<rss version='2.0'><channel><item><title>Dredging halted</title></item></channel></rss>"
    )
    with served({"/feed": page(body)}) as server:
        feeds.wanted(settings, Origin(), (f"{server.url}/feed",))
        feeds.poll(settings, stop, observe)
    assert [report.new for report in reports] == [1]
    source = LogSource(tmp_path / "log.db", ["documents"])
    source.seek({})
    (record,) = source.poll(10, 0)
    source.close()
    assert json.loads(record.value)["title"] == "Dredging halted"
    assert feeds.summary(feeds.states(settings)[0]).startswith("polled")
