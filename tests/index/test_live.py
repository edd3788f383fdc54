"""Communities that follow the writer's stream: restarts, failures, followers, full runs."""

import gzip
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from index import batch as batches
from index.communities.adopt import Adoption
from index.communities.dynamic import DynamicCommunities, DynamicSettings
from index.communities.fullrun import GroupingSettings, full_run
from index.communities.hierarchy import Hierarchy
from index.communities.leaves import Leaves
from index.communities.pruning import PruningSettings
from index.counts.delta import chunk_delta
from index.errors import NegativeCountError, StoreError
from index.store import communities, generations, lineage, meta
from index.store.connection import STORE_NAME, open_readonly, open_writable
from index.store.follower import Follower
from index.verify import verify
from index.writer import Writer
from tests.index.simple import FINGERPRINT, Feed, commit, open_writer
from tests.index.test_writer import counted, naive, same_hierarchy, same_snapshot

WHOLE = PruningSettings(remove_ego=False, weakest_percent=10.0)
GROUPING = GroupingSettings(max_size=4, pruning=WHOLE)
SMALL = DynamicSettings(max_size=4)
WORDS = st.integers(0, 11).map(lambda n: f"word{n}")
TEXT = st.lists(st.lists(WORDS, min_size=2, max_size=5).map(" ".join), min_size=1, max_size=4).map(
    "\n".join
)
KEYS = st.sampled_from("abcdefgh")
STEP = st.one_of(
    st.tuples(st.just("upsert"), KEYS, TEXT),
    st.tuples(st.just("upsert"), KEYS, TEXT),
    st.tuples(st.just("delete"), KEYS),
)
EVENT = st.one_of(
    st.lists(STEP, min_size=1, max_size=6),
    st.lists(STEP, min_size=1, max_size=6),
    st.sampled_from(["run", "restart", "fail"]),
)
STORIES = [
    "oil ship port\noil ship port crane",
    "oil ship crane\nport crane ship",
    "crew storm tide\ncrew storm tide wind",
    "storm tide wind\ncrew wind storm",
]
NOTHING = np.zeros(0, np.int32), np.zeros(0, np.int64)
GALE = "oil gale port\noil gale crane\noil gale ship"


def opened(directory: Path) -> Writer:
    return Writer.open(directory, fingerprint=FINGERPRINT, dynamic=SMALL)


def run(writer: Writer, grouping: GroupingSettings = GROUPING) -> None:
    """A full run, adopted whatever it gains."""
    found = full_run(writer.live.begin_run(grouping.pruning), grouping)
    writer.adopt(found, writer.generation.sums, grouping.pruning)


def started(directory: Path) -> tuple[Writer, Feed]:
    """A writer with four stories and their communities."""
    writer, feed = opened(directory), Feed()
    commit(writer, [feed.upsert(f"d{i}", text) for i, text in enumerate(STORIES)])
    run(writer)
    assert len(writer.latest().hierarchy.ids) >= 2
    return writer, feed


def verified(directory: Path) -> None:
    report = verify(directory)
    assert report.ok, [check for check in report.checks if not check.ok]


def failing_commit(writer: Writer, feed: Feed) -> None:
    """A commit that fails after counts and communities were changed in memory."""
    with pytest.MonkeyPatch.context() as patch, suppress(RuntimeError):
        patch.setattr(generations, "insert", _boom)
        commit(writer, [feed.upsert("z", "word0 word1 word2 word3 word99")])
        pytest.fail("the commit must fail")


def _boom(*_, **__):
    raise RuntimeError("power cut")


@given(events=st.lists(EVENT, min_size=1, max_size=10))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_counts_and_communities_hold_through_runs_restarts_and_failures(events, tmp_path_factory):
    directory = tmp_path_factory.mktemp("store")
    writer, feed, alive = opened(directory), Feed(), {}
    told, grown = {}, []
    follower = Follower.open(directory)
    try:
        for event in events:
            if event == "run":
                run(writer)
            elif event == "restart":
                writer.close()
                writer = opened(directory)
            elif event == "fail":
                failing_commit(writer, feed)
            else:
                commit(writer, list(_arrivals(event, feed, alive)))
            assert counted(writer) == naive(alive)
            follower.refresh()
            same_snapshot(writer.latest(), follower.latest())
            grown += naive_growth(told, writer.latest())
            assert growth_in(directory) == grown
            verified(directory)
    finally:
        follower.close()
        writer.close()


