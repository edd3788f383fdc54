"""Weights read from the counts: pointwise mutual information as the reference defines it."""

import numpy as np

from index.types import Float64Array, Int32Array


def weights(
    w: Int32Array, fx: Int32Array, fy: Int32Array, total_f: int, total_w: int
) -> Float64Array:
    """``p(x,y) log2(p(x,y) / (p(x) p(y)))`` with ``p(x,y) = w / W`` and ``p(x) = f / F``.

    The definition of GraphRAG's noun-phrase graph (microsoft/graphrag 3.3). float64, one for each
    pair; negative where two concepts meet less often than chance would have it.
    """
    together = w / total_w
    chance = (fx / total_f) * (fy / total_f)
    result: Float64Array = together * np.log2(together / chance)
    return result
