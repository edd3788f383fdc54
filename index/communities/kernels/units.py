"""Moves of whole communities at one level."""

import numpy as np

from index.communities.kernels.bonds import change_path
from index.communities.kernels.moves import follow
from index.communities.kernels.places import take_path, take_slot
from index.communities.kernels.repair import move_child
from index.communities.kernels.state import (
    BATCH,
    BONDED,
    CHILD,
    CHILDREN,
    FREE,
    HEAD,
    INNER,
    LEVEL,
    LOST,
    NEXT,
    OTHER,
    PARENT,
    SIZE,
    STIRRED,
    SUMS,
    TOUCHED,
    TRIED,
    VALUE,
    WORK,
    enqueue,
    inner_njit,
    load,
)


@inner_njit
def unit_moves(st, k, max_size, stick, hold, limit):
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
        to = better_home(st, unit, k, stick, hold)
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
def better_home(st, unit, k, stick, hold):
    """The slot of level k that a unit gains most by moving to; -1 where it is best at home.

    The gain is that of ``best_slot``, with all the unit's ties. ``hold``: see ``local_moves``; at
    C0 nothing is held, since most of what comes together there is new.
    """
    slot, sums, bond, bond_long, counters = st.slot, st.sums, st.bond, st.bond_long, st.counters
    own = st.concept[slot[unit, HEAD], k]
    above = slot[own, PARENT]
    whole = sums[above, INNER]
    if whole == 0 or counters[FREE] == 0:
        return np.int32(-1)
    total = ties_at(st, unit, k)
    margin = 1e-9 * (1.0 + total)
    best, to = -np.inf, np.int32(-1)
    e = np.int64(slot[unit, BONDED])
    while e >= 0:
        c = bond[e, OTHER]
        if slot[c, LEVEL] == k:
            gain = bond_long[e, VALUE] - total * (sums[c, SUMS] / whole)
            if gain > best + margin or (gain > best - margin and c < to):
                best = max(gain, best)
                to = c
        counters[WORK] += 1
        e = bond[e, NEXT]
    stay = 0.0
    if own != unit:
        stay = (sums[unit, SUMS] - sums[unit, INNER]) - total * ((sums[own, SUMS] - total) / whole)
    alone = own != unit and best < 0.0  # a part that does better as a community of its own
    lead = (0.0 if alone else best) - stay
    if lead <= stick * total + 1e-9:
        return np.int32(-1)
    if k > 0 and lead <= margin_of(st, unit, stick, hold) * total:
        return np.int32(-1)
    return take_slot(st, k, above) if alone else to


@inner_njit
def carry(st, unit, k, to):
    """Move a unit, of level k or k + 1, to a slot of level k.

    Where that one has children the unit becomes one of them, or its own children do; where it has
    none, what the unit held inside is dissolved.
    """
    concept, lists, counters, slot = st.concept, st.lists, st.counters, st.slot
    left, level, x = concept[slot[unit, HEAD], k], slot[unit, LEVEL], slot[unit, HEAD]
    while x >= 0:
        follow(concept, lists, counters, st.row, x, load(st, x), k, left, to)
        x = st.after[x, level]
    if slot[to, CHILDREN] > 0 and level == k + 1:
        move_child(st, unit, to)
        return
    if slot[to, CHILDREN] > 0 and slot[unit, CHILDREN] > 0:
        while slot[unit, CHILD] >= 0:
            move_child(st, slot[unit, CHILD], to)
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
