"""The vector index of a process: chosen by settings, followed, lost and found again."""

import socket
import threading
import time

import pytest

from deploy.assembly import vectors
from deploy.doctor import _vectors as examined
from deploy.errors import UsageError
from deploy.settings import Settings
from index.vectors.protocol import FollowFailure
from tests.index.simple import Feed, commit, open_writer
from tests.index.vectors.server import serving

KEY = "s3cret-key-of-a-test"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until(holds, seconds=20.0):
    """Wait until something holds; fail loudly where it does not."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


@pytest.fixture
def writer(tmp_path):
    made = open_writer(tmp_path)
    commit(made, [Feed().upsert(key, f"alpha {key}\nbeta {key}") for key in "abc"])
    yield made
    made.close()


def settings(tmp_path, port, **more) -> Settings:
    values = {"data": tmp_path, "qdrant_url": f"http://127.0.0.1:{port}", "vectors_exact": 0}
    return Settings(**(values | more))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"vectors": "exact", "qdrant_url": "http://127.0.0.1:1"}, "exact"),
        ({"qdrant_url": "http://127.0.0.1:1"}, "qdrant"),
        ({"vectors": "edge"}, "edge"),
        ({}, "edge"),
    ],
)
def test_settings_choose_the_index(values, expected):
    if expected == "edge":
        pytest.importorskip("qdrant_edge", reason="the extra `edge` is not installed")
    assert vectors.kind(Settings(**values)) == expected


def test_qdrant_without_an_address_is_a_usage_error():
    with pytest.raises(UsageError, match="--qdrant"):
        vectors.kind(Settings(vectors="qdrant"))


def test_a_server_that_is_lost_is_told_and_followed_again_when_it_is_back(
    tmp_path, writer, monkeypatch
):
    monkeypatch.setattr(vectors, "LOOK_EVERY", 0.05)
    port, reports = free_port(), []
    with vectors.kept(settings(tmp_path, port), writer.latest, reports.append) as kept:
        until(lambda: kept.status(1).problem)
        assert isinstance(reports[0], FollowFailure)
        assert kept.status(1).generation is None
        for _ in range(2):  # the second server is a new, empty one
            with serving(port):
                until(lambda: kept.status(1).points == 6 and not kept.status(1).problem)
                assert kept.status(1).lag == 0
            until(lambda: kept.status(1).problem)


def test_an_index_at_the_end_lets_a_bounded_run_end(tmp_path, writer):
    with (
        serving() as server,
        vectors.kept(
            settings(tmp_path, server.server_address[1]), writer.latest, lambda _: None
        ) as kept,
    ):
        kept.reached(writer.latest(), threading.Event())
        assert kept.status(1).points == 6
        found = vectors.checks(settings(tmp_path, server.server_address[1]), lambda _: None)
        assert [check.name for check in found if not check.ok] == []


def test_an_index_that_builds_its_graph_is_told(tmp_path, writer, monkeypatch):
    building = True
    monkeypatch.setattr(vectors, "LOOK_EVERY", 0.05)
    monkeypatch.setattr("index.vectors.qdrant.QdrantIndex.settle", lambda _: building)
    with (
        serving() as server,
        vectors.kept(
            settings(tmp_path, server.server_address[1]), writer.latest, lambda _: None
        ) as kept,
    ):
        until(lambda: kept.status(1).building)
        building = False
        until(lambda: not kept.status(1).building)


def test_a_small_store_makes_no_folder_for_the_engine(tmp_path, writer):
    pytest.importorskip("qdrant_edge", reason="the extra `edge` is not installed")
    with vectors.kept(Settings(data=tmp_path), writer.latest, lambda _: None) as kept:
        kept.reached(writer.latest(), threading.Event())
        assert kept.similar.mark() is None
    assert not (tmp_path / "vectors").exists()


def test_the_engine_follows_where_it_is_chosen(tmp_path, writer):
    pytest.importorskip("qdrant_edge", reason="the extra `edge` is not installed")
    chosen = Settings(data=tmp_path, vectors="edge", vectors_exact=0)
    with vectors.kept(chosen, writer.latest, lambda _: None) as kept:
        kept.reached(writer.latest(), threading.Event())
        assert kept.status(1).points == 6
        with vectors.beside(chosen, follows=False) as other:
            assert other is None


def test_the_doctor_tells_what_is_wrong_with_it(tmp_path, writer):
    down = examined(settings(tmp_path, free_port()))
    assert (down.level, "refused" in down.detail) == ("fail", True)
    with serving(key=KEY) as server:
        port = server.server_address[1]
        wrong = examined(settings(tmp_path, port, qdrant_api_key="wrong-one"))
        assert (wrong.level, "API key" in wrong.detail, "wrong-one" in wrong.detail) == (
            "fail",
            True,
            False,
        )
        assert examined(settings(tmp_path, port, qdrant_api_key=KEY)).level == "ok"
    lacking = tmp_path / "absent.pem"
    assert examined(settings(tmp_path, port, qdrant_ca_file=lacking)).level == "fail"
