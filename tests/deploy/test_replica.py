"""Followers on other hosts as users run them, and what is told of how far they are behind."""

import json
import signal
import threading
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from deploy.assembly.replica import Following, StepFailure, check, origin
from deploy.cli.app import app
from deploy.errors import UsageError
from deploy.settings import Settings
from deploy.telemetry.metrics import Metrics
from deploy.telemetry.observe import Telemetry
from index.errors import StoreError
from index.replica.errors import OtherAnalyzerError, ReplicaError
from index.replica.replica import Step
from index.store.lock import FOLLOWS_NAME
from index.types import Millis
from query.service.status import Operations, StatusReport
from stream.log import LogProducer
from stream.source import Message
from tests.deploy.test_processes import DOCUMENTS, PATIENCE, Background, until
from tests.index.replica.twins import rows
from tests.index.simple import FINGERPRINT, open_writer

KEY = "sesame"


def produce(place: Path, *documents: object) -> None:
    with closing(LogProducer(place / "writer" / "log.db")) as producer:
        producer.publish(
            "documents", [Message(None, json.dumps(one).encode()) for one in documents]
        )


def follows(url: str) -> dict[str, object]:
    found = httpx.get(f"{url}/v1/status", timeout=PATIENCE).json()
    return {**found["operations"]["follows"], "degraded": found["operations"]["degraded"]}


def documents(url: str, key: str = "") -> list[object]:
    found = httpx.get(
        f"{url}/v1/documents", timeout=PATIENCE, headers={"X-API-Key": key} if key else {}
    )
    listed: list[object] = found.json()["documents"]
    return listed


def test_a_follower_is_as_the_writer_and_answers_without_it(tmp_path: Path) -> None:
    (tmp_path / "writer").mkdir()
    produce(tmp_path, *DOCUMENTS, "no document")
    exact = ["--port", "0", "--set", "vectors=exact"]
    writer = Background("run", *exact, "--api-key", KEY, "--data", "writer", cwd=tmp_path)
    follower = None
    try:
        address = writer.url()
        given = ["--follow", address, "--set", f"follow_key={KEY}", "--data", "follower"]
        follower = Background("serve", *exact, *given, cwd=tmp_path)
        url = follower.url()
        edited = DOCUMENTS[0] | {"text": "The Tannock Bridge was closed by Ada Moss."}
        produce(tmp_path, edited, {"id": "d1", "op": "delete"})
        until(lambda: rows_alike(tmp_path))
        until(lambda: documents(url) == documents(address, KEY))
        assert follows(url)["behind_generations"] == 0
        assert follows(url)["degraded"] == []
        writer.stop(signal.SIGKILL)
        until(lambda: follows(url)["problem"])
        told = follows(url)
        assert told["degraded"] == ["writer"]
        assert float(str(told["behind_seconds"])) > 0
        assert len(documents(url)) == len(DOCUMENTS) - 1
        assert KEY not in follower.log.read_text("utf-8")
    finally:
        writer.stop(signal.SIGKILL)
        if follower is not None:
            assert follower.stop() == 0


def rows_alike(place: Path) -> bool:
    """Whether the writer has read the whole topic and the follower has the same."""
    if not (place / "follower" / "index.db").exists():
        return False
    found = rows(place / "writer")
    return found["positions"] == [repr(("documents", 0, 15))] and found == rows(place / "follower")


def test_a_follower_is_promoted_by_a_command(tmp_path: Path) -> None:
    open_writer(tmp_path).close()
    (tmp_path / FOLLOWS_NAME).write_text("http://writer", "utf-8")
    done = CliRunner().invoke(app, ["promote", "--data", str(tmp_path)])
    assert done.exit_code == 0
    assert "follows http://writer no more" in done.stderr
    open_writer(tmp_path).close()


class FakeReplica:
    """Steps as they are told; ``newest`` as the writer would have said."""

    newest: int | None = None
    fetching = False

    def __init__(self, *results: object) -> None:
        self.results = list(results)

    def step(self, *_: object) -> object:
        result = self.results.pop(0)
        if isinstance(result, Exception):
            raise result
        self.newest = result.generation
        return result

    def fits(self, _: object) -> bool:
        return self.newest is not None


