"""Copies for followers: made once for all who ask, kept for a while, refused without room."""

import shutil
import time
from contextlib import closing
from types import SimpleNamespace

import httpx
import pytest

from index.replica import origin as origins
from index.replica.errors import NoRoomError
from index.replica.origin import KEPT_SECONDS, Origin
from tests.index.replica.served import KEY, Source, served


@pytest.fixture
def source(tmp_path):
    source = Source(tmp_path)
    source.write(("a", "port ship"), ("b", "tide dock"))
    yield source
    source.close()


def asked(origin, above=-1):
    while (copy := origin.checkpoint(above)) is None:
        time.sleep(0.002)
    return copy


def files(directory):
    return [path.name for path in directory.glob("replication-*/*.db")]


def test_one_copy_serves_all_who_ask_until_a_newer_one_is_needed(source):
    with closing(Origin(source.directory)) as origin:
        first = asked(origin)
        source.write(("c", "later"))
        assert asked(origin) is first
        assert asked(origin, above=first.mark.generation).mark.generation == 2
        assert len(files(source.directory)) == 1
        # There is none newer than the newest.
        assert asked(origin, above=2).mark.generation == 2
    assert files(source.directory) == []


def test_a_copy_that_nobody_asks_for_goes_after_an_hour(source):
    now = [0.0]
    with closing(Origin(source.directory, clock=lambda: now[0])) as origin:
        asked(origin)
        now[0] = KEPT_SECONDS
        origin.state()
        assert len(files(source.directory)) == 1
        now[0] += 1
        origin.state()
        assert files(source.directory) == []


def test_a_copy_without_room_is_refused_and_made_once_there_is(source, monkeypatch):
    with closing(Origin(source.directory)) as origin:
        with monkeypatch.context() as full:
            full.setattr(origins.shutil, "disk_usage", lambda _: SimpleNamespace(free=10_000))
            with pytest.raises(NoRoomError, match="10,000 are free"):
                asked(origin)
        assert asked(origin).size


def test_two_processes_of_one_directory_do_not_take_each_others_files(source):
    with closing(Origin(source.directory)) as one, closing(Origin(source.directory)) as other:
        asked(one)
        asked(other)
        assert len(files(source.directory)) == 2


def test_copies_and_parts_of_them_come_over_http(source):
    with served(source.directory) as url:
        get = httpx.Client(base_url=url, headers={"X-API-Key": KEY})
        with get:
            assert get.get("/v1/replication").json()["generation"] == 1
            first = get.get("/v1/replication/checkpoint")
            assert (first.status_code, first.headers["Retry-After"]) == (202, "1")
            while (whole := get.get("/v1/replication/checkpoint")).status_code == 202:
                time.sleep(0.01)
            tag = whole.headers["ETag"]
            part = get.get(
                "/v1/replication/checkpoint", headers={"Range": "bytes=100-", "If-Range": tag}
            )
            assert (part.status_code, part.content) == (206, whole.content[100:])
            assert part.headers["Repr-Digest"] == whole.headers["Repr-Digest"]
            other = get.get(
                "/v1/replication/checkpoint", headers={"Range": "bytes=100-", "If-Range": '"x"'}
            )
            assert (other.status_code, other.content) == (200, whole.content)
            gap = get.get("/v1/replication/generations", params={"after": 7, "digest": "x"})
            assert gap.status_code == 409
            assert gap.json()["type"] == "urn:tidegraph:problem:checkpoint_needed"


def test_what_cannot_be_read_is_told_and_the_service_goes_on(source):
    with served(source.directory) as url:
        store = source.directory / "index.db"
        moved = store.rename(source.directory / "elsewhere")
        get = httpx.get(f"{url}/v1/replication", headers={"X-API-Key": KEY})
        assert (get.status_code, get.json()["type"]) == (503, "urn:tidegraph:problem:store_error")
        shutil.move(moved, store)
        get = httpx.get(f"{url}/v1/replication", headers={"X-API-Key": KEY})
        assert get.status_code == 200
