"""Whether communities hang together in the graph that they were found in."""

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from index.communities.hierarchy import Hierarchy
from index.types import Int32Array, Int64Array


def broken_communities(hierarchy: Hierarchy, u: Int32Array, v: Int32Array) -> Int64Array:
    """Ids (ascending) of the communities whose concepts are not connected by edges inside.

    ``u``, ``v``: the edges of the pruned graph, each once, in either direction.
    """
    broken = [_broken(hierarchy.at_level(level), u, v) for level in range(hierarchy.depth)]
    return np.unique(np.concatenate([np.zeros(0, np.int64), *broken]))


def _broken(row: Int64Array, u: Int32Array, v: Int32Array) -> Int64Array:
    inside = (row[u] == row[v]) & (row[u] != Hierarchy.NONE)
    n = len(row)
    edges = csr_matrix((np.ones(int(inside.sum()), np.int8), (u[inside], v[inside])), shape=(n, n))
    _, parts = connected_components(edges, directed=False)
    placed = np.flatnonzero(row != Hierarchy.NONE)
    pieces = np.unique(np.stack([row[placed], parts[placed].astype(np.int64)]), axis=1)
    ids, counts = np.unique(pieces[0], return_counts=True)
    found: Int64Array = ids[counts > 1]
    return found
