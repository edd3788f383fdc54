"""The graph of an epoch from whole counts: what full runs group and verification looks at.

Shares no code with the kernels that keep the same weights under deltas.
"""

import numpy as np

from index.communities.epoch import Epoch, log_table
from index.communities.pruning import ConceptGraph, CountArrays


def epoch_graph(counts: CountArrays, epoch: Epoch) -> ConceptGraph:
    """All ties of an epoch at these counts: ``w (log2 w - b(fx) - b(fy) + s)`` from its threshold.

    The weights are whole numbers, as float64.
    """
    bucket = epoch.buckets(counts.f).astype(np.int64)
    w = counts.w.astype(np.int64)
    logs = log_table(int(w.max()) + 1 if len(w) else 1).astype(np.int64)
    weight = w * (logs[w] - bucket[counts.u] - bucket[counts.v] + epoch.shift)
    tied = np.flatnonzero(weight >= epoch.threshold)
    return ConceptGraph(
        counts.u[tied], counts.v[tied], weight[tied].astype(np.float64), len(counts.f)
    )
