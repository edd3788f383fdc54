"""Which concepts a delta lets cross into another bucket of frequency, and the ties it changes."""

from index.communities.epoch import Epoch
from index.communities.kernels import edges
from index.communities.kernels.state import State
from index.types import Delta, Int32Array


def crossing(state: State, f: Int32Array, delta: Delta, epoch: Epoch) -> tuple[Int32Array, ...]:
    """The concepts (int32) whose bucket a delta changes, and their buckets from then on.

    ``f`` int32[n]: frequencies with the delta applied.
    """
    buckets = epoch.buckets(f[delta.concepts], delta.concepts)
    crossed = buckets != state.bucket[delta.concepts]
    return delta.concepts[crossed], buckets[crossed]


def retie(
    state: State, f: Int32Array, delta: Delta, held: Int32Array, epoch: Epoch
) -> tuple[int, Int32Array]:
    """Take a delta, already applied to the counts, into ties, sums and queues.

    ``held`` int32: w of its pairs before it.
    Returns the number of ties changed and the concepts of the delta that cross. First the pairs
    change at the old buckets, then whole rows at the new ones: so no pair is looked up twice.
    """
    across, buckets = crossing(state, f, delta, epoch)
    changed = edges.retie(state, delta.u, delta.v, delta.dw, held)
    changed += edges.cross(state, across, buckets)
    return int(changed), across
