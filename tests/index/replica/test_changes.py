"""Whatever happens to a store, its twin is the same after every file of changes."""

from contextlib import closing, suppress
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from index.errors import StoreError
from index.replica import changes as given_out
from index.replica.changes import write_changes
from index.replica.errors import CheckpointNeededError
from index.replica.mark import Mark
from index.store import changes, dead_letters, documents, generations, lineage
from index.store.connection import open_writable, store_path
from index.store.follower import Follower
from index.types import Reason, Rejected
from index.verify import verify
from index.writer import Writer
from tests.index.replica.served import Source
from tests.index.replica.twins import copied, follow, mark, rows
from tests.index.simple import FINGERPRINT, START, Feed, commit
from tests.index.test_live import GALE, STEP, opened, run, started
from tests.index.test_writer import same_snapshot

REJECT = st.tuples(st.just("reject"), st.sampled_from([b"", b"broken", b"x" * 60, b"x" * 999]))
STEPS = st.lists(st.one_of(STEP, STEP, REJECT), min_size=1, max_size=6)
EVENTS = st.lists(
    st.one_of(STEPS, STEPS, st.sampled_from(["run", "restart", "follow"])), max_size=9
)


FORGETTING = ("dead_letters", "tombstones", "generations", "lineage", "communities")


def arrivals(feed, steps):
    for kind, *more in steps:
        if kind == "reject":
            yield feed.reject(Rejected(Reason.NOT_JSON, "broken"), *more)
        else:
            yield (feed.upsert if kind == "upsert" else feed.delete)(*more)


