"""A follower over HTTP: what it does when all is well, and when nothing is."""

import base64
import hashlib
import json
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, contextmanager

import httpx
import pytest

from index.errors import StoreError, StoreLockedError
from index.replica.errors import NoRoomError, OtherAnalyzerError, ReplicaError
from index.replica.origin import Origin
from index.replica.remote import Remote
from index.replica.replica import INCOMING_NAME, Replica, promote
from index.store.connection import SCHEMA_VERSION, store_path
from index.store.follower import Follower
from index.store.lock import FOLLOWS_NAME
from index.verify import verify
from tests.index.replica.served import KEY, Source, scripted, served
from tests.index.replica.twins import copied, mark, rows
from tests.index.simple import FINGERPRINT, open_writer


@pytest.fixture
def source(tmp_path):
    source = Source(tmp_path / "writer")
    source.write(("a", "port ship\ncrane oil"), ("b", "tide dock"), ("c", "storm crew"))
    yield source
    source.close()


@pytest.fixture
def target(tmp_path):
    return tmp_path / "follower"


@contextmanager
def follower(target, url, key=KEY, **more):
    remote = Remote(url, key, sleep=lambda _: time.sleep(0.005), **more)
    with closing(remote), closing(Replica.open(target, url)) as replica:
        yield Steps(replica, remote)


class Steps:
    """A follower and its writer; calling takes a step."""

    def __init__(self, replica, remote):
        self.replica, self.remote = replica, remote

    def __call__(self, fingerprint=FINGERPRINT):
        return self.replica.step(self.remote, fingerprint)


def test_a_follower_begins_with_a_copy_and_is_then_level_after_every_step(source, target):
    with served(source.directory) as url, follower(target, url) as step:
        assert step().kind == "checkpoint"
        assert rows(target) == rows(source.directory)
        with closing(Follower.open(target)) as reader:
            source.write(("a", "port oil\nstorm"), ("b", None), ("d", "tide tide"))
            source.write(("d", None), ("e", "ship dock"))
            after = step()
            assert (after.kind, after.generation) == ("changes", 3)
            assert step().kind == "level"
            assert rows(target) == rows(source.directory)
            reader.refresh()
            with reader.pin() as view:
                assert view.full_text(["storm"], 5)[0].tolist() == [5, 3]
                assert view.was_deleted("b")
        source.write(("b", "back again"))
        step()
        assert rows(target) == rows(source.directory)
        assert verify(target).ok
        assert not list(target.glob("incoming*"))


def test_nobody_gets_the_store_without_the_key(source, target):
    with served(source.directory) as url, follower(target, url, key="guess") as step:
        with pytest.raises(ReplicaError, match="set follow_key"):
            step()
        for path in ("", "/generations?after=0&digest=", "/checkpoint"):
            assert httpx.get(f"{url}/v1/replication{path}").status_code == 401


def test_a_writer_that_is_away_is_told_and_found_again(source, target):
    with served(source.directory) as url, follower(target, url) as step:
        step()
    with follower(target, url) as step, pytest.raises(ReplicaError, match="cannot be read"):
        step()
    source.write(("d", "late news"))
    with served(source.directory) as url, follower(target, url) as step:
        assert step().kind == "changes"
        assert rows(target) == rows(source.directory)


def test_a_writer_that_was_restored_from_a_backup_is_another_history(source, target, tmp_path):
    copied(source.directory, tmp_path / "backup")
    with served(source.directory) as url, follower(target, url) as step:
        step()
        source.write(("d", "what the backup does not hold"))
        step()
    restored = Source(tmp_path / "backup")
    restored.feed.next = source.feed.next
    restored.write(("e", "other news"), ("a", None))
    with served(restored.directory) as url, follower(target, url) as step:
        after = step()
        assert (after.kind, after.generation) == ("checkpoint", 2)
        assert "none that this index holds" in after.why
        assert rows(target) == rows(restored.directory)
        restored.write(("f", "more"))
        assert step().kind == "changes"
    restored.close()


