"""One batch from its frontier to the end, level by level; stops where Python must lend a hand.

One kernel, so that a batch costs a few calls from Python and not some hundred. Where it stopped
stands in the counters: it returns what it asks for (``DONE`` when nothing) and is called again.
"""

import numpy as np
from numba import njit

from index.communities.kernels.edges import chain, frontier_degree, rehome, shorten
from index.communities.kernels.moves import local_moves
from index.communities.kernels.repair import DONE, MORE_SLOTS, SPLIT, mend
from index.communities.kernels.state import (
    AT_LEVEL,
    CHILDREN,
    DEPTH,
    FREE,
    FRONTIER,
    IS_SEEN,
    LEVEL,
    LIMIT,
    LOST,
    MERGED,
    OVERSIZE,
    PARENT,
    PENDING,
    QUEUED,
    REPAIRED,
    ROUND,
    SEEDS,
    SIZE,
    STEP,
    THERE,
    TORN,
    TOUCHED,
    WANTED,
    WORK,
    borrowed,
    inner_njit,
    making_njit,
)
from index.communities.kernels.units import unit_moves

_ROUNDS = 12  # of local moves and units at one level

# The steps of one level.
_TIDY, _MOVE, _MEND, _UNITS, _ABOVE, _HERE = range(1, 7)


@inner_njit
def waiting(st, level):
    """How many wait for a move at a level."""
    count = 0
    for i in range(st.counters[PENDING]):
        count += st.concept[st.lists[PENDING, i], QUEUED] >> level & 1
    return count


@inner_njit
def unsettled(st, level):
    """Whether anything is to be done at a level or below; nothing is done above it any more."""
    counters = st.counters
    if counters[SEEDS] or counters[TORN] or counters[LOST]:
        return True
    for i in range(counters[PENDING]):
        if st.concept[st.lists[PENDING, i], QUEUED] >> level:
            return True
    below = 0
    for i in range(counters[TOUCHED]):
        below += st.slot[st.slots[TOUCHED, i], LEVEL] >= level - 1
    return below > 0


@inner_njit
def want(counters, slots):
    """Whether there are fewer free slots; says so."""
    counters[WANTED] = slots
    return counters[FREE] < slots


@inner_njit
def touched_at(st, level):
    """List in row THERE the living slots at a level that were touched, or whose children were.

    Returns how many.
    """
    slot, slots, counters = st.slot, st.slots, st.counters
    count = 0
    for i in range(counters[TOUCHED]):
        c = slots[TOUCHED, i]
        if slot[c, LEVEL] == level + 1:
            c = slot[c, PARENT]
        if c > 0 and slot[c, LEVEL] == level and slot[c, SIZE] > 0 and not slot[c, IS_SEEN]:
            slot[c, IS_SEEN] = 1
            slots[THERE, count] = c
            count += 1
    for i in range(count):
        slot[slots[THERE, i], IS_SEEN] = 0
    return count


@making_njit
def make_whole(st, c):
    """Dissolve what is inside a community."""
    shorten(st, chain(st, np.int64(c)), np.int64(st.slot[c, LEVEL]) + 1)
    st.counters[MERGED] += 1


@inner_njit
def keep_sizes_above(st, level, most):
    """Make communities of the level above with a single child whole; list those to be split."""
    slot, slots, counters = st.slot, st.slots, st.counters
    for i in range(touched_at(st, level - 1)):
        c = slots[THERE, i]
        if slot[c, CHILDREN] == 1:
            make_whole(st, c)
            if slot[c, SIZE] > most:
                slots[OVERSIZE, counters[OVERSIZE]] = c
                counters[OVERSIZE] += 1


@inner_njit
def keep_sizes_here(st, level, most, small):
    """Make split communities that are small again whole; list those that are too large."""
    slot, slots, counters = st.slot, st.slots, st.counters
    for i in range(touched_at(st, level)):
        c = slots[THERE, i]
        if slot[c, CHILDREN] > 0:
            if slot[c, SIZE] <= small:
                make_whole(st, c)
        elif slot[c, SIZE] > most:
            slots[OVERSIZE, counters[OVERSIZE]] = c
            counters[OVERSIZE] += 1


@inner_njit
def move_around(st, level, stick, hold, full, unit_size):
    """Local moves, repairs and units in turn, until nobody wants to move or work is spent."""
    counters = st.counters
    limit = counters[LIMIT]
    while counters[ROUND] < _ROUNDS:
        if counters[STEP] in (_TIDY, _MEND):
            todo = mend(st)
            if todo != DONE:
                return todo
            counters[STEP] += 1
        if counters[STEP] == _MOVE:
            count = waiting(st, level)
            if want(counters, count):
                return MORE_SLOTS
            if count:
                local_moves(st, level, stick, hold, full, limit)
            counters[STEP] = _MEND
            continue
        if want(counters, counters[TOUCHED] + 2 * unit_size):
            return MORE_SLOTS
        moved = unit_moves(st, level, unit_size, stick, hold, full, limit)
        if not moved and (not waiting(st, level) or counters[WORK] >= limit):
            break
        counters[ROUND] += 1
        counters[STEP] = _TIDY
    counters[STEP] = _ABOVE
    return DONE


@inner_njit
def settle_level(st, level, stick, hold, full, unit_size, most, small):
    """Bring one level to rest."""
    counters = st.counters
    if counters[STEP] < _ABOVE:
        todo = move_around(st, level, stick, hold, full, unit_size)
        if todo != DONE:
            return todo
    before = counters[WORK]
    counters[OVERSIZE] = 0
    while counters[STEP] <= _HERE and counters[OVERSIZE] == 0:
        if counters[STEP] == _HERE:
            keep_sizes_here(st, level, most, small)
        elif level:
            keep_sizes_above(st, level, most)
        counters[STEP] += 1
    counters[REPAIRED] += counters[WORK] - before
    return SPLIT if counters[OVERSIZE] else DONE


@njit(cache=True, nogil=True)
def settle(st, stick, hold, full, floor, factor, unit_size, most, small):
    """Let the whole frontier settle; returns what is asked for before the next call.

    ``stick``: share of its ties that a concept or a unit must gain to move; ``hold``: the same for
    a concept whose ties did not change.
    ``full``: concepts from which a community that is not split takes no more in.
    ``floor`` and ``factor`` give the work allowed, ``unit_size`` the largest community that is
    moved as a whole, ``most`` the size limit, ``small`` the size at which a split one becomes whole
    again. Call it first with ``STEP`` 0.
    """
    st = borrowed(st)
    counters = st.counters
    if counters[STEP] == 0:
        wanted = rehome(st)
        if wanted:
            counters[WANTED] = wanted
            return MORE_SLOTS
        counters[FRONTIER] += frontier_degree(st)  # to those whose rows were read already
        counters[LIMIT] = counters[WORK] + floor + factor * counters[FRONTIER]
        counters[AT_LEVEL] = counters[ROUND] = 0
        counters[STEP] = _TIDY
    while counters[AT_LEVEL] < DEPTH:
        level = counters[AT_LEVEL]
        if counters[STEP] == _TIDY and counters[ROUND] == 0 and not unsettled(st, level):
            break
        todo = settle_level(st, level, stick, hold, full, unit_size, most, small)
        if todo != DONE:
            return todo
        counters[AT_LEVEL] += 1
        counters[ROUND] = 0
        counters[STEP] = _TIDY
    return mend(st)
