"""The arrays of the dynamic hierarchy, and the one operation that changes membership.

n concepts, m community slots, ``DEPTH`` levels. Slot 0 is the root. All weights are whole numbers
(``index.communities.epoch``), so that sums kept under change never drift from a recount.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

DEPTH = 12
"""Levels that the hierarchy can have; a community on the last one is not split further."""

FREE, WORK, MOVES, PENDING, SEEDS, TOUCHED, CHANGED = range(7)
"""Fields of ``State.counters``."""

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
    children: Ints
    sums: Longs  # int64[m]
    inner: Longs
    free: Ints  # stack of slots that nobody holds
    counters: Longs
    slack: Ints  # int32[n, DEPTH]: what x may lose at level k before another slot suits it better
    queued: Ints  # int32[n]: bit k: waits for a local move at level k
    pending: Ints  # the concepts with a bit in ``queued``
    dirty: Ints  # int32[n]: bit k: may have come apart from its community at level k
    seeds: Ints  # the concepts with a bit in ``dirty``
    listed: Ints  # int32[n]: bit 0 in pending, bit 1 in seeds, bit 2 in changed
    changed: Ints  # concepts whose membership changed in this batch
    was: Ints  # int32[n, DEPTH]: their membership before it
    touched: Ints  # int32[m]: slots whose members changed in this batch
    is_touched: Ints
    tried: Ints  # int32[m]: bit k: as a whole, found no better place at level k; 0 once it changes
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
    """Let x wait for a local move at level k. Takes arrays, not the state: it is called often."""
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
def soil(dirty, listed, seeds, counters, x, k):
    """Note that x may have come apart from its community at level k."""
    dirty[x] |= 1 << k
    if not listed[x] & 2:
        listed[x] |= 2
        seeds[counters[SEEDS]] = x
        counters[SEEDS] += 1


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


@njit(cache=True)
def take_slot(st, k, parent):
    """A fresh slot; -1 where none is free. Slots emptied in a batch are free after it only."""
    if st.counters[FREE] == 0:
        return -1
    st.counters[FREE] -= 1
    c = st.free[st.counters[FREE]]
    st.level[c] = k
    st.parent[c] = parent
    st.size[c] = 0
    st.children[c] = 0
    st.sums[c] = 0
    st.inner[c] = 0
    st.head[c] = -1
    st.children[parent] += 1
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
        st.children[st.parent[c]] -= 1


@inner_njit
def add_tie(mine, theirs, first, value, sums, inner):
    """Count a tie of ``value`` between two paths, from level ``first`` on."""
    for k in range(first, DEPTH):
        a, b = mine[k], theirs[k]
        if a < 0 or b < 0:
            return
        sums[a] += value
        sums[b] += value
        if a != b:
            return
        inner[a] += 2 * value


@inner_njit
def take_path(path, st, x, levels):
    """``path`` becomes that of x for so many levels, and ends there."""
    for k in range(DEPTH):
        path[k] = st.member[x, k] if k < levels else -1


@inner_njit
def change_path(st, x, first, path):
    """Move x to ``path`` from level ``first`` on (above it nothing changes); all sums follow."""
    journal(st, x)
    low = st.start[x]
    for i in range(low, low + st.degree[x]):
        y = st.neighbour[i]
        value = tie(st.weight[i], st.bucket[x], st.bucket[y], st.logs, st.epoch)
        if value == 0 or (first > 0 and st.member[y, first - 1] != st.member[x, first - 1]):
            continue
        add_tie(st.member[x], st.member[y], first, -value, st.sums, st.inner)
        add_tie(path, st.member[y], first, value, st.sums, st.inner)
    st.counters[WORK] += st.degree[x]
    for k in range(DEPTH - 1, first - 1, -1):
        if st.member[x, k] >= 0 and st.member[x, k] != path[k]:
            unlink(st, x, k)
    for k in range(first, DEPTH):
        if path[k] >= 0 and st.member[x, k] != path[k]:
            link(st, x, k, path[k])
            st.slack[x, k] = 0


@inner_njit
def loosen(st, x, first, path):
    """Before x moves to ``path``: those it leaves may have come apart, and may want to follow."""
    low = st.start[x]
    for k in range(first, DEPTH):
        c = st.member[x, k]
        if c < 0:
            return
        if c == path[k]:
            continue
        alone = not st.dirty[x] >> k & 1
        seen, only = 0, -1
        for i in range(low, low + st.degree[x]):
            y = st.neighbour[i]
            if st.member[y, k] != c:
                continue
            value = tie(st.weight[i], st.bucket[x], st.bucket[y], st.logs, st.epoch)
            if value == 0:
                continue
            weaken(
                st.slack, st.queued, st.listed, st.pending, st.counters, y, k, 2 * value
            )  # less here, and as much more where x goes
            seen += 1
            if seen == 1 and alone:
                only = y  # x hangs on one other alone: taking it away breaks nothing
                continue
            if only >= 0:
                soil(st.dirty, st.listed, st.seeds, st.counters, only, k)
                only = -1
            soil(st.dirty, st.listed, st.seeds, st.counters, y, k)