def test_readers_go_on_while_another_store_takes_the_place_of_theirs(source, target, tmp_path):
    other = Source(tmp_path / "other")
    other.write(("x", "quite other"))
    with served(source.directory) as url, follower(target, url) as step:
        step()
    with (
        served(other.directory) as url,
        follower(target, url) as step,
        closing(Follower.open(target)) as reader,
        reader.pin() as before,
    ):
        step()
        assert before.document("a").text.startswith("port")
        with reader.pin() as now:  # opens the store that was replaced, before it looks again
            assert now.document("x") is not None or now.document("a") is not None
        reader.refresh()
        with reader.pin() as now:
            assert now.document("x").text == "quite other"
            assert now.document("a") is None
    other.close()
    assert [path.name for path in target.glob("index*.db")] == ["index-2.db"]


def test_a_copy_that_breaks_off_goes_on_where_it_stood(source, target):
    """Even in another process, as after a kill."""
    source.write(*((f"n{n}", "port ship crane oil tide " * 40) for n in range(50)))
    with closing(Origin(source.directory)) as origin:
        while (copy := origin.checkpoint(-1)) is None:
            time.sleep(0.005)
        whole = copy.path.read_bytes()
    cut = len(whole) // 3

    def answer(request):
        path = request.path.partition("?")[0].removeprefix("/v1/replication")
        if not path:
            return told(source)
        first = int(request.headers.get("Range", "bytes=0-")[6:-1])
        part = whole[first:] if first else whole[:cut]
        headers = {"Content-Length": str(len(whole) - first), "ETag": '"one"', **digest(whole)}
        if first:
            headers["Content-Range"] = f"bytes {first}-{len(whole) - 1}/{len(whole)}"
        return 206 if first else 200, headers, part

    with scripted(answer) as server:
        with follower(target, server.url) as step, pytest.raises(ReplicaError, match="cannot be"):
            step()
        assert 0 < (target / INCOMING_NAME).stat().st_size <= cut
        with follower(target, server.url) as step:
            step()
        assert server.asked[-1][1]["If-Range"] == '"one"'
    assert rows(target) == rows(source.directory)


def told(source, **other):
    """Where a store stands, as its service tells."""
    with closing(Origin(source.directory)) as origin:
        state = origin.state()
    body = {
        "generation": state.mark.generation,
        "digest": state.mark.digest,
        "schema_version": SCHEMA_VERSION,
        "fingerprint": FINGERPRINT.to_json(),
        "store_bytes": state.store_bytes,
    }
    text = json.dumps(body | other).encode()
    return 200, {"Content-Length": str(len(text))}, text


def digest(body):
    text = base64.b64encode(hashlib.sha256(body).digest()).decode()
    return {"Repr-Digest": f"sha-256=:{text}:"}


def body_of(source, since):
    """The file of changes that the writer would send."""
    with closing(Origin(source.directory)) as origin:
        body = origin.changes(since)
        with body.file:
            return body.file.read()


@pytest.fixture
def behind(source, target):
    """A follower's directory that is one generation behind, and the changes that it lacks."""
    copied(source.directory, target)
    (target / FOLLOWS_NAME).write_text("somebody")
    since = mark(target)
    source.write(("a", "edited port"), ("b", None))
    return body_of(source, since)


def sent(body, **other):
    headers = {"Content-Length": str(len(body)), "Tidegraph-Generation": "2", **digest(body)}
    return 200, {k: v for k, v in (headers | other).items() if v is not None}, body


