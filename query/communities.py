"""From a chunk ranking to the groups that the search walks over: communities, best first."""

import numpy as np

from index.communities.hierarchy import Hierarchy
from index.types import Float64Array, Int64Array
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
    owner, community, _, place = _by_affinity(graph, owner, chosen.indices, level)
    kept = place < count
    result[owner[kept], place[kept]] = community[kept]
    return result


def strongest(
    graph: SearchGraph, owner: Int64Array, concepts: Int64Array, owners: int, level: int
) -> tuple[Int64Array, Float64Array]:
    """For each owner of concepts its community of the highest affinity (-1: none), and that.

    ``owner`` int64[n] numbers the owner (below ``owners``) of each of ``concepts`` int64[n].
    """
    owner, community, affinity, place = _by_affinity(graph, owner, concepts, level)
    best, strength = np.full(owners, NONE, np.int64), np.zeros(owners, np.float64)
    best[owner[place == 0]] = community[place == 0]
    strength[owner[place == 0]] = affinity[place == 0]
    return best, strength


def _by_affinity(
    graph: SearchGraph, owner: Int64Array, concepts: Int64Array, level: int
) -> tuple[Int64Array, Int64Array, Float64Array, Int64Array]:
    """Owner, community, affinity and place (0 the best) of every pair with any affinity."""
    community = graph.memberships[level][concepts]
    held = community != NONE
    owner, community = owner[held], community[held]
    weight = graph.idf[concepts[held]].astype(np.float64)
    order = np.lexsort((community, owner))
    owner, community, weight = owner[order], community[order], weight[order]
    changed = np.diff(owner, prepend=-1).astype(np.bool_)
    starts = np.flatnonzero(changed | np.diff(community, prepend=-1).astype(np.bool_))
    affinity = np.add.reduceat(weight, starts) if len(starts) else weight
    owner, community = owner[starts], community[starts]
    order = np.lexsort((community, -affinity, owner))
    owner, community, affinity = owner[order], community[order], affinity[order]
    firsts = np.flatnonzero(np.diff(owner, prepend=-1))
    place = np.arange(len(owner)) - np.repeat(firsts, np.diff(firsts, append=len(owner)))
    return owner, community, affinity, place


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
    below = _children(graph, [community for community in chunks if community != ROOT])
    first = [community for community in order if level_of[community] <= 0]
    return Groups(slots, chunks, order, below, level_of, first)


def _children(graph: SearchGraph, communities: list[int]) -> dict[int, list[int]]:
    """Of some communities the children that are among them, ascending."""
    hierarchy = graph.snapshot.hierarchy
    below: dict[int, list[int]] = {community: [] for community in communities}
    ids = np.sort(np.array(communities, np.int64))
    parents = hierarchy.parent[np.searchsorted(hierarchy.ids, ids)]
    for community, parent in zip(ids.tolist(), parents.tolist(), strict=True):
        if parent in below:
            below[parent].append(community)
    return below


def _best_first(places: dict[int, list[int]], best_of: int) -> dict[int, int]:
    """Each community's rank, by the sum of the reciprocal ranks of its best chunks."""
    worth = {
        community: sum(1 / (1 + place) for place in held[:best_of])
        for community, held in places.items()
    }
    ranked = sorted(worth, key=lambda community: (-worth[community], community))
    return {community: rank for rank, community in enumerate(ranked)}


def main_home(graph: SearchGraph, rows: Int64Array, level: int) -> Int64Array:
    """int64[len(rows)]: each chunk's community of the highest affinity, or the root.

    At ``level``, or where the chunk has none there, at the deepest level above.
    """
    found = np.full(len(rows), ROOT, np.int64)
    for above in range(min(level + 1, len(graph.memberships))):
        best = homes(graph, rows, above, 1)[:, 0]
        found = np.where(best == NONE, found, best)
    return found
