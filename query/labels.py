"""What a community is called: its most telling concepts, as people write them."""

from collections.abc import Sequence

import numpy as np

from index.types import Int64Array
from index.view import View
from query.graph import SearchGraph


def top_members(graph: SearchGraph, community: int, count: int) -> Int64Array:
    """Concept numbers of a community, the most telling first.

    A concept tells by how many chunks name it, times its idf: names that are widely used, and
    not words that are everywhere.
    """
    level = graph.snapshot.hierarchy.level_of(community)
    members = np.flatnonzero(graph.memberships[level] == community)
    members = members[graph.chunk_degree[members] > 0]
    weight = graph.chunk_degree[members] * graph.idf[members]
    order = np.lexsort((members, -weight))[:count]
    chosen: Int64Array = members[order]
    return chosen


def top_concepts(view: View, graph: SearchGraph, community: int, count: int) -> tuple[str, ...]:
    """Surface forms of a community's most telling concepts."""
    return named_by(view, graph, [community], count)[0]


def named_by(
    view: View, graph: SearchGraph, communities: Sequence[int], count: int
) -> list[tuple[str, ...]]:
    """The same for several communities, read from the store at once."""
    telling = [top_members(graph, community, count).tolist() for community in communities]
    displays = view.displays(sorted({number for numbers in telling for number in numbers}))
    return [tuple(displays[number] for number in numbers) for numbers in telling]