def test_changes_that_are_damaged_on_the_way_are_not_taken_and_asked_for_again(
    behind, target, source
):
    """Cut short, one bit turned, and at last as they are."""
    turned = bytes([behind[0] ^ 1]) + behind[1:]
    half = (*sent(behind)[:2], behind[: len(behind) // 2])
    answers = [half, sent(turned, **digest(behind)), sent(behind)]
    before = rows(target)
    with scripted(lambda _: answers.pop(0)) as server, follower(target, server.url) as step:
        with pytest.raises(ReplicaError, match="cannot be read"):
            step()
        with pytest.raises(ReplicaError, match="damaged"):
            step()
        assert rows(target) == before
        assert step().kind == "changes"
    assert rows(target) == rows(source.directory)


TAMPERED = {
    "a gap": "UPDATE generations SET id = id + 1",
    "a row of a generation": "UPDATE generations SET watermark = watermark + 1",
    "a chunk too few": "DELETE FROM chunks",
    "a document too few": "DELETE FROM documents",
    "other concepts": "UPDATE chunks SET concepts = zeroblob(4)",
    "another analyzer": "UPDATE meta SET value = replace(value, 'simple', 'other')",
    "a table too few": "DROP TABLE lineage",
    "no generation": "DELETE FROM generations",
    "nonsense": "UPDATE chunks SET concepts = 'x', forms = 'y'",
}


@pytest.mark.parametrize("what", TAMPERED)
def test_changes_that_do_not_fit_are_answered_by_a_new_copy(what, behind, source, target, tmp_path):
    file = tmp_path / "changes.db"
    file.write_bytes(behind)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(TAMPERED[what])
        connection.commit()
    body, copies = file.read_bytes(), copy_of(source)

    def answer(request):
        if "/generations" in request.path:
            return sent(body)
        return sent(copies) if "/checkpoint" in request.path else told(source)

    with scripted(answer) as server, follower(target, server.url) as step:
        after = step()
        assert after.kind == "checkpoint"
        assert after.why
    assert rows(target) == rows(source.directory)
    assert verify(target).ok


def copy_of(source):
    with closing(Origin(source.directory)) as origin:
        while (copy := origin.checkpoint(-1)) is None:
            time.sleep(0.005)
        return copy.path.read_bytes()


def test_a_store_of_another_analyzer_or_release_is_left_where_it_is(source, target):
    other = FINGERPRINT.to_json().replace("simple", "another")
    for wrong, words in (
        ({"fingerprint": other}, "tagger: another in the store, simple in the settings"),
        ({"schema_version": SCHEMA_VERSION + 1}, "bring both hosts to one release"),
    ):
        answer = told(source, **wrong)
        with (
            scripted(lambda _, answer=answer: answer) as server,
            follower(target, server.url) as step,
        ):
            with pytest.raises(OtherAnalyzerError, match=words):
                step()
            assert not [path for path, _ in server.asked if "checkpoint" in path]


def test_the_key_goes_to_no_other_address(behind, target):
    with scripted(lambda _: sent(behind)) as elsewhere:
        away = {"Location": f"{elsewhere.url}/v1/replication", "Content-Length": "0"}
        with scripted(lambda _: (307, away, b"")) as server, follower(target, server.url) as step:
            with pytest.raises(ReplicaError, match="redirects, which is not followed"):
                step()
            assert server.asked[0][1]["Authorization"] == f"Bearer {KEY}"
        assert elsewhere.asked == []


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        ({"Content-Length": None, "Transfer-Encoding": "identity"}, "how long|cannot be read"),
        ({"Content-Encoding": "gzip"}, "how long"),
        ({"Tidegraph-Generation": "soon"}, "to which generation"),
        ({"Repr-Digest": None}, "damaged"),
    ],
)
def test_an_answer_that_lacks_what_it_needs_is_refused(headers, words, behind, target):
    with (
        scripted(lambda _: sent(behind, **headers)) as server,
        follower(target, server.url) as step,
        pytest.raises(ReplicaError, match=words),
    ):
        step()


def test_an_answer_larger_than_the_volume_is_not_begun(behind, target):
    answer = sent(behind, **{"Content-Length": str(1 << 60)})
    with (
        scripted(lambda _: answer) as server,
        follower(target, server.url) as step,
        pytest.raises(NoRoomError, match="are to come"),
    ):
        step()


