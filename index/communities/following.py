"""From one hierarchy to the next by what was stored of the change."""

from dataclasses import dataclass

import numpy as np

from index.communities.hierarchy import Hierarchy
from index.types import Int32Array, Int64Array


@dataclass(frozen=True, slots=True, eq=False)
class HierarchyChange:
    """What changed between two generations.

    ``rows`` int64[k, 4]: id, level, parent and size of communities that are new or not as before.
    ``died`` int64: ids that live no more. ``concepts`` (int32) belong to ``leaves`` (int64) now.
    """

    rows: Int64Array
    died: Int64Array
    concepts: Int32Array
    leaves: Int64Array


def following(before: Hierarchy, change: HierarchyChange, count: int, epoch: int) -> Hierarchy:
    """The hierarchy after a change; ``count`` concepts. The one before stays as it is."""
    kept = ~np.isin(before.ids, np.concatenate([change.died, change.rows[:, 0]]))
    ids = np.concatenate([before.ids[kept], change.rows[:, 0]])
    order = np.argsort(ids)

    def column(old: np.ndarray, at: int) -> np.ndarray:
        joined = np.concatenate([old[kept], change.rows[:, at].astype(old.dtype)])
        return joined[order]

    return Hierarchy(
        epoch=epoch,
        ids=ids[order],
        level=column(before.level, 1),
        parent=column(before.parent, 2),
        sizes=column(before.sizes, 3),
        leaves=before.extended(count).leaves.moved(change.concepts, change.leaves),
    )
