"""The static hierarchy: connected, nested, split above its size; ids that last."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.communities.adopt import LineageKind, adopt
from index.communities.connected import broken_communities
from index.communities.hierarchy import Hierarchy
from index.communities.leaves import Leaves
from index.communities.partition import Partition, modularity, partition
from tests.index.communities.graphs import (
    as_networkx,
    broken_by_networkx,
    groups,
    oversize,
    planted,
)

SEEDS = st.integers(0, 10_000)


def rows(*levels):
    return Partition(tuple(np.array(level, np.int32) for level in levels), ())


def adopted(found, n, old=None, next_id=1):
    return adopt(old or Hierarchy.empty(n), found, n, next_id)


@given(SEEDS, st.integers(3, 40))
def test_a_partition_is_nested_connected_and_of_the_right_sizes(seed, max_size):
    u, v, weight, n = planted(seed, topics=4, size=12, between=0.03)
    hierarchy = adopted(partition(u, v, weight, n, max_size=max_size, seed=seed), n).hierarchy
    graph = as_networkx(u, v, weight)
    assert hierarchy.check() == []
    assert broken_by_networkx(hierarchy, graph) == []
    assert list(broken_communities(hierarchy, u, v)) == []
    placed = np.flatnonzero(hierarchy.leaf != Hierarchy.NONE)
    assert placed.tolist() == sorted(graph)
    for level in range(hierarchy.depth):
        row = hierarchy.at_level(level)
        for community in hierarchy.ids[hierarchy.level == level].tolist():
            inside = np.flatnonzero(row == community)
            assert hierarchy.members(community).tolist() == inside.tolist()
    for community in oversize(hierarchy, max_size):
        inner = graph.subgraph(hierarchy.members(community).tolist())
        again = partition(*_columns(inner), n, max_size=max_size, seed=seed)
        assert again.labels[0].max() == 0, "an oversize community that can be split"


def _columns(graph):
    edges = sorted((min(a, b), max(a, b), w) for a, b, w in graph.edges(data="weight"))
    u, v, weight = zip(*edges, strict=True)
    return np.array(u, np.int32), np.array(v, np.int32), np.array(weight, np.float64)


def test_broken_communities_are_found():
    """Two topics without a tie, taken for one community."""
    u, v, weight, n = planted(3, topics=2, size=8, inside=1.0, between=0.0)
    hierarchy = adopted(rows(np.zeros(n)), n).hierarchy
    assert list(broken_communities(hierarchy, u, v)) == [1]
    assert broken_by_networkx(hierarchy, as_networkx(u, v, weight)) == [1]


@given(SEEDS)
def test_modularity_equals_that_of_networkx(seed):
    u, v, weight, n = planted(seed, topics=3, size=8, between=0.05)
    labels = np.random.default_rng(seed).integers(0, 5, n).astype(np.int32)
    graph = as_networkx(u, v, weight)
    graph.add_nodes_from(range(n))
    expected = nx.community.modularity(graph, groups(labels))
    assert modularity(u, v, weight, labels) == pytest.approx(expected, abs=1e-9)


def test_the_planted_topics_are_found_and_the_same_seed_finds_the_same():
    u, v, weight, n = planted(1, topics=6, size=20, inside=0.5, between=0.005)
    first = partition(u, v, weight, n, seed=7)
    again = partition(u, v, weight, n, seed=7)
    assert sorted(map(sorted, groups(first.labels[0]))) == [
        list(range(20 * t, 20 * t + 20)) for t in range(6)
    ]
    for one, other in zip(first.labels, again.labels, strict=True):
        assert (one == other).all()


def test_a_graph_without_edges_has_no_communities():
    nothing = np.zeros(0, np.int32)
    found = partition(nothing, nothing, np.zeros(0), 5)
    assert adopted(found, 5).hierarchy.levels == ()


@given(SEEDS)
def test_ids_last_when_labels_are_permuted(seed):
    u, v, weight, n = planted(seed, topics=4, size=12)
    found = partition(u, v, weight, n, max_size=8, seed=seed)
    first = adopted(found, n)
    rng = np.random.default_rng(seed)
    shuffled = []
    for row in found.labels:
        names = np.append(rng.permutation(int(row.max()) + 1), -1)
        shuffled.append(names[row].astype(np.int32))
    again = adopt(first.hierarchy, Partition(tuple(shuffled), ()), n, first.next_id)
    assert (again.hierarchy.leaf == first.hierarchy.leaf).all()
    assert (again.hierarchy.ids == first.hierarchy.ids).all()
    assert (again.hierarchy.parent == first.hierarchy.parent).all()
    assert len(again.moved[0]) == len(again.lineage) == len(again.deaths) == 0
    assert again.next_id == first.next_id


def test_of_a_split_the_larger_part_keeps_the_id():
    first = adopted(rows([0, 0, 0, 0, 0]), 5)
    second = adopt(first.hierarchy, rows([0, 0, 1, 1, 1]), 5, first.next_id)
    assert second.hierarchy.leaf.tolist() == [2, 2, 1, 1, 1]
    assert second.moved[0].tolist() == [0, 1]
    (event,) = second.lineage
    assert (event.kind, event.community, event.related, event.shared) == ("split", 2, 1, 2)


def test_of_a_merge_the_larger_one_keeps_its_id():
    first = adopted(rows([0, 0, 1, 1, 1]), 5)
    second = adopt(first.hierarchy, rows([0, 0, 0, 0, 0]), 5, first.next_id)
    assert second.hierarchy.leaf.tolist() == [2] * 5
    assert second.deaths == (1,)
    (event,) = second.lineage
    assert (event.kind, event.community, event.related, event.shared) == ("merge", 1, 2, 2)


def test_births_deaths_and_ids_that_are_never_reused():
    first = adopted(rows([0, 0, -1, -1]), 4)
    second = adopt(first.hierarchy, rows([-1, -1, 0, 0]), 4, first.next_id)
    assert second.hierarchy.ids.tolist() == [2]
    assert [event.kind for event in second.lineage] == [LineageKind.BIRTH, LineageKind.DEATH]
    third = adopt(second.hierarchy, rows([0, 0, -1, -1]), 4, second.next_id)
    assert third.hierarchy.ids.tolist() == [3]


def test_a_child_lies_in_the_parent_that_its_concepts_have():
    found = rows([0, 0, 0, 0, 1, 1], [0, 0, 1, 1, -1, -1])
    hierarchy = adopted(found, 6).hierarchy
    assert hierarchy.check() == []
    assert hierarchy.levels == (2, 2)
    assert hierarchy.children(Hierarchy.ROOT).tolist() == [1, 2]
    assert hierarchy.children(1).tolist() == [3, 4]
    assert hierarchy.path(4) == (1, 4)
    assert hierarchy.members(1).tolist() == [0, 1, 2, 3]
    assert hierarchy.members(Hierarchy.ROOT).tolist() == list(range(6))
    assert hierarchy.at_level(1).tolist() == [3, 3, 4, 4, -1, -1]
    assert hierarchy.at_level(9).tolist() == [-1] * 6


def test_new_concepts_belong_nowhere_until_the_next_run():
    hierarchy = adopted(rows([0, 0]), 2).hierarchy.extended(4)
    assert hierarchy.leaf.tolist() == [1, 1, -1, -1]
    assert hierarchy.check() == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"sizes": [9, 2]}, "has 4 concepts, not 9"),
        ({"parent": [0, 7]}, "lies in no living community"),
        ({"level": [0, 3]}, "not one level below"),
        ({"leaf": [1, 1, 5, 2]}, "does not live"),
    ],
)
def test_broken_hierarchies_are_noticed(change, problem):
    whole = {
        "ids": [1, 2],
        "level": [0, 1],
        "parent": [0, 1],
        "sizes": [4, 2],
        "leaf": [1, 1, 2, 2],
    }
    arrays = {name: np.array(column) for name, column in (whole | change).items()}
    leaves = Leaves(arrays.pop("leaf"))
    problems = Hierarchy(epoch=1, leaves=leaves, **arrays).check()
    assert any(problem in text for text in problems)
