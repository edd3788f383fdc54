"""Which ties a delta changes: those of its pairs, and of concepts that cross into a bucket."""

from dataclasses import dataclass

import numpy as np

from index.communities.epoch import Epoch
from index.communities.kernels import edges
from index.communities.kernels.state import State
from index.types import Delta, Int32Array, Int64Array


@dataclass(frozen=True, slots=True, eq=False)
class Frontier:
    """The pairs u < v (int32) whose tie may change, with the tie before (int64).

    ``crossing`` int32: the concepts whose bucket becomes ``buckets``.
    """

    u: Int32Array
    v: Int32Array
    before: Int64Array
    crossing: Int32Array
    buckets: Int32Array


def frontier(state: State, f: Int32Array, delta: Delta, epoch: Epoch) -> Frontier:
    """What a delta will change; to be asked before it is applied to the counts.

    ``f`` int32[n] has room for every concept of the delta. A pair that the delta does not name
    can change only with a bucket of one of its ends, and then stands in that row already.
    """
    buckets = epoch.buckets(f[delta.concepts] + delta.df, delta.concepts)
    crossed = buckets != state.bucket[delta.concepts]
    crossing = delta.concepts[crossed]
    keys = np.concatenate(
        [
            delta.u.astype(np.int64) << 32 | delta.v,
            edges.rows_of(crossing, state.start, state.degree, state.neighbour),
        ]
    )
    keys = np.unique(keys)
    u, v = (keys >> 32).astype(np.int32), (keys & 0xFFFFFFFF).astype(np.int32)
    return Frontier(u, v, ties_of(state, u, v), crossing, buckets[crossed])


def ties_of(state: State, u: Int32Array, v: Int32Array) -> Int64Array:
    """int64: the present tie of each pair, 0 where there is none."""
    rows = state.start, state.degree, state.neighbour, state.weight
    found: Int64Array = edges.pair_ties(u, v, *rows, state.bucket, state.logs, state.epoch)
    return found
