"""The hierarchy under a stream: every invariant after every batch, whatever comes."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index.communities import arrays
from index.communities.adopt import adopt, changed_communities
from index.communities.dynamic import DynamicCommunities, DynamicSettings
from index.communities.epoch import Epoch
from index.communities.hierarchy import Hierarchy
from index.communities.kernels.edges import all_ties
from index.communities.partition import Partition, modularity, partition
from index.communities.pruning import CountArrays, PruningSettings
from index.counts.delta import chunk_delta
from index.counts.graph import Counts
from index.errors import NegativeCountError
from tests.index.communities.dynamics import Topics, flat, graph_of, validate

MAX_SIZE = 8
PRUNING = PruningSettings(remove_ego=False, weakest_percent=20.0)
SETTINGS = DynamicSettings(max_size=MAX_SIZE)
LEAST, MULTIPLE = 2_000, 20
"""Edges scanned in a batch at most: this and so many times the degrees of its frontier."""


def started(chunks, dynamic=SETTINGS):
    """Counts of the chunks, and the hierarchy over them, from nothing."""
    counts = Counts()
    counts.apply(chunk_delta(chunks, []))
    arrays = CountArrays.of(counts, counts.concept_count, PRUNING)
    epoch = Epoch.of(arrays, PRUNING, 1)
    empty = Hierarchy.empty(counts.concept_count)
    communities = DynamicCommunities(counts, empty, epoch, 1, dynamic)
    communities.settle()
    return communities


def stream(seed, batches, *, size=10):
    """A living window of chunks: yields (added, removed); now and then all of them go."""
    topics = Topics(seed)
    living = topics.chunks(40)
    yield living, []
    for _ in range(batches):
        fate = topics.rng.random()
        if fate < 0.2:
            topics.turn()
        gone = len(living) if fate > 0.97 else int(topics.rng.integers(0, size))
        added = topics.chunks(int(topics.rng.integers(0, size)))
        removed, living = living[:gone], living[gone:] + added
        yield added, removed


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_every_invariant_holds_after_every_batch(seed):
    batches = stream(seed, 20)
    communities = started(next(batches)[0])
    validate(communities, MAX_SIZE)
    ids = set(communities.hierarchy.ids.tolist())
    for added, removed in batches:
        before = communities.hierarchy
        adoption, work = communities.apply(chunk_delta(added, removed))
        validate(communities, MAX_SIZE)
        assert work.carried == 0
        assert work.scanned <= LEAST + MULTIPLE * work.frontier_degree
        validate_adoption(before, adoption, ids)
        ids |= set(adoption.hierarchy.ids.tolist())


def validate_adoption(before, adoption, ever):
    """What a generation records leads from the hierarchy before to the one after."""
    now = adoption.hierarchy
    leaf = before.extended(len(now.leaf)).leaf.copy()
    concepts, leaves = adoption.moved
    assert (leaf[concepts] != leaves).all()
    leaf[concepts] = leaves
    assert (leaf == now.leaf).all()
    assert set(adoption.deaths) == set(before.ids.tolist()) - set(now.ids.tolist())
    fresh = set(now.ids.tolist()) - set(before.ids.tolist())
    assert not fresh & ever, "an id was used again"
    born = {e.community for e in adoption.lineage if e.kind in ("birth", "split")}
    ended = {e.community for e in adoption.lineage if e.kind in ("death", "merge")}
    assert (born, ended) == (fresh, set(adoption.deaths))
    assert all(i < adoption.next_id for i in now.ids.tolist())
    rows = {i: (before.level_of(i), before.parent_of(i), before.size_of(i)) for i in before.ids}
    changed = [
        i for i in now.ids if rows.get(i) != (now.level_of(i), now.parent_of(i), now.size_of(i))
    ]
    assert changed_communities(before, now).tolist() == changed


def test_two_hundred_batches_with_topics_born_and_dying_keep_the_quality():
    """Modularity of C0 and C2 at least 0.99 of the worst of five static seeds, of C1 0.95.

    0.95 is what other seeds of the static run itself come to there: docs/decisions/0017. And as
    many communities as they, 15 percent of their range aside, where there are a hundred.
    """
    topics = Topics(11, topics=24, words=20)
    living = topics.chunks(900)
    communities = started(living)
    for batch in range(200):
        if batch % 7 == 0:
            topics.turn()
        added, removed = topics.chunks(10), living[:10]
        living = living[10:] + added
        communities.apply(chunk_delta(added, removed))
        if batch % 20 == 19:
            _validate_quality(communities, (0.99, 0.95, 0.99))
    validate(communities, MAX_SIZE)


def _validate_quality(communities, shares=(0.99, 0.97)):
    u, v, weight = all_ties(communities._state)
    weight = weight.astype(np.float64)
    hierarchy = communities.hierarchy
    n = len(hierarchy.leaf)
    rows = [hierarchy.at_level(level) for level in range(hierarchy.depth)]
    static = [partition(u, v, weight, n, seed=seed, max_size=MAX_SIZE).labels for seed in range(5)]
    for level, share in zip(range(len(rows)), shares, strict=False):
        worst = min(modularity(u, v, weight, flat(labels, level)) for labels in static)
        assert modularity(u, v, weight, flat(rows, level)) >= share * worst
        counts = [len(np.unique(labels[level])) - 1 for labels in static if len(labels) > level]
        if min(counts) >= 100:
            found = len(np.unique(rows[level])) - 1
            assert 0.85 * min(counts) <= found <= 1.15 * max(counts)


def test_almost_all_that_a_batch_does_not_touch_stays_where_it_was():
    topics = Topics(21, topics=40, words=20)
    living = topics.chunks(1500)
    communities = started(living, DynamicSettings())
    kept = []
    for _ in range(30):
        added, removed = topics.chunks(5), living[:5]
        living = living[5:] + added
        before = communities.hierarchy
        delta = chunk_delta(added, removed)
        communities.apply(delta)
        quiet = np.setdiff1d(np.flatnonzero(before.leaf != Hierarchy.NONE), delta.concepts)
        kept.append((communities.hierarchy.leaf[quiet] == before.leaf[quiet]).mean())
    assert np.median(kept) >= 0.999
    assert np.mean(kept) >= 0.99


def test_the_same_stream_gives_the_same_partition():
    first, second = (_run(4) for _ in range(2))
    assert (first.leaf == second.leaf).all()
    assert (first.ids == second.ids).all()


def _run(seed):
    batches = stream(seed, 30)
    communities = started(next(batches)[0])
    for added, removed in batches:
        communities.apply(chunk_delta(added, removed))
    return communities.hierarchy


def test_what_the_delta_does_not_touch_keeps_ids_and_members():
    """Two worlds without a common concept: news in one leaves the other as it is."""
    topics = Topics(6, topics=8, common=0)
    communities = started(topics.chunks(120))
    before = communities.hierarchy
    away = [chunk + np.int32(topics.next) for chunk in topics.chunks(60)]
    adoption, _ = communities.apply(chunk_delta(away, []))
    now = adoption.hierarchy
    assert np.isin(before.ids, now.ids).all()
    assert (now.leaf[: len(before.leaf)] == before.leaf).all()


def test_work_follows_the_delta_and_not_the_graph():
    """Ten times the graph, the same news: the edges scanned stay about the same."""
    scanned = []
    for topics_count in (10, 100):
        topics = Topics(3, topics=topics_count, words=20, common=0)
        communities = started(topics.chunks(30 * topics_count))
        topics.topics = topics.topics[:5]
        _, work = communities.apply(chunk_delta(topics.chunks(10), []))
        scanned.append(work.scanned)
    assert scanned[1] <= 3 * scanned[0]


def test_a_concept_in_every_document_costs_no_more_than_the_bound():
    """A hub that is not left out, in graphs of two sizes; its row is seldom searched."""
    for size in (150, 1500):
        topics = Topics(13, topics=size // 10, words=20, common=0)
        chunks = [np.append(chunk + 1, 0) for chunk in topics.chunks(size)]
        living = [np.sort(chunk).astype(np.int32) for chunk in chunks]
        communities = started(living, DynamicSettings())
        for batch in range(20):
            there = slice(5 * batch, 5 * batch + 5)
            _, work = communities.apply(chunk_delta(living[there], living[there][:0]))
            assert work.scanned <= LEAST + MULTIPLE * work.frontier_degree
        if size == 150:
            validate(communities, DynamicSettings().max_size)


@given(st.integers(0, 10_000))
@settings(max_examples=10)
def test_bridges_cut_in_chains_and_rings_are_found(seed):
    """Communities that hang by single ties lose them one after the other."""
    rng = np.random.default_rng(seed)
    n = 60
    ring = [np.sort([i, (i + 1) % n]).astype(np.int32) for i in range(n)]
    communities = started([pair for pair in ring for _ in range(2)], DynamicSettings())
    validate(communities, DynamicSettings().max_size)
    for i in rng.permutation(n).tolist():
        _, work = communities.apply(chunk_delta([], [ring[i]] * 2))
        validate(communities, DynamicSettings().max_size)
        assert work.scanned <= LEAST + MULTIPLE * work.frontier_degree
    assert communities.hierarchy.levels == ()


def test_bonds_without_room_are_counted_anew(monkeypatch):
    monkeypatch.setattr(arrays, "_LEAST_BONDS", 2)
    batches = stream(5, 10)
    communities = started(next(batches)[0])
    for added, removed in batches:
        communities.apply(chunk_delta(added, removed))
        validate(communities, MAX_SIZE)
    assert len(communities._state.bond) > 2


def test_a_bound_on_work_is_kept_and_the_rest_is_carried_to_the_next_batch():
    tight = DynamicSettings(max_size=10_000, work_factor=0, work_floor=200)
    topics = Topics(9, topics=10)
    communities = started(topics.chunks(200), tight)
    carried = []
    for _ in range(400):
        _, work = communities.settle()
        validate(communities, 10_000)
        carried.append(work.carried)
        if not work.carried:
            break
    assert carried[0] > 0
    assert carried[-1] == 0


def test_a_tie_never_cycles():
    """A concept between two equal communities stays where it is, batch after batch."""
    left, right = np.arange(5, dtype=np.int32), np.arange(5, 10, dtype=np.int32)
    between = [np.append(left, 10).astype(np.int32), np.append(right, 10).astype(np.int32)]
    communities = started([left, left, right, right, *between])
    home = int(communities.hierarchy.leaf[10])
    noise = np.array([20, 21], np.int32)
    for batch in range(6):
        delta = chunk_delta([noise], []) if batch % 2 == 0 else chunk_delta([], [noise])
        _, work = communities.apply(delta)
        assert int(communities.hierarchy.leaf[10]) == home
        assert work.moves == 0


def test_a_full_community_takes_in_nobody_who_has_another_way():
    full, other = np.arange(MAX_SIZE, dtype=np.int32), np.arange(10, 15, dtype=np.int32)
    apart = [np.arange(30 + 4 * i, 34 + 4 * i, dtype=np.int32) for i in range(300)]
    communities = started([full] * 8 + [other] * 8 + apart * 2)
    before = communities.hierarchy.leaf.copy()
    assert before[0] != before[14]
    communities.apply(chunk_delta([np.append(full, 14).astype(np.int32)] * 8, []))
    assert (communities.hierarchy.leaf == before).all()
    validate(communities, MAX_SIZE)


def test_who_knows_a_full_community_alone_stands_beside_it_and_breaks_nothing_up():
    one, other = np.arange(MAX_SIZE, dtype=np.int32), np.arange(8, 8 + MAX_SIZE, dtype=np.int32)
    bridges = [np.array([i, 8 + j], np.int32) for i in range(4) for j in range(4)]
    apart = [np.arange(30 + 4 * i, 34 + 4 * i, dtype=np.int32) for i in range(300)]
    communities = started([one] * 8 + [other] * 8 + bridges * 6 + apart * 2)
    before = communities.hierarchy
    assert len(set(before.at_level(0)[:16])) == 1, "one C0"
    assert len(set(before.leaf[:8])) == len(set(before.leaf[8:16])) == 1, "of two full ones"
    _, work = communities.apply(chunk_delta([np.array([0, 1, 2, 20], np.int32)] * 4, []))
    now = communities.hierarchy
    assert (now.leaf[:16] == before.leaf[:16]).all()
    assert now.at_level(0)[20] == before.at_level(0)[0]
    assert now.size_of(int(now.leaf[20])) == 1
    assert work.split == 0
    validate(communities, MAX_SIZE)


def test_a_cut_bridge_splits_and_the_larger_side_keeps_the_id():
    """Even where no work is left for moves: coming apart is put right at once."""
    big, small = np.arange(6, dtype=np.int32), np.arange(6, 10, dtype=np.int32)
    bridge = np.array([5, 6], np.int32)
    idle = DynamicSettings(max_size=100, work_factor=0, work_floor=0)
    counts = Counts()
    counts.apply(chunk_delta([big] * 2 + [small] * 2 + [bridge] * 3, []))
    one = adopt(Hierarchy.empty(10), Partition((np.zeros(10, np.int32),), ()), 10, 5)
    epoch = Epoch(1, 640, 1, 2, np.zeros(0, np.int32))
    communities = DynamicCommunities(counts, one.hierarchy, epoch, one.next_id, idle)
    communities.settle()
    assert communities.hierarchy.ids.tolist() == [5]
    adoption, work = communities.apply(chunk_delta([], [bridge] * 3))
    validate(communities, 100)
    assert work.cut == 1
    assert adoption.hierarchy.leaf.tolist()[:10] == [5] * 6 + [6] * 4
    (event,) = adoption.lineage
    assert (event.kind, event.community, event.related, event.shared) == ("split", 6, 5, 4)


def test_an_emptied_graph_has_no_communities_and_fills_again():
    topics = Topics(2)
    chunks = topics.chunks(60)
    communities = started(chunks)
    adoption, _ = communities.apply(chunk_delta([], chunks))
    assert adoption.hierarchy.levels == ()
    assert (adoption.hierarchy.leaf == Hierarchy.NONE).all()
    communities.apply(chunk_delta(chunks, []))
    validate(communities, MAX_SIZE)
    assert communities.hierarchy.depth > 0


def test_a_refused_delta_changes_nothing():
    communities = started(Topics(5).chunks(40))
    before = communities.hierarchy
    with pytest.raises(NegativeCountError):
        communities.apply(chunk_delta([], [np.array([0, 500], np.int32)]))
    validate(communities, MAX_SIZE)
    assert communities.hierarchy is before


def test_a_static_partition_is_taken_over_with_its_ids():
    """And what has changed since it was computed is put right: gone, new, come apart."""
    topics = Topics(8, topics=8)
    living = topics.chunks(150)
    communities = started(living)
    u, v, weight = all_ties(communities._state)
    n = len(communities.hierarchy.leaf)
    found = partition(u, v, weight.astype(np.float64), n, max_size=MAX_SIZE)
    adoption = adopt(communities.hierarchy, found, n, communities._ledger.next_id)
    counts = communities._counts
    counts.apply(chunk_delta(topics.chunks(20), living[:60]))
    again = DynamicCommunities(
        counts, adoption.hierarchy, communities._epoch, adoption.next_id, SETTINGS
    )
    again.settle()
    validate(again, MAX_SIZE)
    kept = np.isin(again.hierarchy.ids, adoption.hierarchy.ids).mean()
    assert kept > 0.5


def test_a_hub_stays_out_for_an_epoch():
    chunks = [np.append(chunk + 1, 0).astype(np.int32) for chunk in Topics(1).chunks(60)]
    chunks = [np.unique(chunk) for chunk in chunks]
    counts = Counts()
    counts.apply(chunk_delta(chunks, []))
    pruning = PruningSettings()
    epoch = Epoch.of(CountArrays.of(counts, counts.concept_count, pruning), pruning, 1)
    assert epoch.hubs.tolist() == [0]
    communities = DynamicCommunities(
        counts, Hierarchy.empty(counts.concept_count), epoch, 1, SETTINGS
    )
    communities.settle()
    communities.apply(chunk_delta(chunks[:5], []))
    validate(communities, MAX_SIZE)
    assert communities.hierarchy.leaf[0] == Hierarchy.NONE
    assert 0 not in graph_of(counts, epoch)
    assert nx.number_of_nodes(graph_of(counts, epoch)) > 0


def test_a_batch_that_turns_much_over_holds_on_to_its_stories_less():
    topics = Topics(5, topics=12, words=20)
    living = topics.chunks(300)
    communities = started(living)
    held = []
    for gone in (5, 150):
        added = topics.chunks(gone)
        communities.apply(chunk_delta(added, living[:gone]))
        living = living[gone:] + added
        held.append(communities._stick / SETTINGS.stickiness)
    assert held == pytest.approx([1.0, 0.1])


def test_an_upheaval_of_the_whole_window_keeps_the_quality():
    topics = Topics(3, topics=24, words=20)
    living = topics.chunks(400)
    communities = started(living)
    for _ in range(3):
        for _ in range(12):
            topics.turn()
        added, removed = topics.chunks(240), living[:240]
        living = living[240:] + added
        communities.apply(chunk_delta(added, removed))
        _validate_quality(communities)


def test_with_everybody_queued_a_community_within_its_size_is_whole():
    communities = started(Topics(2, topics=6, words=30).chunks(300))
    for added, removed in stream(4, 12):
        communities.apply(chunk_delta(added, removed))
    hierarchy = communities.hierarchy
    anew = DynamicCommunities(
        communities._counts,
        hierarchy,
        communities._epoch,
        communities._ledger.next_id,
        SETTINGS,
        queue_all=True,
    )
    anew.settle()
    split = np.intersect1d(anew.hierarchy.ids, anew.hierarchy.parent)
    assert all(anew.hierarchy.size_of(community) > MAX_SIZE for community in split.tolist())
    validate(anew, MAX_SIZE)
