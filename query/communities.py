"""From a chunk ranking to the groups that the search walks over: communities, best first."""

from collections.abc import Sequence

import numpy as np

from index.communities.hierarchy import Hierarchy
from index.types import Float32Array, Int64Array
from query.graph import SearchGraph
from query.lazy import ROOT, Groups
from query.settings import LazySettings

NONE = Hierarchy.NONE


def homes(graph: SearchGraph, rows: Int64Array, level: int, count: int) -> Int64Array:
    """int64[len(rows), count]: each chunk's communities of the highest affinity, then -1.

    A chunk's affinity to a community is the summed idf of the concepts that they share; equal
    affinities go to the smaller id.
    """
    result = np.full((len(rows), count), NONE, np.int64)
    chosen = graph.chunks[rows]
    owner = np.repeat(np.arange(len(rows)), np.diff(chosen.indptr))
    community = graph.memberships[level][chosen.indices]
    weight = graph.idf[chosen.indices]
    held = community >= 0
    owner, community, weight = owner[held], community[held], weight[held]
    if not len(owner):
        return result
    order = np.lexsort((community, owner))
    owner, community, weight = owner[order], community[order], weight[order]
    starts = np.flatnonzero(np.diff(owner, prepend=-1) | np.diff(community, prepend=-1))
    affinity = np.add.reduceat(weight, starts)
    owner, community = owner[starts], community[starts]
    order = np.lexsort((community, -affinity, owner))
    owner, community = owner[order], community[order]
    firsts = np.flatnonzero(np.diff(owner, prepend=-1))
    place = np.arange(len(owner)) - np.repeat(firsts, np.diff(firsts, append=len(owner)))
    kept = place < count
    result[owner[kept], place[kept]] = community[kept]
    return result


def group(graph: SearchGraph, ranked: Int64Array, settings: LazySettings) -> Groups:
    """Group ranked chunk rows (best first) by community, at every level.

    Args:
        graph: The snapshot's graph.
        ranked: Chunk rows, best first.
        settings: ``homes`` and ``best_of``.
    """
    slots = graph.snapshot.slots[ranked].tolist()
    chunks: dict[int, list[int]] = {}
    places: dict[int, list[int]] = {}
    level_of: dict[int, int] = {}
    homeless = np.ones(len(ranked), np.bool_)
    for level in range(len(graph.memberships)):
        table = homes(graph, ranked, level, settings.homes)
        if level == 0:
            homeless = table[:, 0] == NONE
        for place, row in enumerate(table.tolist()):
            for community in row:
                if community != NONE:
                    chunks.setdefault(community, []).append(slots[place])
                    places.setdefault(community, []).append(place)
                    level_of[community] = level
    alone = np.flatnonzero(homeless).tolist()
    if alone:
        chunks[ROOT] = [slots[place] for place in alone]
        places[ROOT] = alone
        level_of[ROOT] = NONE
    order = _best_first(places, settings.best_of)
    hierarchy = graph.snapshot.hierarchy
    below = {
        community: [c for c in hierarchy.children(community).tolist() if c in chunks]
        for community in chunks
        if community != ROOT
    }
    first = [community for community in order if level_of[community] <= 0]
    return Groups(slots, chunks, order, below, level_of, first)


def _best_first(places: dict[int, list[int]], best_of: int) -> dict[int, int]:
    """Each community's rank, by the sum of the reciprocal ranks of its best chunks."""
    worth = {
        community: sum(1 / (1 + place) for place in held[:best_of])
        for community, held in places.items()
    }
    ranked = sorted(worth, key=lambda community: (-worth[community], community))
    return {community: rank for rank, community in enumerate(ranked)}


def main_home(graph: SearchGraph, rows: Int64Array, level: int = 0) -> Int64Array:
    """int64[len(rows)]: the community of the highest affinity at one level, or the root."""
    if level >= len(graph.memberships):
        return np.zeros(len(rows), np.int64)
    best = homes(graph, rows, level, 1)[:, 0]
    return np.where(best == NONE, ROOT, best)


def affinity_to(graph: SearchGraph, rows: Int64Array, members: Sequence[int]) -> Float32Array:
    """float32[len(rows)]: the summed idf of the given concepts that each chunk names."""
    weight = np.zeros(len(graph.idf), np.float32)
    numbers = np.asarray(members, np.int64)
    weight[numbers] = graph.idf[numbers]
    return np.asarray(graph.chunks[rows] @ weight, np.float32)
