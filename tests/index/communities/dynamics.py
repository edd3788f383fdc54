"""A recount of everything that the dynamic hierarchy keeps, and streams to try it with."""

from collections import defaultdict

import networkx as nx
import numpy as np

from index.communities.dynamic import _MERGE_BACK
from index.communities.epoch import LEFT_OUT, Epoch
from index.communities.hierarchy import Hierarchy
from index.communities.kernels.state import (
    BONDS,
    CHILD,
    CHILDREN,
    COUNT,
    DEPTH,
    INNER,
    IS_SEEN,
    KEY,
    MARK,
    NEXT_CHILD,
    PARENT,
    SHARED,
    SIZE,
    SUMS,
    TIES,
    VALUE,
)


def graph_of(counts, epoch: Epoch):
    """The weighted graph of an epoch, pair by pair in plain Python."""
    bucket = epoch.buckets(counts.f)
    graph = nx.Graph()
    for u, v, w in zip(*(column.tolist() for column in counts.pairs()), strict=True):
        if LEFT_OUT in (bucket[u], bucket[v]):
            continue
        weight = w * (round(64 * np.log2(w)) - int(bucket[u]) - int(bucket[v]) + epoch.shift)
        if weight >= epoch.threshold:
            graph.add_edge(u, v, weight=int(weight))
    return graph


def validate(dynamic, max_size):
    """Every invariant, against a recount; raises AssertionError."""
    hierarchy, state = dynamic.hierarchy, dynamic._state
    graph = graph_of(dynamic._counts, dynamic._epoch)
    assert hierarchy.check() == []
    placed = np.flatnonzero(hierarchy.leaf != Hierarchy.NONE).tolist()
    assert placed == sorted(graph), "those with a tie belong somewhere, nobody else"
    for community in hierarchy.ids.tolist():
        inside = graph.subgraph(hierarchy.members(community).tolist())
        assert nx.is_connected(inside), f"community {community} came apart"
        children = hierarchy.children(community)
        assert len(children) != 1, f"community {community} has a single child"
        if not len(children) and len(inside) > max_size:
            slot = int(np.flatnonzero(dynamic._ledger.ids == community)[0])
            assert slot in dynamic._stuck, f"community {community} is too large"
        if len(children):
            assert len(inside) > int(_MERGE_BACK * max_size)
    _validate_sums(dynamic, graph)
    assert not state.sums[:, SHARED:].any()
    assert not state.along.any()
    assert not state.concept[:, MARK].any()
    assert not state.slot[:, IS_SEEN].any()


def _validate_sums(dynamic, graph):
    state = dynamic._state
    sums, inner = np.zeros(len(state.slot), np.int64), np.zeros(len(state.slot), np.int64)
    ties = np.zeros(len(state.member), np.int64)
    bonds = defaultdict(lambda: [0, 0])
    for u, v, weight in graph.edges(data="weight"):
        ties[[u, v]] += 1
        inner[0] += 2 * weight
        for k in range(DEPTH):
            a, b = state.member[u, k], state.member[v, k]
            if a < 0 or b < 0:
                break
            sums[a] += weight
            sums[b] += weight
            if a != b:
                _bind(bonds, state.member[u], state.member[v], k, weight)
                break
            inner[a] += 2 * weight
    assert (ties == state.concept[:, TIES]).all()
    alive = state.slot[:, SIZE] > 0
    alive[0] = True
    assert (sums[alive] == state.sums[alive, SUMS]).all()
    assert (inner[alive] == state.sums[alive, INNER]).all()
    held = np.flatnonzero(state.bond[:, COUNT])
    columns = *state.bond_long[held][:, [KEY, VALUE]].T.tolist(), state.bond[held, COUNT].tolist()
    found = zip(*columns, strict=True)
    assert {(key >> 32, key & 0xFFFFFFFF): [value, n] for key, value, n in found} == bonds
    assert state.counters[BONDS] == len(bonds)
    for parent in np.flatnonzero(alive):
        assert len(list(_children(state.slot, parent))) == state.slot[parent, CHILDREN]


def _bind(bonds, p, q, k, weight):
    """A tie between two paths that part at level k, in the bonds that it counts in."""
    pairs = [(p[k], q[k]), (q[k], p[k])]
    if k + 1 < DEPTH:
        pairs += [(p[k + 1], q[k]), (q[k + 1], p[k])]
    for a, b in [(a, b) for a, b in pairs if a >= 0]:
        bonds[int(a), int(b)][0] += weight
        bonds[int(a), int(b)][1] += 1


def _children(slot, parent):
    child = slot[parent, CHILD]
    while child >= 0:
        assert slot[child, PARENT] == parent
        assert slot[child, SIZE] > 0
        yield child
        child = slot[child, NEXT_CHILD]


def flat(labels, level):
    """One label for each concept: its community at a level, or its leaf where that lies above.

    ``labels`` by level, negative where a branch ends above. -1 for a concept in none.
    """
    found = np.full(len(labels[0]), -1, np.int64)
    shift = 0
    for row in labels[: level + 1]:
        _, dense = np.unique(row, return_inverse=True)
        found = np.where(np.asarray(row) >= 0, dense + shift, found)
        shift += len(row)
    _, dense = np.unique(found, return_inverse=True)
    return (dense - (found < 0).any()).astype(np.int32)


class Topics:
    """Chunks about topics that are born and die, with a few concepts that stand everywhere."""

    def __init__(self, seed, *, topics=5, words=14, common=6):
        self.rng = np.random.default_rng(seed)
        self.words, self.common, self.next = words, common, common
        self.topics = [self._born() for _ in range(topics)]

    def _born(self):
        first = self.next
        self.next += self.words
        return np.arange(first, first + self.words)

    def turn(self):
        """A topic dies and another is born."""
        self.topics[self.rng.integers(len(self.topics))] = self._born()

    def chunk(self):
        topic = self.topics[self.rng.integers(len(self.topics))]
        own = self.rng.choice(topic, self.rng.integers(2, 7), replace=False)
        extra = self.rng.integers(0, max(self.common, 1), self.rng.integers(0, 3))
        other = self.rng.integers(0, self.next, 1) if self.rng.random() < 0.15 else []
        if not self.common:  # topics without a concept in common
            extra = other = []
        return np.unique(np.concatenate([own, extra, other])).astype(np.int32)

    def chunks(self, n):
        return [self.chunk() for _ in range(n)]
