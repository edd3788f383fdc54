"""Questions about the whole: what stands for each community, the largest communities first.

No chunk is similar to "what are the main themes?". Such a question is answered from breadth: in
each community the chunks that share most with it, so that a walk over communities in the order of
their size tells what there is.
"""

import numpy as np

from index.types import BoolArray, Int64Array
from query.graph import SearchGraph
from query.lazy import Groups
from query.plan import Subquery
from query.ranking import Ranking

_EACH = 10
"""Chunks that stand for one community; ours."""


def rank_broad(
    graph: SearchGraph, subquery: Subquery, rows: BoolArray, level: int = 0
) -> tuple[Ranking, Groups]:
    """The chunks that stand for each community of a level, and the communities by size.

    A chunk belongs to the community of its highest affinity, and stands for it by that affinity,
    each concept weighed by how many chunks name it, per square root of what the chunk names. A
    community's size is the number of chunks that belong to it. Without communities the chunks of
    the most widely named concepts stand for the whole.
    """
    similarity = graph.snapshot.similarity(subquery.vector)
    home, standing = graph.home(level), graph.standing(level)
    allowed = np.flatnonzero(rows & (standing > 0))
    order = allowed[np.lexsort((allowed, -standing[allowed], home[allowed]))]
    starts = np.flatnonzero(np.diff(home[order], prepend=-2))
    sizes = np.diff(starts, append=len(order))
    members: dict[int, Int64Array] = {
        int(home[order[start]]): order[start : start + min(size, _EACH)]
        for start, size in zip(starts.tolist(), sizes.tolist(), strict=True)
    }
    size_of = dict(zip(members, sizes.tolist(), strict=True))
    by_size = sorted(members, key=lambda c: (-size_of[c], c))
    # One of each community in turn, so that a reader from the top sees breadth first.
    turns = sorted((turn, place, row)
                   for place, c in enumerate(by_size)
                   for turn, row in enumerate(members[c].tolist()))  # fmt: skip
    ranked = np.array([row for _, _, row in turns], np.int64)
    scores = (1 / (1 + np.arange(len(ranked)))).astype(np.float32)
    ranking = Ranking(ranked, scores, similarity[ranked], np.zeros(len(ranked), np.float32))
    slots = graph.snapshot.slots
    groups = Groups(
        ranked=slots[ranked].tolist(),
        chunks={c: slots[members[c]].tolist() for c in by_size},
        order={c: place for place, c in enumerate(by_size)},
        children={},
        level=dict.fromkeys(by_size, level),
        first=by_size,
    )
    return ranking, groups