def test_a_writer_that_drips_or_is_silent_is_given_up(behind, target):
    now = iter(range(0, 10**6, 100))
    with (
        scripted(lambda _: sent(behind)) as server,
        follower(target, server.url, clock=lambda: next(now)) as step,
        pytest.raises(ReplicaError, match="bytes a second"),
    ):
        step()
    silent = lambda _: time.sleep(0.5) or sent(behind)  # noqa: E731
    with (
        scripted(silent) as server,
        follower(target, server.url, wait_seconds=0.1) as step,
        pytest.raises(ReplicaError, match="timed out"),
    ):
        step()


def test_the_store_of_a_follower_is_written_by_nobody_else_until_it_is_promoted(source, target):
    with served(source.directory) as url, follower(target, url) as step:
        step()
        with pytest.raises(StoreLockedError, match="is being written by process"):
            Replica.open(target, url)
        with pytest.raises(StoreLockedError):
            promote(target)
    with pytest.raises(StoreError, match="tidegraph promote"):
        open_writer(target)
    assert promote(target) == url
    promoted = Source(target)
    promoted.write(("z", "written here"))
    promoted.close()
    assert verify(target).ok
    with pytest.raises(StoreError, match="holds an index of its own"):
        Replica.open(target, url)
    with pytest.raises(StoreError, match="nothing to promote"):
        promote(target)


def test_what_a_killed_process_left_is_removed_at_the_next_start(source, target):
    with served(source.directory) as url, follower(target, url) as step:
        step()
        shutil.copy(store_path(target), target / "index-2.db")
        (target / "incoming-changes.db").write_bytes(b"half")
        (target / "incoming.db").write_bytes(b"a part of a copy")
        (target / "incoming.db.tag").write_text("of it")
    dead = source.directory / "replication-x"
    dead.mkdir()
    (dead / "0.db").write_bytes(b"half")
    with served(source.directory) as url, follower(target, url) as step:
        source.write(("d", "more"))
        assert step().kind == "changes"
        assert not dead.exists()
    assert {path.name for path in target.glob("in*.db")} == {"index.db"}
    assert not list(source.directory.glob("replication-*"))


def test_a_follower_that_is_killed_while_it_pulls_catches_up_and_is_the_same(source, target):
    """Kill -9 of real processes, under a stream with edits, deletes and a history that breaks."""
    chance = random.Random(8)
    words = ["port", "ship", "crane", "oil", "tide", "dock", "crew", "storm"]
    with served(source.directory) as url:
        for _ in range(2):
            command = [sys.executable, "-m", "tests.index.replica.follower", url, str(target)]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
                assert process.stdout.readline() == "follows\n"
                ends = time.monotonic() + chance.uniform(0.05, 0.4)
                while time.monotonic() < ends:
                    source.write(
                        *(
                            (
                                f"k{chance.randrange(30)}",
                                chance.choice([None, " ".join(chance.choices(words, k=20))]),
                            )
                            for _ in range(5)
                        )
                    )
                process.kill()
        with follower(target, url) as step:
            while step().kind != "level":
                pass
    assert rows(target) == rows(source.directory)
    assert verify(target).ok


@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
def test_what_was_left_of_another_copy_is_no_part_of_the_next(mode, source, target, tmp_path):
    """A process that was killed as it took a copy leaves SQLite's log or journal of it."""
    copied(source.directory, tmp_path / "old")
    target.mkdir()
    with closing(sqlite3.connect(tmp_path / "old" / "index.db", isolation_level=None)) as old:
        old.execute(f"PRAGMA journal_mode = {mode}")
        old.execute("PRAGMA cache_size = 1")
        old.execute("BEGIN")
        old.execute("DELETE FROM documents")
        old.execute("UPDATE generations SET checksum = zeroblob(9999)")
        old.execute("COMMIT" if mode == "WAL" else "SELECT 1")
        left = list((tmp_path / "old").glob("index.db-*"))
        assert left
        for path in left:
            shutil.copy(path, target / path.name.replace("index", "incoming"))
    with served(source.directory) as url, follower(target, url) as step:
        step()
    assert rows(target) == rows(source.directory)