def growth_in(directory):
    """All that the lineage of a store tells of sizes."""
    with closing(open_readonly(directory / STORE_NAME)) as store:
        return store.execute(
            "SELECT generation, kind, community, shared FROM lineage"
            " WHERE kind IN ('growth', 'decline') ORDER BY generation, community"
        ).fetchall()


def naive_growth(told, snapshot):
    """What a generation adds, from the members of every community; ``told``: sizes told so far."""
    events = []
    for community in snapshot.hierarchy.ids.tolist():
        size = len(snapshot.hierarchy.members(community))
        before = told.setdefault(community, size)
        if size >= 2 * before or size <= before / 2:
            told[community] = size
            kind = "growth" if size > before else "decline"
            events.append((snapshot.generation, kind, community, size))
    return events


def _arrivals(steps, feed, alive):
    for kind, key, *text in steps:
        if kind == "upsert":
            alive[key] = text[0]
            yield feed.upsert(key, text[0])
        else:
            alive.pop(key, None)
            yield feed.delete(key)


STEPS = {
    "documents": (batches, "insert"),
    "withdrawal": (batches.documents, "withdraw"),
    "changes": (batches, "record_changes"),
    "dead letters": (batches.dead_letters, "insert"),
    "communities": (communities, "write"),
    "positions": (meta, "write_positions"),
    "generation": (generations, "insert"),
    "hierarchy": (DynamicCommunities, "_name"),
}


@pytest.mark.parametrize("step", STEPS)
def test_a_failure_at_any_step_leaves_the_old_state_and_the_next_batch_commits(
    step, tmp_path, monkeypatch
):
    writer, feed = started(tmp_path)
    follower = Follower.open(tmp_path)
    before, head, grouped = counted(writer), writer.latest().head, writer.latest().hierarchy
    batch = [feed.upsert("d0", "tide oil wave\nwave oil"), feed.delete("d1")]
    with monkeypatch.context() as patch:
        patch.setattr(*STEPS[step], _boom)
        with pytest.raises(RuntimeError, match="power cut"):
            commit(writer, batch)
    assert writer.latest().head == head
    assert counted(writer) == before
    assert not follower.refresh()
    verified(tmp_path)
    commit(writer, batch)
    follower.refresh()
    same_snapshot(writer.latest(), follower.latest())
    verified(tmp_path)
    assert writer.generation.writer_epoch == 2, "the log says where it began anew"
    assert set(grouped.ids.tolist()) & set(writer.latest().hierarchy.ids.tolist())
    follower.close()
    writer.close()


@pytest.mark.parametrize("step", ["communities", "generation", "hierarchy"])
def test_a_failed_adoption_leaves_the_old_communities(step, tmp_path, monkeypatch):
    writer, feed = started(tmp_path)
    commit(writer, [feed.upsert("d4", "gale oil crew\ngale oil")])
    before = writer.latest()
    with monkeypatch.context() as patch:
        patch.setattr(*STEPS[step], _boom)
        with pytest.raises(RuntimeError, match="power cut"):
            run(writer)
    assert writer.latest() is before
    verified(tmp_path)
    run(writer)
    assert writer.latest().hierarchy.epoch == before.hierarchy.epoch + 1
    verified(tmp_path)
    writer.close()


def test_a_refused_delta_tells_what_led_to_it_and_the_next_batch_is_counted_anew(tmp_path):
    writer, feed = started(tmp_path)
    before = counted(writer)
    oil = writer.latest().concept("oil")
    writer.counts.apply(chunk_delta([], [np.array([oil], np.int32)] * 2))
    with pytest.raises(NegativeCountError, match=r"'oil'.*generation 2.*these name it: d0"):
        commit(writer, [feed.delete("d0"), feed.delete("d1")])
    assert counted(writer) == before
    commit(writer, [feed.delete("d0")])
    verified(tmp_path)
    writer.close()