@pytest.fixture(scope="module", autouse=True)
def forgetful():
    """Stores that forget what is old after a few generations, as real ones do after many."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (generations, lineage, changes, given_out):
            patch.setattr(module, "TIDIED_EVERY", 2)
        patch.setattr("index.writer.TIDIED_EVERY", 2)
        patch.setattr(generations, "KEPT", 12)
        patch.setattr(dead_letters, "KEPT", 4)
        patch.setattr(dead_letters, "KEPT_BYTES", 100)
        patch.setattr(changes, "KEPT_MILLIS", 30 * 60 * 1000)
        patch.setattr(documents, "TOMBSTONE_MILLIS", 3)
        patch.setattr(lineage.prune, "__defaults__", (8,))
        patch.setattr(documents.forget_tombstones, "__defaults__", (None, 12))
        patch.setattr(given_out, "TRACES", 12)
        yield


@given(events=EVENTS)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_twin_that_follows_now_and_then_is_the_same_row_by_row(events, tmp_path_factory):
    source, target = tmp_path_factory.mktemp("store"), tmp_path_factory.mktemp("twin")
    writer, feed = started(source)
    copied(source, target)
    reader = Follower.open(target)
    for event in [*events, "follow"]:
        if event == "restart":
            writer.close()
            writer = opened(source)
        elif event == "run":
            run(writer)
        elif event == "follow":
            follow(source, target)
            assert rows(target) == rows(source)
            reader.refresh()
            same_snapshot(writer.latest(), reader.latest())
        else:
            commit(writer, list(arrivals(feed, event)))
    assert not follow(source, target)
    report = verify(target)
    assert report.ok, [check for check in report.checks if not check.ok]
    reader.close()
    writer.close()


def test_what_a_store_forgets_for_its_age_its_twin_forgets_too(tmp_path):
    """Dead letters, tombstones of deletes, generations, lineage, communities that have ended."""
    source, target = tmp_path / "store", tmp_path / "twin"
    writer, feed = started(source)
    copied(source, target)
    had: dict[str, set[str]] = {}
    for number in range(36):
        text = GALE if number % 2 else "tide gale crew\ntide gale wind"
        edits = feed.upsert("gale", text), feed.upsert(f"k{number}", f"port w{number}")
        refused = feed.reject(Rejected(Reason.NOT_JSON, "broken"))
        commit(writer, [*edits, feed.delete(f"k{number - 1}"), refused])
        if number < 12 and number % 3 == 0:
            run(writer)
        if number % 4 == 0:
            follow(source, target)
            found = rows(target)
            assert found == rows(source)
            for name in FORGETTING:
                had.setdefault(name, set()).update(map(repr, found[name]))
    writer.close()
    for name in FORGETTING:
        ids = {row.split(",")[0] for row in map(repr, rows(target)[name])}
        assert {row.split(",")[0] for row in had[name]} - ids, name


def test_what_expires_and_is_forgotten_goes_from_the_twin_too(tmp_path):
    """Late documents and tombstones among it, by a clock that is set back in between."""
    source, target, now = tmp_path / "store", tmp_path / "twin", [1_800_000_000.0]
    writer = Writer.open(
        source, fingerprint=FINGERPRINT, clock=lambda: now[0], window=10 * 3_600_000
    )
    feed = Feed()
    commit(writer, [feed.upsert("a", "port ship")])
    copied(source, target)
    for hour in range(24):
        now[0] += 0.001 if hour % 5 else -3600
        published = {
            "published_at": START + timedelta(hours=hour),
            "observed_at": START + timedelta(hours=hour),
        }
        commit(
            writer,
            [
                feed.upsert(f"d{hour}", f"port hour{hour}", **published),
                feed.upsert(f"late{hour}", "crane", published_at=START - timedelta(days=9)),
                feed.delete(f"d{hour - 3}"),
            ],
        )
        if hour % 3 == 0:
            follow(source, target)
            assert rows(target) == rows(source)
    assert writer.latest().head.totals.expired
    writer.close()
    assert verify(target).ok


@pytest.fixture
def store(tmp_path):
    writer, feed = started(tmp_path / "store")
    commit(writer, [feed.upsert("a", "port ship")])
    with closing(writer):
        yield tmp_path / "store", lambda: commit(writer, [feed.upsert("a", f"port {feed.next}")])


def test_a_generation_that_is_no_longer_kept_asks_for_a_copy(store, tmp_path):
    directory, edit = store
    old = mark(directory)
    for _ in range(14):
        edit()
    with pytest.raises(CheckpointNeededError, match=f"generation {old.generation} of the follower"):
        write_changes(store_path(directory), old, tmp_path / "given.db", largest=1 << 30)


def test_a_generation_of_another_history_asks_for_a_copy(store, tmp_path):
    directory, edit = store
    edit()
    other = Mark(mark(directory).generation, "0" * 32)
    with pytest.raises(CheckpointNeededError):
        write_changes(store_path(directory), other, tmp_path / "given.db", largest=1 << 30)


def test_changes_beyond_their_limit_ask_for_a_copy(store, tmp_path):
    directory, edit = store
    old = mark(directory)
    edit()
    with pytest.raises(CheckpointNeededError, match="exceeds 40,960 bytes"):
        write_changes(store_path(directory), old, tmp_path / "given.db", largest=40_960)


def test_the_store_itself_cannot_be_changed_by_giving_changes(store, tmp_path):
    directory, edit = store
    old, before = mark(directory), None
    edit()
    before = rows(directory)
    with suppress(CheckpointNeededError):
        write_changes(store_path(directory), old, tmp_path / "given.db", largest=1 << 30)
    assert rows(directory) == before


def test_a_volume_that_fills_leaves_the_twin_as_it_was_and_asks_for_no_copy(tmp_path, monkeypatch):
    source, target = Source(tmp_path / "store"), tmp_path / "twin"
    source.write(("a", "port ship"))
    copied(source.directory, target)
    before = rows(target)
    source.write(("b", "crane oil " * 5000))

    def full(path):
        connection = open_writable(path)
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    with monkeypatch.context() as patch:
        patch.setattr("index.replica.apply.open_writable", full)
        with pytest.raises(StoreError, match="full"):
            follow(source.directory, target)
    assert rows(target) == before
    follow(source.directory, target)
    assert rows(target) == rows(source.directory)
    source.close()
