"""The arrays of the dynamic hierarchy and the lists that every kernel keeps in them.

n concepts, m community slots, ``DEPTH`` levels, b bonds. Slot 0 is the root. All weights are whole
numbers (``index.communities.epoch``), so that sums kept under change never drift from a recount.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

DEPTH = 12
"""Levels that the hierarchy can have; a community on the last one is not split further."""

FREE, WORK, MOVES, PENDING, SEEDS, TOUCHED, CHANGED, TORN, LOOSE, BONDS, SPARE, LOST = range(12)
"""Fields of ``State.counters``."""
COUNTERS = 12

KEY, VALUE, COUNT, CHAIN, NEXT, LAST = range(6)
"""Fields of a bond: ``slot << 32 | other``, sum of its ties, their number, and its lists."""

inner_njit = njit(cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)  # type: ignore[call-overload]  # stubs lack them
"""For kernels that only kernels call: without an entry from Python they compile much faster."""

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


class State(NamedTuple):
    """Everything that the kernels read and write; one owner.

    Rows of the counts (``start``, ``degree``, ``neighbour``, ``weight``) are views and are never
    written here. A pair ties its concepts when ``tie`` is positive. ``member[x, k]`` is the slot
    of x at level k, -1 below its leaf; ``after`` and ``before`` chain the members of a slot from
    ``head``. ``sums`` is the ties of a slot's members to everything in its parent, ``inner`` the
    ties among them, each counted from both ends.

    A bond is the ties between two communities, added up: see ``index.communities.kernels.bonds``.
    """

    start: Longs
    degree: Ints
    neighbour: Ints
    weight: Ints
    bucket: Ints  # int32[n]: rounded log2 f; beyond all weights where a concept is left out
    logs: Ints  # rounded log2 of small weights
    epoch: Longs  # shift, threshold
    ties: Ints  # int32[n]: number of ties of each concept
    member: Ints  # int32[n, DEPTH]
    after: Ints
    before: Ints
    head: Ints  # int32[m]
    level: Ints
    parent: Ints
    size: Ints
    children: Ints  # int32[m]: how many
    child: Ints  # int32[m]: the first child, chained by ``next_child`` and ``last_child``
    next_child: Ints
    last_child: Ints
    sums: Longs  # int64[m]
    inner: Longs
    free: Ints  # stack of slots that nobody holds
    counters: Longs
    slack: Ints  # int32[n, DEPTH]: what x may lose at level k before another slot suits it better
    queued: Ints  # int32[n]: bit k: waits for a local move at level k
    pending: Ints  # the concepts with a bit in ``queued``
    seeds: Ints  # concepts that may have come apart from their leaf
    loose: Ints  # concepts that have ties and no community, or a community and no ties
    listed: Ints  # int32[n]: bit 0 in pending, bit 1 in seeds, bit 2 in changed, bit 3 in loose
    changed: Ints  # concepts whose membership changed in this batch
    was: Ints  # int32[n, DEPTH]: their membership before it
    touched: Ints  # int32[m]: slots whose members changed in this batch
    is_touched: Ints
    torn: Ints  # int32[m]: slots whose children may have come apart from each other
    is_torn: Ints
    tried: Ints  # int32[m]: bit k: as a whole, found no better place at level k; 0 once it changes
    bonds: Ints  # int32[m]: the first bond of each slot, chained by NEXT and LAST
    bond_head: Ints  # int32, a power of two: first bond of each hash, chained by CHAIN
    bond: Longs  # int64[b, 6]: fields KEY to LAST
    pot: Longs  # int64[m, 4] scratch, zero between uses: tie sums and counts, and those below
    pot_list: Ints  # int32[2, m] scratch: the slots with something in the pot
    along: Longs  # int64[2, DEPTH] scratch, zero between uses
    shared: Longs  # int64[m] scratch, zero between uses
    near: Ints  # int32[m] scratch
    ring: Ints  # int32[n] scratch
    mark: Ints  # int32[n] scratch, zero between uses


@inner_njit
def tie(w, bx, by, logs, epoch):
    """The weight of a tie in this epoch: ``w (log2 w - b(fx) - b(fy) + s)``; 0 below threshold."""
    rounded = logs[w] if w < len(logs) else np.int64(np.rint(64.0 * np.log2(np.float64(w))))
    value = np.int64(w) * (rounded - np.int64(bx) - np.int64(by) + epoch[0])
    return value if value >= epoch[1] else np.int64(0)


@inner_njit
def enqueue(queued, listed, pending, counters, x, k):
    """Let x wait for a local move at level k.

    What is called for every tie takes arrays: to hand the whole state on costs a microsecond.
    """
    queued[x] |= 1 << k
    if not listed[x] & 1:
        listed[x] |= 1
        pending[counters[PENDING]] = x
        counters[PENDING] += 1


@inner_njit
def weaken(slack, queued, listed, pending, counters, x, k, value):
    """The place of x at level k lost ``value`` against another; once too much, x waits."""
    left = slack[x, k] - value
    slack[x, k] = max(left, 0)
    if left < 0:
        enqueue(queued, listed, pending, counters, x, k)


@inner_njit
def soil(listed, seeds, counters, x):
    """Note that x may have come apart from its leaf."""
    if not listed[x] & 2:
        listed[x] |= 2
        seeds[counters[SEEDS]] = x
        counters[SEEDS] += 1


@inner_njit
def loose_end(ties, member, listed, loose, counters, x):
    """Note that x may have to get a community, or to lose it."""
    if (ties[x] == 0) == (member[x, 0] >= 0) and not listed[x] & 8:
        listed[x] |= 8
        loose[counters[LOOSE]] = x
        counters[LOOSE] += 1


@inner_njit
def tear(is_torn, torn, counters, c):
    """Note that the children of a slot may have come apart; the root may be in parts."""
    if c > 0 and not is_torn[c]:
        is_torn[c] = 1
        torn[counters[TORN]] = c
        counters[TORN] += 1


@inner_njit
def touch(st, c):
    """Note that the members of a slot changed."""
    if not st.is_touched[c]:
        st.is_touched[c] = 1
        st.touched[st.counters[TOUCHED]] = c
        st.counters[TOUCHED] += 1


@inner_njit
def journal(st, x):
    """Keep the membership that x had before this batch."""
    if not st.listed[x] & 4:
        st.listed[x] |= 4
        st.changed[st.counters[CHANGED]] = x
        st.counters[CHANGED] += 1
        for k in range(DEPTH):
            st.was[x, k] = st.member[x, k]


@inner_njit
def adopt_child(st, c, parent):
    """Put a slot among the children of another."""
    first = st.child[parent]
    st.parent[c] = parent
    st.next_child[c] = first
    st.last_child[c] = -1
    if first >= 0:
        st.last_child[first] = c
    st.child[parent] = c
    st.children[parent] += 1
    tear(st.is_torn, st.torn, st.counters, parent)


@inner_njit
def give_up_child(st, c):
    """Take a slot from the children of its parent."""
    left, right = st.last_child[c], st.next_child[c]
    if left >= 0:
        st.next_child[left] = right
    else:
        st.child[st.parent[c]] = right
    if right >= 0:
        st.last_child[right] = left
    st.children[st.parent[c]] -= 1
    tear(st.is_torn, st.torn, st.counters, st.parent[c])


@njit(cache=True)
def take_slot(st, k, parent):
    """A fresh slot; -1 where none is free. Slots emptied in a batch are free after it only."""
    if st.counters[FREE] == 0:
        return -1
    st.counters[FREE] -= 1
    c = st.free[st.counters[FREE]]
    st.level[c] = k
    st.size[c] = 0
    st.children[c] = 0
    st.child[c] = -1
    st.sums[c] = 0
    st.inner[c] = 0
    st.head[c] = -1
    adopt_child(st, c, parent)
    return c


@inner_njit
def link(st, x, k, c):
    """Put x into the chain of c."""
    first = st.head[c]
    st.member[x, k] = c
    st.after[x, k] = first
    st.before[x, k] = -1
    if first >= 0:
        st.before[first, k] = x
    st.head[c] = x
    st.size[c] += 1
    st.tried[c] = 0
    touch(st, c)


@inner_njit
def unlink(st, x, k):
    """Take x out of the chain of its slot; an emptied slot leaves its parent."""
    c = st.member[x, k]
    left, right = st.before[x, k], st.after[x, k]
    if left >= 0:
        st.after[left, k] = right
    else:
        st.head[c] = right
    if right >= 0:
        st.before[right, k] = left
    st.member[x, k] = -1
    st.size[c] -= 1
    st.tried[c] = 0
    touch(st, c)
    if st.size[c] == 0:
        give_up_child(st, c)


@inner_njit
def take_path(path, st, x, levels):
    """``path`` becomes that of x for so many levels, and ends there."""
    for k in range(DEPTH):
        path[k] = st.member[x, k] if k < levels else -1
