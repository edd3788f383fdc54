"""The writer against a naive model, and what must hold after every generation."""

from collections import Counter
from datetime import timedelta
from itertools import combinations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from index.admission import DocumentOutcome
from index.communities.fullrun import GroupingSettings
from index.communities.keeper import CommunityKeeper
from index.communities.pruning import PruningSettings
from index.errors import FingerprintMismatchError, StoreLockedError, WriterFencedError
from index.store import meta
from index.store.follower import Follower
from index.types import Reason, Rejected
from index.verify import verify
from index.writer import Writer
from tests.index.simple import FINGERPRINT, START, Feed, commit, open_writer

WORDS = st.sampled_from(["port", "ship", "crane", "oil", "tide", "dock", "crew", "storm"])
TEXT = st.lists(st.lists(WORDS, min_size=1, max_size=4).map(" ".join), min_size=1, max_size=3).map(
    "\n".join
)
KEYS = st.sampled_from(["a", "b", "c", "d", "e"])
STEP = st.one_of(st.tuples(st.just("upsert"), KEYS, TEXT), st.tuples(st.just("delete"), KEYS))
BATCHES = st.lists(st.lists(STEP, min_size=1, max_size=5), min_size=1, max_size=6)


def naive(documents: dict[str, str]) -> tuple[Counter, Counter]:
    """F and w by concept key, counted from the surviving texts."""
    f, w = Counter(), Counter()
    for text in documents.values():
        for line in text.split("\n"):
            words = sorted(set(line.split()))
            f.update(words)
            w.update(combinations(words, 2))
    return f, w


def counted(writer: Writer) -> tuple[Counter, Counter]:
    """F and w by concept key, as the writer holds them."""
    key = writer.latest().vocabulary.key
    counts = writer.counts
    f = Counter({key(int(x)): int(counts.f[x]) for x in np.flatnonzero(counts.f)})
    w = Counter(
        {tuple(sorted((key(int(u)), key(int(v))))): int(n) for u, v, n in zip(*counts.pairs())}  # noqa: B905
    )
    return f, w


@given(batches=BATCHES)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_sequence_leaves_the_counts_of_the_survivors(batches, tmp_path_factory):
    directory = tmp_path_factory.mktemp("store")
    writer, feed, alive = open_writer(directory), Feed(), {}
    follower = Follower.open(directory)
    try:
        for batch in batches:
            arrivals = []
            for kind, key, *text in batch:
                if kind == "upsert":
                    alive[key] = text[0]
                    arrivals.append(feed.upsert(key, text[0]))
                else:
                    alive.pop(key, None)
                    arrivals.append(feed.delete(key))
            commit(writer, arrivals)
            assert counted(writer) == naive(alive)
            follower.refresh()
            same_snapshot(writer.latest(), follower.latest())
            assert writer.latest().head.totals.documents == len(alive)
        report = verify(directory)
        assert report.ok, [check for check in report.checks if not check.ok]
    finally:
        follower.close()
        writer.close()


def same_snapshot(ours, theirs):
    """Two snapshots show the same living rows; their segments may be cut differently."""
    assert ours.generation == theirs.generation
    assert ours.slots[ours.alive].tolist() == theirs.slots[theirs.alive].tolist()
    assert ours.frequency.tolist() == theirs.frequency.tolist()
    left = ours.chunk_concepts[np.flatnonzero(ours.alive)]
    right = theirs.chunk_concepts[np.flatnonzero(theirs.alive)]
    assert (left != right).nnz == 0
    assert ours.head == theirs.head
    same_hierarchy(ours.hierarchy, theirs.hierarchy)


def same_hierarchy(ours, theirs):
    """Two hierarchies are the same, whoever followed it."""
    assert ours.epoch == theirs.epoch
    for name in ("ids", "level", "parent", "sizes", "leaf"):
        assert getattr(ours, name).tolist() == getattr(theirs, name).tolist(), name


def test_restart_gives_the_same_state(tmp_path):
    writer, feed = open_writer(tmp_path), Feed()
    commit(writer, [feed.upsert("a", "oil ship\nport crane"), feed.upsert("b", "oil port")])
    commit(writer, [feed.delete("a"), feed.upsert("c", "storm oil")])
    before, head = counted(writer), writer.latest().head
    writer.close()
    writer = open_writer(tmp_path)
    assert counted(writer) == before
    assert writer.latest().head == head
    assert writer.positions == {("news", 0): 4}
    writer.close()


def test_replay_of_a_batch_changes_nothing_but_is_told(tmp_path):
    writer = open_writer(tmp_path)
    commit(writer, [Feed().upsert("a", "oil ship")])
    report = commit(writer, [Feed().upsert("a", "oil ship")])
    assert report.outcomes == {DocumentOutcome.DUPLICATE: 1}
    assert counted(writer) == naive({"a": "oil ship"})
    writer.close()


def test_rejected_records_become_dead_letters_once(tmp_path):
    writer = open_writer(tmp_path)
    why = Rejected(Reason.NOT_JSON, "line 1")
    for _ in range(2):
        commit(writer, [Feed().reject(why, b"\xff\x00")])
    from index.store.connection import STORE_NAME, open_readonly
    from index.store.dead_letters import read

    connection = open_readonly(tmp_path / STORE_NAME)
    letters = read(connection)
    connection.close()
    assert [(x.reason, x.record.value) for x in letters] == [("not_json", b"\xff\x00")]
    writer.close()


