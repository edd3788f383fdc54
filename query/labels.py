"""What a community is called: its most telling concepts, as people write them."""

from collections.abc import Sequence

import numpy as np

from index.types import Float32Array, Int32Array
from index.view import View
from query.graph import SearchGraph


def top_members(graph: SearchGraph, community: int, count: int) -> Int32Array:
    """Concept numbers of a community, the most telling first.

    A concept tells by how many chunks name it, times its idf: names that are widely used, and
    not words that are everywhere.
    """
    members = graph.snapshot.hierarchy.members(community)
    members = members[graph.chunk_degree[members] > 0]
    return _heaviest(members, graph.chunk_degree[members] * graph.idf[members], count)


def _heaviest(members: Int32Array, weight: Float32Array, count: int) -> Int32Array:
    """The members of the highest weights, equal ones by number; only those near are sorted."""
    if len(members) > count:
        near = weight >= np.partition(weight, -count)[-count]
        members, weight = members[near], weight[near]
    chosen: Int32Array = members[np.lexsort((members, -weight))][:count]
    return chosen


def named_by(
    view: View, graph: SearchGraph, communities: Sequence[int], count: int
) -> list[tuple[str, ...]]:
    """Surface forms of the most telling concepts of communities, read from the store at once."""
    telling = {c: top_members(graph, c, count).tolist() for c in dict.fromkeys(communities)}
    displays = view.displays(sorted({number for top in telling.values() for number in top}))
    return [tuple(displays[number] for number in telling[c]) for c in communities]
