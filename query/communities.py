"""From a chunk ranking to the groups that the search walks over: communities, best first."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from index.communities.hierarchy import Hierarchy
from index.types import Float64Array, Int64Array
from query.graph import SearchGraph, listed
from query.homes import Lists
from query.lazy import ROOT, Groups
from query.settings import LazySettings

NONE = Hierarchy.NONE


def homes(graph: SearchGraph, rows: Int64Array, level: int, count: int) -> Int64Array:
    """int64[len(rows), count]: each chunk's communities of the highest affinity, then -1.

    A chunk's affinity to a community is the summed idf of the concepts that they share; equal
    affinities go to the smaller id.
    """
    return _homes(graph, listed(graph.chunks, rows), level, count)[0]


def _homes(
    graph: SearchGraph, lists: Lists, level: int, count: int
) -> tuple[Int64Array, Float64Array]:
    """The communities of each list of concepts, int64[lists, count], and their affinities."""
    from query.kernels import strongest_few  # noqa: PLC0415  numba takes a while to import

    shape = (len(lists), count)
    best, strength = np.empty(shape, np.int64), np.empty(shape, np.float64)
    strongest_few(*lists.arrays(), graph.memberships[level], graph.idf, best, strength)
    return best, strength


def group(graph: SearchGraph, ranked: Int64Array, settings: LazySettings) -> Groups:
    """Group ranked chunk rows (best first) by community, at every level.

    Args:
        graph: The snapshot's graph.
        ranked: Chunk rows, best first.
        settings: ``homes`` and ``best_of``.
    """
    lists = listed(graph.chunks, ranked)
    tables = [
        _homes(graph, lists, level, settings.homes)[0] for level in range(len(graph.memberships))
    ]
    homeless = tables[0][:, 0] == NONE if tables else np.ones(len(ranked), np.bool_)
    # Whatever is nowhere at C0 is in the group of level -1; what is nowhere below is in none.
    alone = np.where(homeless, ROOT, NONE)[:, None]
    communities = [alone.ravel(), *(table.ravel() for table in tables)]
    places = [np.arange(table.size) // table.shape[1] for table in (alone, *tables)]
    levels = [np.full(table.size, at - 1) for at, table in enumerate((alone, *tables))]
    held = _Held.of(*(np.concatenate(parts) for parts in (communities, places, levels)))
    slots = graph.snapshot.slots[ranked]
    order = held.best_first(settings.best_of).tolist()
    ids = held.ids.tolist()
    level_of = dict(zip(ids, held.level.tolist(), strict=True))
    return Groups(
        ranked=slots.tolist(),
        chunks=dict(zip(ids, held.each(slots), strict=True)),
        order={community: rank for rank, community in enumerate(order)},
        children=_children(graph, held.ids[held.ids != ROOT]),
        level=level_of,
        first=[community for community in order if level_of[community] <= 0],
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Held:
    """The places of ranked chunks by community, each community's together and ascending.

    ``ids`` int64[k], ascending, and ``level`` int64[k]; the places of ``ids[i]`` are
    ``place[bounds[i] : bounds[i + 1]]``.
    """

    ids: Int64Array
    level: Int64Array
    bounds: Int64Array
    place: Int64Array

    @classmethod
    def of(cls, community: Int64Array, place: Int64Array, level: Int64Array) -> "_Held":
        """From one entry for each community of each chunk, -1 for none."""
        some = np.flatnonzero(community != NONE)
        order = some[np.lexsort((place[some], community[some]))]
        firsts = np.flatnonzero(np.diff(community[order], prepend=NONE))
        ids, bounds = community[order[firsts]], np.append(firsts, len(order))
        return cls(ids, level[order[firsts]], bounds, place[order])

    def each(self, slots: Int64Array) -> list[list[int]]:
        """The slots of each community's chunks, given those of all ranked chunks."""
        held, bounds = slots[self.place].tolist(), self.bounds.tolist()
        return [held[start:end] for start, end in pairwise(bounds)]

    def best_first(self, best_of: int) -> Int64Array:
        """The ids by the sum of the reciprocal ranks of their best chunks, equal ones by id."""
        sizes = np.diff(self.bounds)
        within = np.arange(len(self.place)) - np.repeat(self.bounds[:-1], sizes)
        counted = np.where(within < best_of, 1 / (1 + self.place), 0)
        worth = np.bincount(np.repeat(np.arange(len(sizes)), sizes), counted, len(sizes))
        return self.ids[np.lexsort((self.ids, -worth))]


def _children(graph: SearchGraph, ids: Int64Array) -> dict[int, list[int]]:
    """Of some communities, ascending, the children that are among them; only those with any."""
    hierarchy = graph.snapshot.hierarchy
    parents = hierarchy.parent[np.searchsorted(hierarchy.ids, ids)]
    inside = np.flatnonzero(np.isin(parents, ids))
    order = inside[np.argsort(parents[inside], kind="stable")]
    firsts = np.flatnonzero(np.diff(parents[order], prepend=NONE))
    below, bounds = ids[order].tolist(), [*firsts.tolist(), len(order)]
    each = (below[start:end] for start, end in pairwise(bounds))
    return dict(zip(parents[order[firsts]].tolist(), each, strict=True))


def main_home(graph: SearchGraph, rows: Int64Array, level: int) -> Int64Array:
    """int64[len(rows)]: each chunk's community of the highest affinity, or the root.

    At ``level``, or where the chunk has none there, at the deepest level above.
    """
    found, lists = np.full(len(rows), ROOT, np.int64), listed(graph.chunks, rows)
    for above in range(min(level + 1, len(graph.memberships))):
        best = _homes(graph, lists, above, 1)[0][:, 0]
        found = np.where(best == NONE, found, best)
    return found