def test_a_hundred_deletions_in_one_batch_are_one_update(tmp_path):
    writer, feed = started(tmp_path)
    commit(writer, [feed.upsert(f"x{i}", f"oil word{i % 7} ship") for i in range(100)])
    steps = []
    real = DynamicCommunities.apply
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            DynamicCommunities, "apply", lambda self, *a: (steps.append(1), real(self, *a))[1]
        )
        report = commit(writer, [feed.delete(f"x{i}") for i in range(100)])
    assert len(steps) == 1
    assert report.chunks_retracted == 100
    verified(tmp_path)
    writer.close()


def test_every_generation_reports_the_work_of_its_communities(tmp_path):
    writer, feed = started(tmp_path)
    report = commit(writer, [feed.upsert("d4", GALE)])
    assert report.work.ties_changed > 0
    assert report.work.carried == 0
    assert report.concepts_moved >= 1
    quiet = commit(writer, [feed.upsert("d4", GALE)])
    assert (quiet.work.moves, quiet.concepts_moved) == (0, 0)
    writer.close()


def test_a_follower_that_missed_generations_catches_up_by_what_changed(tmp_path):
    writer, feed = started(tmp_path)
    follower = Follower.open(tmp_path)
    for number in range(5):
        commit(writer, [feed.upsert(f"n{number}", f"oil new{number} gale\nnew{number} gale")])
    run(writer)
    commit(writer, [feed.delete("n0"), feed.delete("n1")])
    follower.refresh()
    same_snapshot(writer.latest(), follower.latest())
    fresh = Follower.open(tmp_path)
    same_hierarchy(fresh.latest().hierarchy, follower.latest().hierarchy)
    fresh.close()
    follower.close()
    writer.close()


def test_a_batch_writes_the_rows_of_changed_communities_alone(tmp_path):
    writer, feed = started(tmp_path)
    commit(writer, [feed.upsert("d4", GALE)])
    generation = writer.latest().generation
    connection = open_readonly(tmp_path / STORE_NAME)
    changed, total = connection.execute(
        "SELECT sum(changed = ?), count(*) FROM communities WHERE died IS NULL", (generation,)
    ).fetchone()
    connection.close()
    assert 0 < changed < total
    writer.close()


def test_a_store_of_schema_1_is_brought_to_the_present_one(tmp_path):
    golden = Path(__file__).parent / "golden" / "schema1.db.gz"
    (tmp_path / STORE_NAME).write_bytes(gzip.decompress(golden.read_bytes()))
    with pytest.raises(StoreError, match="tidegraph index"):
        open_readonly(tmp_path / STORE_NAME)
    writer = open_writer(tmp_path)
    assert counted(writer) == naive(
        {"a": "oil ship port", "b": "oil ship port", "c": "crew storm tide"}
    )
    assert writer.latest().hierarchy.levels == (2,)
    verified(tmp_path)
    commit(writer, [Feed(first=5).upsert("d5", "oil ship gale")])
    run(writer)
    verified(tmp_path)
    writer.close()


def test_verify_notices_a_member_in_the_wrong_community(tmp_path):
    writer, _ = started(tmp_path)
    grouped = writer.latest().hierarchy
    first = int(grouped.members(int(grouped.ids[grouped.level == 0][0]))[0])
    other = int(grouped.ids[grouped.level == 0][1])
    writer.close()
    connection = sqlite3.connect(tmp_path / STORE_NAME)
    connection.execute("UPDATE membership SET leaf = ? WHERE concept = ?", (other, first))
    connection.commit()
    connection.close()
    broken = {check.name for check in verify(tmp_path).checks if not check.ok}
    assert broken & {"communities", "communities connected"}


