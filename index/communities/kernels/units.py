"""Moves of whole communities at one level."""

import numpy as np

from index.communities.kernels.bonds import change_path
from index.communities.kernels.moves import follow, is_full
from index.communities.kernels.places import take_path, take_slot
from index.communities.kernels.repair import move_child
from index.communities.kernels.state import (
    BATCH,
    BONDED,
    CHILDREN,
    DEPTH,
    FREE,
    HEAD,
    INNER,
    LEVEL,
    LOST,
    NEAR,
    NEXT,
    OTHER,
    PARENT,
    SHARED,
    SIZE,
    STIRRED,
    SUMS,
    TOP,
    TOUCHED,
    TRIED,
    VALUE,
    WORK,
    enqueue,
    inner_njit,
    load,
)

_PARTING = 0.5  # of the usual gain, for a part that leaves its C0


@inner_njit
def unit_moves(st, k, max_size, stick, hold, full, limit):
    """Move whole communities between the slots of level k; returns how many moved.

    The communities that this batch touched, at level k and below, of at most ``max_size``
    concepts, stand for Leiden's refined ones: moving one as a unit finds the merges that no
    single concept can begin. Their bonds tell the gain; what they hold inside goes with them.
    """
    slot, slots, counters = st.slot, st.slots, st.counters
    moved = 0
    for at in range(counters[TOUCHED]):
        unit = slots[TOUCHED, at]
        size = slot[unit, SIZE]
        if size == 0 or size > max_size or slot[unit, TRIED] >> k & 1:
            continue
        if slot[unit, LEVEL] < k or slot[unit, LEVEL] > k + 1:
            continue
        if counters[WORK] >= limit or counters[LOST]:
            return moved
        slot[unit, TRIED] |= 1 << k
        to = better_home(st, unit, k, stick, hold, full)
        if to < 0:
            continue
        carry(st, unit, k, to)
        moved += 1
    return moved


@inner_njit
def margin_of(st, unit, stick, hold):
    """What a unit must gain to move, as a share of its ties: the mean of its members' margins."""
    slot, concept, batch = st.slot, st.concept, st.counters[BATCH]
    level, still, x = np.int64(slot[unit, LEVEL]), 0, slot[unit, HEAD]
    while x >= 0:
        still += concept[x, STIRRED] != batch
        x = st.after[x, level]
    return stick + (hold - stick) * still / slot[unit, SIZE]


@inner_njit
def ties_at(st, unit, k):
    """All ties of a unit, of level k or below, inside its parent at level k."""
    slot, bond = st.slot, st.bond
    total = st.sums[unit, SUMS]
    if slot[unit, LEVEL] == k:
        return total
    e = np.int64(slot[unit, BONDED])
    while e >= 0:
        if slot[bond[e, OTHER], LEVEL] == k:
            total += st.bond_long[e, VALUE]
        e = bond[e, NEXT]
    return total


@inner_njit
def least_gain(k, whole, stick):
    """What a unit must gain to move at level k, as a share of its ties.

    A C0 goes into another for any gain, or topics that nobody had seen would stay apart for ever;
    a part leaves its C0 for half of ``stick``, so that what came together comes apart again.
    """
    if k > 0:
        return stick
    return 0.0 if whole else _PARTING * stick


