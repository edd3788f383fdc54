"""Epochs: what is held fixed between two full runs, so that one document moves few weights.

Within an epoch the weight of a pair is ``w (log2 w - b(f(x)) - b(f(y)) + s)`` with b(f) = log2 f
rounded to a quarter and s = log2(F^2 / W) of the moment when the epoch began: the reference's
weight times W, rounded. In units of 1/64 all of it is a whole number, so that sums kept under
change are exact. Only a concept whose f crosses into another quarter changes the weights of pairs
that the stream did not touch.
"""

from dataclasses import dataclass

import numpy as np

from index.communities.pruning import CountArrays, PruningSettings, kept_concepts
from index.types import Int32Array, Int64Array

SCALE = 64
LEFT_OUT = 1 << 14
"""Bucket of a concept that is not grouped: no weight survives it, and it fits 16 bits.

Weights cannot outdo it: ``64 (log2 w + s)`` is below ``64 (31 + 64)`` for sums of 64 bits."""


@dataclass(frozen=True, slots=True, eq=False)
class Epoch:
    """``shift`` is s and ``threshold`` the least weight of a tie, in 1/64; ``hubs`` stay out.

    ``hubs`` int32, sorted: the concepts that pruning found too large when the epoch began.
    """

    number: int
    shift: int
    threshold: int
    min_frequency: int
    hubs: Int32Array

    @classmethod
    def of(cls, counts: CountArrays, settings: PruningSettings, number: int) -> "Epoch":
        """The epoch that begins at these counts."""
        shift = 0
        if counts.total_w:
            shift = round(SCALE * float(np.log2(counts.total_f**2 / counts.total_w)))
        frequent = counts.f >= settings.min_frequency
        kept = kept_concepts(counts.f, counts.degree, settings)
        hubs = np.flatnonzero(frequent & ~kept & (counts.degree >= settings.min_degree))
        bare = cls(number, shift, 1, settings.min_frequency, hubs.astype(np.int32))
        bucket = bare.buckets(counts.f)
        inside = np.flatnonzero(kept[counts.u] & kept[counts.v])
        u, v, w = counts.u[inside], counts.v[inside], counts.w[inside]
        if not len(w) or settings.weakest_percent <= 0:
            return bare
        weight = w * (_rounded_logs(w) - bucket[u].astype(np.int64) - bucket[v] + shift)
        threshold = int(np.ceil(np.percentile(weight, settings.weakest_percent)))
        return cls(number, shift, max(threshold, 1), settings.min_frequency, bare.hubs)

    def buckets(self, f: Int32Array, concepts: Int32Array | None = None) -> Int32Array:
        """int32: rounded log2 f in 1/64; ``LEFT_OUT`` for rare concepts and hubs.

        ``f`` belongs to ``concepts`` (sorted), or where they are not given to 0, 1, 2, ...
        """
        if concepts is None:
            concepts = np.arange(len(f), dtype=np.int32)
        quarters = np.rint(4 * np.log2(np.maximum(f, 1)))
        found: Int32Array = (quarters * (SCALE // 4)).astype(np.int32)
        found[(f < self.min_frequency) | np.isin(concepts, self.hubs)] = LEFT_OUT
        return found


def log_table(size: int = 4096) -> Int32Array:
    """int32[size]: log2 of 0 (as 0), 1, 2, ... in 1/64, rounded."""
    return _rounded_logs(np.maximum(np.arange(size), 1)).astype(np.int32)


def _rounded_logs(w: Int32Array | Int64Array) -> Int64Array:
    rounded: Int64Array = np.rint(SCALE * np.log2(w.astype(np.float64))).astype(np.int64)
    return rounded