def test_what_became_of_a_community_and_where_it_came_from_can_be_asked(tmp_path):
    writer, feed = started(tmp_path)
    with writer.pin() as view:
        first = view.lineage(1, 10)
    assert (first.born, first.died, [e.kind for e in first.events]) == (2, None, ["birth"])
    commit(writer, [feed.delete(f"d{i}") for i in range(4)])
    with writer.pin() as view:
        gone = view.lineage(1, 10)
        assert view.lineage(4711, 10) is None
        assert view.lineage(1, 1).more
    assert gone.died == 3
    assert [e.kind for e in gone.events] == ["death", "birth"]
    assert gone.became == ()
    writer.close()


def test_growth_is_told_when_a_size_has_doubled_and_decline_when_it_has_halved(tmp_path):
    """Since it was last told, not since the batch before; two steps of a generation are one."""
    store = open_writable(tmp_path / STORE_NAME)
    before = Hierarchy.empty(9)
    sizes = [(4,), (5,), (3,), (7,), (8,), (4, 8), (8, 4), (4,), (3,), (2,)]
    for generation, steps in enumerate(sizes, 1):
        adoptions = [Adoption(one_of(size), NOTHING, (), (), 2) for size in steps]
        communities.write(store, before, adoptions, generation)
        before = adoptions[-1].hierarchy
    told = lineage.read(store, 1, 10)
    store.close()
    assert [(e.generation, e.kind, e.shared) for e in told.events[::-1]] == [
        (5, "growth", 8),
        (7, "decline", 4),
        (10, "decline", 2),
    ]


def one_of(size):
    """A hierarchy of one community."""
    leaf = np.where(np.arange(9) < size, 1, Hierarchy.NONE)
    columns = np.array([1]), np.array([0], np.int16), np.array([0]), np.array([size], np.int32)
    return Hierarchy(1, *columns, Leaves(leaf))


def test_a_growth_that_was_not_told_is_found(tmp_path):
    writer, _ = started(tmp_path)
    writer.close()
    store = sqlite3.connect(tmp_path / STORE_NAME)
    store.execute("UPDATE communities SET told = 1 WHERE id = 1")
    store.commit()
    store.close()
    assert [c.name for c in verify(tmp_path).checks if not c.ok] == ["community growth"]


def test_lines_of_descent_are_followed_through_splits_and_merges(tmp_path):
    writer, _ = started(tmp_path)
    store = sqlite3.connect(tmp_path / STORE_NAME)
    store.executemany(
        "INSERT INTO lineage VALUES (?, ?, ?, ?, ?)",
        [
            (5, "split", 2, 1, 3),
            (6, "merge", 1, 7, 4),
            (8, "merge", 7, 9, 4),
            (9, "death", 9, 0, 2),
        ],
    )
    store.commit()
    store.close()
    with writer.pin() as view:
        assert view.lineage(2, 10).came_from == (1,)
        told = view.lineage(1, 10)
    assert told.became == (7, 9)
    assert [(e.kind, e.community) for e in told.events] == [
        ("merge", 1),
        ("split", 2),
        ("birth", 1),
    ]
    writer.close()


def test_lineage_is_bounded_and_forgets_the_oldest_with_those_who_died_before(tmp_path):
    writer, feed = started(tmp_path)
    commit(writer, [feed.delete(f"d{i}") for i in range(4)])
    store = sqlite3.connect(tmp_path / STORE_NAME)
    store.executemany(
        "INSERT INTO lineage VALUES (70, 'birth', ?, 0, 3)", [(n,) for n in range(100, 105)]
    )
    store.execute("UPDATE generations SET id = id + 60")
    lineage.prune(store, 63, kept=5)
    assert store.execute("SELECT count(*) FROM lineage").fetchone()[0] > 5, "acts in few"
    lineage.prune(store, 64, kept=5)
    assert store.execute("SELECT count(*) FROM lineage").fetchone()[0] == 5
    assert store.execute("SELECT count(*) FROM communities").fetchone()[0] == 0
    store.commit()
    store.close()
    writer.close()