@inner_njit
def better_home(st, unit, k, stick, hold, full):
    """The slot of level k that a unit gains most by moving to; -1 where it is best at home.

    The gain is that of ``best_slot``, with all the unit's ties; below C0 a single concept does not
    join a full one. ``hold``: see ``local_moves``; at C0 nothing is held, since most of what comes
    together there is new.
    """
    slot, sums, bond, bond_long, counters = st.slot, st.sums, st.bond, st.bond_long, st.counters
    own = st.concept[slot[unit, HEAD], k]
    above = slot[own, PARENT]
    weight = sums[above, INNER]
    if weight == 0 or counters[FREE] == 0:
        return np.int32(-1)
    total = ties_at(st, unit, k)
    margin = 1e-9 * (1.0 + total)
    best, to = -np.inf, np.int32(-1)
    e = np.int64(slot[unit, BONDED])
    while e >= 0:
        c = bond[e, OTHER]
        closed = k > 0 and slot[unit, SIZE] == 1 and is_full(slot, c, full)
        if slot[c, LEVEL] == k and not closed:
            gain = bond_long[e, VALUE] - total * (sums[c, SUMS] / weight)
            if gain > best + margin or (gain > best - margin and c < to):
                best = max(gain, best)
                to = c
        counters[WORK] += 1
        e = bond[e, NEXT]
    stay = 0.0
    if own != unit:
        stay = (sums[unit, SUMS] - sums[unit, INNER]) - total * ((sums[own, SUMS] - total) / weight)
    alone = own != unit and best < 0.0  # a part that does better as a community of its own
    lead = (0.0 if alone else best) - stay
    if lead <= least_gain(k, own == unit, stick) * total + 1e-9:
        return np.int32(-1)
    if k > 0 and lead <= margin_of(st, unit, stick, hold) * total:
        return np.int32(-1)
    return take_slot(st, k, above) if alone else to


@inner_njit
def deepest(st, unit):
    """The last level on which members of a unit have a slot."""
    level, last = np.int64(st.slot[unit, LEVEL]), TOP
    x = st.slot[unit, HEAD]
    while x >= 0:
        k = level
        while k + 1 < DEPTH and st.concept[x, k + 1] >= 0:
            k += 1
        last = max(last, k)
        x = st.after[x, level]
    return last


@inner_njit
def shift(st, unit, k, to):
    """Move a unit to slot ``to`` of level k with all that it holds, on another level than before.

    One of level k becomes a child of ``to``; one of level k + 1 becomes ``to``, which is empty.
    Returns whether there was room for it: a level below, and slots.
    """
    concept, slot, slots, sums, path = st.concept, st.slot, st.slots, st.sums, st.path
    counters = st.counters
    level = np.int64(slot[unit, LEVEL])
    by = 1 if level == k else -1
    if deepest(st, unit) + by == DEPTH or counters[FREE] < 2 * slot[unit, SIZE]:
        return False
    count = TOP
    if by < 0:
        sums[unit, SHARED] = to
        slots[NEAR, count] = unit
        count += 1
    while slot[unit, SIZE] > 0:
        x = slot[unit, HEAD]
        take_path(path, concept, x, k)
        path[k] = to
        for j in range(level, DEPTH):
            c = concept[x, j]
            if c < 0:
                break
            if sums[c, SHARED] == 0:
                sums[c, SHARED] = take_slot(st, j + by, path[j + by - 1])
                slots[NEAR, count] = c
                count += 1
            path[j + by] = sums[c, SHARED]
        change_path(st, x, k, path, load(st, x))
        enqueue(concept, st.lists, counters, x, k)
    for i in range(count):
        sums[slots[NEAR, i], SHARED] = 0
    return True


@inner_njit
def carry(st, unit, k, to):
    """Move a unit, of level k or k + 1, to a slot of level k.

    Where that one has children the unit becomes one of them, and where it is empty the unit itself,
    with all that it holds; else what it held inside is dissolved.
    """
    concept, lists, counters, slot = st.concept, st.lists, st.counters, st.slot
    left, level, x = concept[slot[unit, HEAD], k], slot[unit, LEVEL], slot[unit, HEAD]
    while x >= 0:
        follow(concept, lists, counters, st.row, x, load(st, x), k, left, to)
        x = st.after[x, level]
    if slot[to, CHILDREN] > 0 and level == k + 1:
        move_child(st, unit, to)
        return
    if (slot[to, CHILDREN] > 0 or slot[to, SIZE] == 0) and shift(st, unit, k, to):
        return
    path = st.path
    take_path(path, concept, slot[unit, HEAD], k)
    path[k] = to
    if slot[to, CHILDREN] > 0:
        path[k + 1] = take_slot(st, k + 1, to)
    while slot[unit, SIZE] > 0:
        x = slot[unit, HEAD]
        change_path(st, x, k, path, load(st, x))
        enqueue(concept, lists, counters, x, k)
