"""What a community is called: its most telling concepts, as people write them."""

import numpy as np

from index.types import Int64Array
from index.view import View
from query.graph import SearchGraph


def top_members(graph: SearchGraph, community: int, count: int) -> Int64Array:
    """Concept numbers of a community, the most telling first.

    A concept tells by how many chunks name it, times its idf: names that are widely used, and
    not words that are everywhere.
    """
    members = graph.snapshot.hierarchy.members(community).astype(np.int64)
    members = members[graph.chunk_degree[members] > 0]
    weight = graph.chunk_degree[members] * graph.idf[members]
    order = np.lexsort((members, -weight))[:count]
    chosen: Int64Array = members[order]
    return chosen


def top_concepts(view: View, graph: SearchGraph, community: int, count: int) -> tuple[str, ...]:
    """Surface forms of a community's most telling concepts."""
    numbers = top_members(graph, community, count).tolist()
    displays = view.displays(numbers)
    return tuple(displays[number] for number in numbers)
