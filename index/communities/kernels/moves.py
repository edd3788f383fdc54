"""Local moves of concepts at one level."""

import numpy as np

from index.communities.kernels.bonds import change_path
from index.communities.kernels.places import take_path, take_slot
from index.communities.kernels.state import (
    BATCH,
    CHILDREN,
    DEPTH,
    FREE,
    INNER,
    LISTED,
    MOVES,
    NEAR,
    PENDING,
    QUEUED,
    RING,
    SEEDS,
    SHARED,
    SIZE,
    SLACK,
    STIRRED,
    SUMS,
    TOP,
    WORK,
    enqueue,
    inner_njit,
    load,
    soil,
    weaken,
)

MOST = 2.0**31 - 1
"""The largest slack that is kept."""


@inner_njit
def gather(concept, row, sums, slots, ties, k, above):
    """Add the first ``ties`` of ``row`` inside slot ``above`` to ``SHARED`` by slot at level k.

    Row NEAR of ``slots`` lists the slots; returns how many, and the sum of the ties.
    """
    count, total = TOP, TOP
    for i in range(ties):
        y = np.int32(row[i, 0])
        c = concept[y, k]
        if c < 0 or (k > 0 and concept[y, k - 1] != above):
            continue
        if sums[c, SHARED] == 0:
            slots[NEAR, count] = c
            count += 1
        sums[c, SHARED] += row[i, 1]
        total += row[i, 1]
    return count, total


@inner_njit
def is_full(slot, c, full):
    """Whether one more member would break a community up: it is not split, and has ``full``."""
    return slot[c, SIZE] >= full and slot[c, CHILDREN] == 0


@inner_njit
def best_slot(slot, sums, slots, own, total, count, whole, full):
    """The slot but ``own`` that is best to join (-1: none) and what joining gains.

    Gain of joining c: ties to c less ``total * sums[c] / whole`` (resolution 1). Of equal slots
    the lowest. One of ``full`` members that is not split takes nobody in: whoever joins breaks it
    up for all, so joining counts as a loss of all ties. Clears ``SHARED``.
    """
    margin = 1e-9 * (1.0 + total)
    best, chosen = -np.inf, np.int32(-1)
    for j in range(count):
        c = slots[NEAR, j]
        if c != own:
            gain = sums[c, SHARED] - total * (sums[c, SUMS] / whole)
            if is_full(slot, c, full):
                gain -= total
            if gain > best + margin or (gain > best - margin and c < chosen):
                best = max(gain, best)
                chosen = c
        sums[c, SHARED] = 0
    return chosen, best


@inner_njit
def descend(st, ties, k, path, full):
    """Complete the path of the concept in ``row`` below level k: the child that suits it best.

    Where that is a full one, a place of its own beside it.
    """
    sums, slots, slot = st.sums, st.slots, st.slot
    for j in range(k + 1, DEPTH):
        above = path[j - 1]
        path[j] = -1
        if slot[above, CHILDREN] == 0:
            return
        count, total = gather(st.concept, st.row, sums, slots, ties, j, above)
        whole = max(sums[above, INNER], np.int64(1))
        to, gain = best_slot(slot, sums, slots, np.int32(-1), total, count, whole, full)
        if gain < 0.0 and to >= 0 and is_full(slot, to, full) and st.counters[FREE] > 0:
            to = take_slot(st, j, above)
        path[j] = to
        st.counters[WORK] += ties


@inner_njit
def start_ring(concept, lists, counters, k):
    """Fill the ring with those who wait at level k; returns how many."""
    count = 0
    for i in range(counters[PENDING]):
        x = lists[PENDING, i]
        lists[RING, count] = x
        count += concept[x, QUEUED] >> k & 1
    return count