class FakeRemote:
    url = "http://writer"


def following(now: list[float], *results: object) -> tuple[Following, list[object]]:
    told: list[object] = []
    replica = FakeReplica(*results)
    return (
        Following(
            replica,
            FakeRemote(),
            FINGERPRINT,
            told.append,
            clock=lambda: now[0],
            now=lambda: Millis(1_000_000),
        ),
        told,
    )


def test_seconds_behind_count_from_the_last_time_that_it_was_level():
    now = [100.0]
    follower, told = following(now, Step("changes", 8, 5), Step("level", 8), ReplicaError("away"))
    before = follower.status(7, Millis(990_000))
    assert (before.generation, before.behind_generations, before.behind_seconds) == (None, None, 10)
    follower._step()
    assert follower.status(7, Millis(0)).behind_generations == 1
    now[0] = 105.0
    assert follower.status(8, Millis(0)).behind_seconds == 5
    follower._step()
    now[0] = 165.0
    assert follower.status(8, Millis(0)).behind_seconds == 60
    assert told == [Step("changes", 8, 5)]


def test_what_cannot_be_followed_is_told_and_tried_again_until_it_is_to_stop():
    now = [100.0]
    results = ReplicaError("away"), StoreError("disk"), Step("level", 3), Step("level", 3)
    follower, told = following(now, *results)

    waits: list[float] = []

    class Stop(threading.Event):
        def wait(self, seconds=None):
            waits.append(seconds)
            now[0] += seconds
            return len(waits) > 4

    follower.run(Stop())
    assert told == [StepFailure("away", 1.0), StepFailure("disk", 2.0)]
    assert waits == [0.5, 1.0, 2.0, 0.5, 0.5]
    assert follower.status(3, None).problem == ""


def test_a_follower_without_a_store_waits_for_one_but_not_for_one_that_it_cannot_answer_from():
    now, stop = [100.0], threading.Event()
    stop.wait = lambda seconds: now.__setitem__(0, now[0] + seconds)
    follower, told = following(now, ReplicaError("away"), Step("checkpoint", 3))
    assert follower.first(stop)
    assert [type(one) for one in told] == [StepFailure, Step]
    follower, _ = following(now, OtherAnalyzerError("another"))
    with pytest.raises(OtherAnalyzerError):
        follower.first(stop)
    stop.set()
    assert not following(now)[0].first(stop)


def test_how_far_behind_is_exported_and_what_was_done_is_counted():
    now = [100.0]
    follower, _ = following(now, Step("level", 8))
    follower._step()
    status = StatusReport(
        7, 2, 3, 4, 5, {}, {}, {}, None, None,
        operations=Operations(follows=follower.status(7, Millis(0))),
    )  # fmt: skip
    metrics = Metrics()
    metrics.follow(lambda: status)
    telemetry = Telemetry(metrics)
    telemetry.observe(Step("changes", 8, 500, 0.1))
    telemetry.observe(StepFailure("away", 1.0))
    found = metrics.exposition().decode()
    for line in (
        "tidegraph_follower_up 1.0",
        "tidegraph_follower_behind_generations 1.0",
        "tidegraph_follower_behind_seconds 0.0",
        'tidegraph_follower_steps_total{kind="changes"} 1.0',
        'tidegraph_follower_steps_total{kind="failed"} 1.0',
        'tidegraph_follower_received_bytes_total{kind="changes"} 500.0',
    ):
        assert line in found


@pytest.mark.parametrize(
    "address",
    ["http://user:key@writer", "https://writer?x=1", "http://[::1", "http://a:b"],
)
def test_an_address_that_cannot_be_followed_is_a_mistake_of_usage(address):
    with pytest.raises(UsageError, match="address of the writer's service"):
        check(Settings(follow=address))
    check(Settings(follow="https://writer:8321/below"))


def test_a_store_is_given_to_nobody_where_no_key_is_asked_for(tmp_path):
    for settings, given in (
        (Settings(data=tmp_path), False),
        (Settings(data=tmp_path, api_keys=("k",)), True),
        (Settings(data=tmp_path, host="0.0.0.0", allow_anonymous=True), False),  # noqa: S104
    ):
        with origin(settings) as found:
            assert (found is not None) is given