def test_failed_analysis_keeps_the_former_revision(tmp_path):
    writer, feed = open_writer(tmp_path), Feed()
    commit(writer, [feed.upsert("a", "oil ship")])
    plan = writer.plan([feed.upsert("a", "storm")])
    report = writer.commit(plan, {"a": Rejected(Reason.ANALYSIS_FAILED, "boom")})
    assert report.outcomes[DocumentOutcome.REJECTED] == 1
    assert counted(writer) == naive({"a": "oil ship"})
    writer.close()


def test_a_pinned_view_does_not_move(tmp_path):
    writer, feed = open_writer(tmp_path), Feed()
    commit(writer, [feed.upsert("a", "oil ship")])
    with writer.pin() as view:
        commit(writer, [feed.delete("a")])
        slots, _ = view.full_text(["oil"], 10)
        assert view.chunks(slots.tolist())[0].text == "oil ship"
        assert view.snapshot.alive.tolist() == [True]
    with writer.pin() as view:
        assert len(view.full_text(["oil"], 10)[0]) == 0
        assert view.document("a") is None
        assert view.was_deleted("a")
    writer.close()


def test_second_writer_is_told_who_holds_the_store(tmp_path):
    writer = open_writer(tmp_path)
    with pytest.raises(StoreLockedError, match="process"):
        open_writer(tmp_path)
    writer.close()


def test_fenced_writer_cannot_commit(tmp_path):
    writer = open_writer(tmp_path)
    meta.next_writer_epoch(writer._connection)
    with pytest.raises(WriterFencedError):
        commit(writer, [Feed().upsert("a", "oil")])
    assert counted(writer) == (Counter(), Counter())
    writer.close()


def test_another_fingerprint_is_refused_with_both_named(tmp_path):
    open_writer(tmp_path).close()
    from dataclasses import replace

    with pytest.raises(FingerprintMismatchError, match="reindex"):
        Writer.open(tmp_path, fingerprint=replace(FINGERPRINT, chunking="pages"))


def test_communities_are_found_adopted_and_survive_a_restart(tmp_path):
    writer, feed = open_writer(tmp_path), Feed()
    texts = ["oil ship port", "oil ship port", "crew storm tide", "crew storm tide"]
    commit(writer, [feed.upsert(f"d{i}", text) for i, text in enumerate(texts)])
    whole = PruningSettings(remove_ego=False)
    keeper = CommunityKeeper(writer, GroupingSettings(interval=0.0, pruning=whole))
    reports = list(keeper.finish())
    keeper.close()
    assert len(reports) == 1
    grouped = writer.latest().hierarchy
    assert grouped.levels == (2,)
    groups = {
        frozenset(writer.latest().vocabulary.keys(grouped.members(int(c)))) for c in grouped.ids
    }
    assert groups == {frozenset(["oil", "ship", "port"]), frozenset(["crew", "storm", "tide"])}
    writer.close()
    writer = open_writer(tmp_path)
    assert writer.latest().hierarchy.ids.tolist() == grouped.ids.tolist()
    assert verify(tmp_path).ok
    writer.close()


def test_a_killed_grouping_process_is_replaced(tmp_path):
    writer, feed = open_writer(tmp_path), Feed()
    commit(writer, [feed.upsert("a", "oil ship port"), feed.upsert("b", "oil ship port")])
    keeper = CommunityKeeper(writer, GroupingSettings(interval=0.0))
    keeper._start()
    for process in list(keeper._workers._processes.values()):
        process.kill()
    assert len(list(keeper.finish())) == 1
    keeper.close()
    assert len(writer.latest().hierarchy.ids) > 0
    writer.close()


def test_changes_older_than_the_kept_period_are_forgotten(tmp_path):
    writer, feed = open_writer(tmp_path), Feed()
    commit(writer, [feed.upsert("old", "oil", observed_at=START - timedelta(days=200))])
    for number in range(64):
        commit(writer, [feed.upsert("new", f"oil {number}")])
    with writer.pin() as view:
        assert {change.document_id for change in view.changes(0)} == {"new"}
        assert view.document("old") is not None
    writer.close()


def test_tombstones_older_than_thirty_days_are_forgotten(tmp_path):
    now = [START.timestamp()]
    writer = Writer.open(tmp_path, fingerprint=FINGERPRINT, clock=lambda: now[0])
    feed = Feed()
    commit(writer, [feed.upsert("old", "oil"), feed.upsert("young", "oil")])
    commit(writer, [feed.delete("old")])
    now[0] += 31 * 24 * 3600
    commit(writer, [feed.delete("young")])
    for number in range(64):
        commit(writer, [feed.upsert("new", f"oil {number}")])
    with writer.pin() as view:
        assert not view.was_deleted("old")
        assert view.was_deleted("young")
    writer.close()


def test_disk_space_of_withdrawn_documents_is_given_back(tmp_path):
    writer, feed = open_writer(tmp_path), Feed()
    text = "\n".join(f"oil ship word{n} port{n}" for n in range(200))
    commit(writer, [feed.upsert(f"d{i}", text.replace("word", f"w{i}x")) for i in range(20)])
    commit(writer, [feed.delete(f"d{i}") for i in range(20)])
    pages = writer._connection.execute("PRAGMA page_count").fetchone()[0]
    for number in range(128):
        commit(writer, [feed.upsert("new", f"oil {number}")])
    assert writer._connection.execute("PRAGMA page_count").fetchone()[0] < pages
    assert verify(tmp_path).ok
    writer.close()
