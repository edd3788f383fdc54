"""What a community is called: its most telling concepts, as people write them."""

from collections.abc import Sequence

import numpy as np

from index.types import Float32Array, Int64Array
from index.view import View
from query.graph import SearchGraph


def top_members(graph: SearchGraph, community: int, count: int) -> Int64Array:
    """Concept numbers of a community, the most telling first.

    A concept tells by how many chunks name it, times its idf: names that are widely used, and
    not words that are everywhere.
    """
    return _top(graph, [community], count)[0]


def _top(graph: SearchGraph, communities: Sequence[int], count: int) -> list[Int64Array]:
    """The most telling members of several communities, level by level in one pass each."""
    hierarchy, branches = graph.snapshot.hierarchy, graph.branches
    found = [np.zeros(0, np.int64)] * len(communities)
    places = np.array([hierarchy.index_of(community) for community in communities], np.int64)
    levels = hierarchy.level[places]
    for level in np.unique(levels).tolist():
        here = np.flatnonzero(levels == level)
        asked = np.full(len(branches.ids) + 1, -1, np.int64)  # the last one stands for none
        asked[places[here]] = here
        asker = asked[branches.at(level)]
        members = np.flatnonzero((asker >= 0) & (graph.chunk_degree > 0))
        members = members[np.argsort(asker[members], kind="stable")]
        weight = graph.chunk_degree[members] * graph.idf[members]
        bounds = np.searchsorted(asker[members], [here, here + 1])
        for slot, first, end in zip(here.tolist(), *bounds.tolist(), strict=True):
            found[slot] = _heaviest(members[first:end], weight[first:end], count)
    return found


def _heaviest(members: Int64Array, weight: Float32Array, count: int) -> Int64Array:
    """The members of the highest weights, equal ones by number; only those near are sorted."""
    if len(members) > count:
        near = weight >= np.partition(weight, -count)[-count]
        members, weight = members[near], weight[near]
    chosen: Int64Array = members[np.lexsort((members, -weight))][:count]
    return chosen


def top_concepts(view: View, graph: SearchGraph, community: int, count: int) -> tuple[str, ...]:
    """Surface forms of a community's most telling concepts."""
    return named_by(view, graph, [community], count)[0]


def named_by(
    view: View, graph: SearchGraph, communities: Sequence[int], count: int
) -> list[tuple[str, ...]]:
    """The same for several communities, read from the store at once."""
    distinct = list(dict.fromkeys(communities))
    top = [members.tolist() for members in _top(graph, distinct, count)]
    telling = dict(zip(distinct, top, strict=True))
    displays = view.displays(sorted({number for numbers in top for number in numbers}))
    return [tuple(displays[number] for number in telling[c]) for c in communities]
