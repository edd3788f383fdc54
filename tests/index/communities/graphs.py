"""Random graphs with planted topics, and oracles over them."""

import networkx as nx
import numpy as np

from index.communities.hierarchy import Hierarchy


def planted(seed, *, topics=6, size=20, inside=0.35, between=0.01):
    """Pairs u < v with weights: dense topics, thinly joined. Returns (u, v, weight, n)."""
    rng = np.random.default_rng(seed)
    n = topics * size
    u, v = np.triu_indices(n, 1)
    same = u // size == v // size
    kept = rng.random(len(u)) < np.where(same, inside, between)
    u, v = u[kept].astype(np.int32), v[kept].astype(np.int32)
    return u, v, rng.integers(1, 9, len(u)).astype(np.float64), n


def as_networkx(u, v, weight):
    graph = nx.Graph()
    graph.add_weighted_edges_from(zip(u.tolist(), v.tolist(), weight.tolist(), strict=True))
    return graph


def groups(labels):
    """The sets of concepts with the same label."""
    return [set(np.flatnonzero(labels == c).tolist()) for c in np.unique(labels[labels >= 0])]


def broken_by_networkx(hierarchy, graph):
    """Ids whose members are not connected in the graph."""
    return sorted(
        c
        for c in hierarchy.ids.tolist()
        if not nx.is_connected(graph.subgraph(hierarchy.members(c).tolist()))
    )


def oversize(hierarchy: Hierarchy, max_size):
    """Communities above the size limit that were not split."""
    return [
        c
        for c in hierarchy.ids.tolist()
        if hierarchy.size_of(c) > max_size and not len(hierarchy.children(c))
    ]
