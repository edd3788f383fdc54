"""Mode ``global``: chunks of every community of a level, none summarised ahead.

GraphRAG's global search (``graphrag`` 3, ``query/structured_search/global_search``) maps over the
report of each community of a level, and reduces the points found to an answer. Here a community is
read itself: its chunks of the highest rank, as many of each as the budget allows.
"""

import numpy as np

from index.types import BoolArray, Int64Array
from query.communities import main_home
from query.graph import SearchGraph
from query.lazy import RelevanceTest

EACH = 3
"""Chunks of a community that make it worth a visit: the k of the lazy search."""


def level_for(graph: SearchGraph, wanted: int | None, budget: int) -> int:
    """The level that is asked for, else the deepest whose communities the budget can visit.

    A visit takes ``EACH`` chunks; C0 where it can visit none.
    """
    hierarchy = graph.snapshot.hierarchy
    if wanted is not None:
        return min(wanted, max(hierarchy.depth - 1, 0))
    counts = np.bincount(hierarchy.level, minlength=1)
    fits = np.flatnonzero(np.maximum.accumulate(counts) * EACH <= budget)
    return int(fits[-1]) if len(fits) else 0


def everything(ranked: Int64Array, rows: BoolArray) -> Int64Array:
    """int64: ranked chunk rows, then all other allowed ones, which have no signal."""
    rest = rows.copy()
    rest[ranked] = False
    return np.concatenate([ranked, np.flatnonzero(rest)])


def visits(graph: SearchGraph, ranked: Int64Array, level: int, budget: int) -> list[RelevanceTest]:
    """What is read of each community: one chunk of each in turn until the budget is spent.

    Args:
        graph: The snapshot's graph.
        ranked: Chunk rows, best first. Each belongs to its community of the highest affinity at
            the level, else at the deepest one above where it has any, else to the root.
        level: 0 is C0.
        budget: Chunks in all; a larger one reads a superset.

    Returns:
        One visit for each community that any is read of, in the order of their best chunks.
    """
    homes = main_home(graph, ranked, level)
    _, first, community = np.unique(homes, return_index=True, return_inverse=True)
    order = np.argsort(community, kind="stable")
    sizes = np.bincount(community, minlength=len(first))
    turn = np.empty(len(ranked), np.int64)
    turn[order] = np.arange(len(ranked)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    chosen = np.sort(np.lexsort((first[community], turn))[:budget])
    slots = graph.snapshot.slots[ranked]
    return [
        RelevanceTest(
            0,
            tuple(slots[chosen[community[chosen] == number]].tolist()),
            int(homes[first[number]]),
            level,
        )
        for number in np.argsort(first, kind="stable").tolist()
        if (community[chosen] == number).any()
    ]
