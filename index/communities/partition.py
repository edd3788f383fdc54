"""A static hierarchy of communities by Leiden, from nothing.

C0 is Leiden at resolution 1 on the pruned graph; C(k+1) is Leiden at resolution 1 on the induced
subgraph inside each community above ``max_size`` concepts, until none is above. Leiden is
graspologic-native's (Traag, Waltman, van Eck 2019). What it returns is cut into its connected
parts, so that every community is connected whatever the library does.
"""

from dataclasses import dataclass

import graspologic_native
import numpy as np
from scipy.sparse import csr_matrix

from index.communities.kernels.parts import parts_within
from index.types import Float64Array, Int32Array, Int64Array

MAX_SIZE = 25
"""Concepts beyond which a community is split; measured: at 25 none stays oversize, at 10 (the
reference's figure) 4.6 % do."""


@dataclass(frozen=True, slots=True)
class Partition:
    """A hierarchy before it has lasting ids.

    ``labels[k]`` int32[n]: the community of each concept at level k, -1 where it has none there;
    numbers are distinct within a level. ``modularity`` by level, of the concepts placed there.
    """

    labels: tuple[Int32Array, ...]
    modularity: tuple[float, ...]


def partition(
    u: Int32Array,
    v: Int32Array,
    weight: Float64Array,
    concept_count: int,
    *,
    max_size: int = MAX_SIZE,
    seed: int = 0,
) -> Partition:
    """Find the hierarchy of a weighted graph of pairs u < v with positive weights."""
    graph = _symmetric(u, v, weight, concept_count)
    present = np.flatnonzero(np.diff(graph.indptr) > 0)
    labels = np.full(concept_count, -1, np.int32)
    if not len(present):
        return Partition((), ())
    labels[present] = _leiden(graph[present][:, present].tocsr(), seed)
    found = [labels]
    while (finer := _split_level(graph, found[-1], max_size, seed)) is not None:
        found.append(finer)
    return Partition(tuple(found), tuple(modularity(u, v, weight, level) for level in found))


def modularity(u: Int32Array, v: Int32Array, weight: Float64Array, labels: Int32Array) -> float:
    """Newman's modularity of the graph induced by the concepts that have a label.

    Q = sum over communities of (inside / m - (degrees / 2m)^2), m the sum of all weights.
    """
    placed = (labels[u] >= 0) & (labels[v] >= 0)
    u, v, weight = u[placed], v[placed], weight[placed]
    total = float(weight.sum())
    if total <= 0:
        return 0.0
    count = int(labels.max()) + 1
    same = labels[u] == labels[v]
    inside = np.bincount(labels[u][same], weight[same], count)
    degrees = np.bincount(labels[u], weight, count) + np.bincount(labels[v], weight, count)
    return float((inside / total - (degrees / (2 * total)) ** 2).sum())


def _symmetric(u: Int32Array, v: Int32Array, weight: Float64Array, n: int) -> csr_matrix:
    half = csr_matrix((weight, (u, v)), shape=(n, n))
    return (half + half.T).tocsr()


def leiden(indptr: Int64Array, indices: Int32Array, data: Float64Array, *, seed: int) -> Int32Array:
    """Labels 0, 1, ... of a graph in compressed sparse rows, both directions; each connected."""
    n = len(indptr) - 1
    _, found = graspologic_native.leiden_csr(
        indptr,
        indices,
        data,
        n,
        resolution=1.0,
        randomness=0.001,
        iterations=1,
        use_modularity=True,
        seed=seed,
        trials=1,
    )
    labels = np.fromiter((found[i] for i in range(n)), np.int64, n)
    parts: Int32Array = parts_within(indptr, indices, labels)
    return parts


def _leiden(graph: csr_matrix, seed: int) -> Int32Array:
    return leiden(
        graph.indptr.astype(np.int64),
        graph.indices.astype(np.int32),
        graph.data.astype(np.float64),
        seed=seed,
    )


def _split_level(
    graph: csr_matrix, labels: Int32Array, max_size: int, seed: int
) -> Int32Array | None:
    """The next level: what is inside each community above ``max_size``; None when nothing is."""
    sizes = np.bincount(labels[labels >= 0])
    finer = np.full(len(labels), -1, np.int32)
    order = np.argsort(labels, kind="stable")
    bounds = np.searchsorted(labels[order], np.arange(len(sizes) + 1))
    next_label = 0
    for community in np.flatnonzero(sizes > max_size):
        members = order[bounds[community] : bounds[community + 1]]
        inner = _leiden(graph[members][:, members].tocsr(), seed)
        count = int(inner.max()) + 1
        if count < 2:  # noqa: PLR2004  Leiden sees no finer structure: it stays as it is
            continue
        finer[members] = inner + next_label
        next_label += count
    return finer if next_label else None