@inner_njit
def loosen(concept, lists, counters, row, x, ties, first):
    """Before x leaves its place from a level on: who may be cut off, who may want to follow."""
    last = first
    while last + 1 < DEPTH and concept[x, last + 1] >= 0:
        last += 1
    alone = not concept[x, LISTED] >> SEEDS & 1
    seen, only = TOP, np.int32(-1)
    for i in range(ties):
        y = np.int32(row[i, 0])
        if concept[y, first] != concept[x, first]:
            continue
        for k in range(first, last + 1):
            if concept[y, k] != concept[x, k]:
                break
            # Less here, and as much more where x goes.
            weaken(concept, lists, counters, y, k, 2 * row[i, 1])
        if concept[y, last] != concept[x, last]:
            continue
        seen += 1
        if seen == 1 and alone:
            only = y  # x hangs on one other alone: taking it away breaks nothing
            continue
        if only >= 0:
            soil(concept, lists, counters, only)
            only = np.int32(-1)
        soil(concept, lists, counters, y)
    counters[WORK] += ties


@inner_njit
def follow(concept, lists, counters, row, x, ties, k, left, to):
    """The slot ``to`` of x now suits its neighbours elsewhere better (those in ``left`` know)."""
    for i in range(ties):
        y = np.int32(row[i, 0])
        c = concept[y, k]
        if c < 0 or c == left:
            continue
        if c == to:
            continue
        if k > 0 and concept[y, k - 1] != concept[x, k - 1]:
            continue
        weaken(concept, lists, counters, y, k, row[i, 1])
    counters[WORK] += ties


@inner_njit
def choose(st, x, ties, k, c, stick, hold, full, path):
    """Whether x is to leave c at level k; ``path`` is then complete; see ``local_moves``."""
    concept, sums, slot, slots = st.concept, st.sums, st.slot, st.slots
    above = np.int32(0) if k == 0 else concept[x, k - 1]
    whole = sums[above, INNER]
    if whole == 0:
        return False
    near, total = gather(concept, st.row, sums, slots, ties, k, above)
    stay = sums[c, SHARED] - total * ((sums[c, SUMS] - total) / whole)
    to, best = best_slot(slot, sums, slots, c, total, near, whole, full)
    stirred = concept[x, STIRRED] == st.counters[BATCH]
    margin = (stick if stirred else hold) * total + 1e-9
    if slot[c, SIZE] > 1 and best < 0.0:  # alone it would do better than with any neighbour
        to, best = np.int32(-1), 0.0
        if stay < -margin:
            to = take_slot(st, k, above)
    if to < 0 or best <= stay + margin:
        concept[x, SLACK + k] = np.int32(max(0.0, min(stay + margin - best, MOST)))
        return False
    take_path(path, concept, x, k)
    path[k] = to
    descend(st, ties, k, path, full)
    return True


@inner_njit
def local_moves(st, k, stick, hold, full, limit):
    """Move concepts at level k to where they gain most, until nobody waits or work is spent.

    ``stick``: share of its ties that a concept must gain to move. A tie means staying, so that
    nothing flips for ever; a little more means that a story keeps its concepts. ``hold``: the same
    for one whose own ties this batch did not change. ``full``: see ``best_slot``.
    ``limit``: value of the work counter at which to stop; who still waits then stays queued.
    """
    concept, lists, counters, row = st.concept, st.lists, st.counters, st.row
    path = st.path
    while counters[WORK] < limit:
        count = start_ring(concept, lists, counters, k)
        if count == 0:
            return
        for position in range(count):
            if counters[WORK] >= limit:
                return
            x = lists[RING, position]
            concept[x, QUEUED] &= ~(1 << k)
            c = concept[x, k]
            if c < 0:
                continue
            ties = load(st, x)
            if not choose(st, x, ties, k, c, stick, hold, full, path):
                continue
            loosen(concept, lists, counters, row, x, ties, k)
            change_path(st, x, k, path, ties)
            follow(concept, lists, counters, row, x, ties, k, c, path[k])
            for j in range(k + 1, DEPTH):
                if concept[x, j] >= 0:
                    enqueue(concept, lists, counters, x, j)
            counters[MOVES] += 1
