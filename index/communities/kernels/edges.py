"""Changed ties: what they do to sums, bonds and queues; concepts that come and go."""

import numpy as np
from numba import njit

from index.communities.kernels.bonds import change_path, collect, pour
from index.communities.kernels.places import take_path, take_slot
from index.communities.kernels.state import (
    BATCH,
    CHANGED,
    DEPTH,
    FREE,
    FRONTIER,
    HEAD,
    INNER,
    IS_TOUCHED,
    LEVEL,
    LISTED,
    LOOSE,
    PENDING,
    PLUS,
    QUEUED,
    ROOT,
    SHIFT,
    SIZE,
    STIRRED,
    THRESHOLD,
    TIES,
    TOP,
    TOUCHED,
    WORK,
    ask_for,
    base_of,
    borrowed,
    enqueue,
    inner_njit,
    load,
    loose_end,
    soil,
    strength,
    tear,
    tie,
    touch,
    weaken,
)


@inner_njit
def unsettle(concept, lists, counters, x, y, old, new):
    """Queue those who may want to move for one changed tie, soil those who may be cut off.

    A weaker tie inside a community and a stronger one between two can make their ends move (the
    dynamic frontier of Sahu, DF-Leiden), once the changes sum up to the slack that was left when
    the end was last visited: a hub with thousands of ties is not scanned for each of them.
    """
    change = new - old
    for k in range(DEPTH):
        a, b = concept[x, k], concept[y, k]
        if a < 0 or b < 0:
            break
        if a != b:
            if change > 0:
                weaken(concept, lists, counters, x, k, change)
                weaken(concept, lists, counters, y, k, change)
            return
        if change < 0:
            weaken(concept, lists, counters, x, k, -change)
            weaken(concept, lists, counters, y, k, -change)
    if new == 0 and concept[x, 0] >= 0:
        soil(concept, lists, counters, x)
        soil(concept, lists, counters, y)


@inner_njit
def take_over(concept, lists, counters, along, sums, slots, x, y, old, new, near, below):
    """Let the tie of x to y be ``new``: all but what must be poured once x is done with."""
    step = int(new > 0) - int(old > 0)
    concept[x, TIES] += step
    concept[y, TIES] += step
    concept[y, STIRRED] = counters[BATCH]
    loose_end(concept, lists, counters, y)
    sums[0, INNER] += 2 * (new - old)
    near, below = collect(
        concept, concept[x], y, TOP, new - old, step, along, sums, slots, near, below
    )
    unsettle(concept, lists, counters, x, y, old, new)
    return near, below


@inner_njit
def take_changes(st, x, count):
    """Let the first ``count`` ties of x that are laid out in ``row`` go from old to new weights."""
    concept, lists, counters, along = st.concept, st.lists, st.counters, st.along
    sums, slots, row = st.sums, st.slots, st.row
    near, below, most = TOP, TOP, slots.shape[1] - 1
    concept[x, STIRRED] = counters[BATCH]
    ask_for(concept, row, count)
    for i in range(count):
        y, old, new = np.uint32(row[i, 0]), row[i, 1], row[i, 2]
        near, below = take_over(
            concept, lists, counters, along, sums, slots, x, y, old, new, near, below
        )
        # A slot whose changes cancel out may be listed again: pour before the list is full.
        if near >= most or below >= most:
            pour(st, concept[x], TOP, near, below, PLUS)
            near, below = TOP, TOP
    loose_end(concept, lists, counters, x)
    pour(st, concept[x], TOP, near, below, PLUS)


@njit(cache=True, nogil=True)
def retie(st, u, v, dw, held):
    """Take over pairs u < v (int32, sorted) whose w, once ``held``, has changed by ``dw``.

    Returns the number of ties that changed. Buckets are still the old ones.
    """
    st = borrowed(st)
    counters, logs, bucket, row = st.counters, st.logs, st.bucket, st.row
    base, threshold = TOP, counters[THRESHOLD]
    changed, count = TOP, TOP
    for i in range(len(u)):
        x, y = u[i], np.uint32(v[i])
        if i == 0 or x != u[i - 1]:
            base = base_of(bucket, counters, x)
        old = tie(held[i], bucket[y], logs, base, threshold)
        new = tie(held[i] + dw[i], bucket[y], logs, base, threshold)
        row[count, 0] = y
        row[count, 1] = old
        row[count, 2] = new
        count += old != new
        if count and (i + 1 == len(u) or u[i + 1] != x):
            take_changes(st, x, count)
            changed += count
            count = TOP
    return changed


@inner_njit
def load_changes(st, x, before, now):
    """Lay out in ``row`` whose ties x changes by crossing, their old and new weights; counts them.

    A loop of its own, so short that the processor reads many neighbours at once.
    """
    bucket, neighbour, weight, logs, row = st.bucket, st.neighbour, st.weight, st.logs, st.row
    counters = st.counters
    base, change = counters[SHIFT] - np.int64(before), np.int64(before) - np.int64(now)
    threshold = counters[THRESHOLD]
    count, low, length = np.uint64(0), np.uint64(st.start[x]), np.uint64(st.degree[x])
    for i in range(low, low + length):
        y, w = np.uint32(neighbour[i]), weight[i]
        old = strength(w, bucket[y], logs, base)
        new = old + np.int64(w) * change
        row[count, 0] = y
        row[count, 1] = old if old >= threshold else TOP
        row[count, 2] = new if new >= threshold else TOP
        count += np.uint64(max(old, new) >= threshold)
    counters[WORK] += length
    return np.int64(count)


@njit(cache=True, nogil=True)
def cross(st, concepts, buckets):
    """Let concepts go over into other buckets, after the counts changed; returns ties changed."""
    st = borrowed(st)
    changed = TOP
    for j in range(len(concepts)):
        x = concepts[j]
        before = st.bucket[x]
        st.bucket[x] = buckets[j]
        count = load_changes(st, x, before, buckets[j])
        st.counters[FRONTIER] += st.degree[x]
        take_changes(st, x, count)
        changed += count
    return changed


@inner_njit
def rehome(st):
    """Concepts without a tie belong nowhere; one with its first becomes a community of its own.

    Returns how many slots are wanted before another call must go on, 0 when all is done.
    """
    concept, lists, counters = st.concept, st.lists, st.counters
    path = st.path
    path[:] = -1
    for i in range(counters[LOOSE]):
        x = lists[LOOSE, i]
        ties = concept[x, TIES]
        if (ties == 0) == (concept[x, 0] < 0):
            continue
        if ties > 0 and counters[FREE] == 0:
            return counters[LOOSE] - i
        path[0] = take_slot(st, TOP, ROOT) if ties > 0 else np.int32(-1)
        change_path(st, x, TOP, path, load(st, x))
        if ties > 0:
            enqueue(concept, lists, counters, x, TOP)
    for i in range(counters[LOOSE]):
        concept[lists[LOOSE, i], LISTED] &= ~(1 << LOOSE)
    counters[LOOSE] = 0
    return 0


@inner_njit
def frontier_degree(st):
    """The sum of the degrees of the concepts that wait for a move, once for each level."""
    counters, lists, concept, degree = st.counters, st.lists, st.concept, st.degree
    total = 0
    for i in range(counters[PENDING]):
        x = lists[PENDING, i]
        bits = concept[x, QUEUED]
        while bits:
            total += degree[x]
            bits &= bits - 1
    return total


@njit(cache=True, nogil=True)
def count_ties(st):
    """Fill ``TIES``."""
    st = borrowed(st)
    for x in range(len(st.concept)):
        st.concept[x, TIES] = load(st, np.int32(x))


@njit(cache=True, nogil=True)
def doubt_all(st, queue):
    """Soil every member; let all wait for a move at each of their levels too if ``queue``."""
    st = borrowed(st)
    concept, lists, counters = st.concept, st.lists, st.counters
    for x in np.arange(len(concept), dtype=np.int32):
        loose_end(concept, lists, counters, x)
        if concept[x, 0] < 0:
            continue
        soil(concept, lists, counters, x)
        for k in range(DEPTH):
            if concept[x, k] >= 0:
                tear(st.slot, st.slots, counters, concept[x, k])
                if queue:
                    enqueue(concept, lists, counters, x, k)


@njit(cache=True, nogil=True)
def touch_all(st):
    """Note that the members of every living slot changed."""
    st = borrowed(st)
    for c in np.arange(1, len(st.slot), dtype=np.int32):
        if st.slot[c, SIZE] > 0:
            touch(st.slot, st.slots, st.counters, c)


@njit(cache=True, nogil=True)
def chain(st, c):
    """int32: the members of a slot, in the order of their chain."""
    st = borrowed(st)
    found = np.empty(st.slot[c, SIZE], np.int32)
    x, k = st.slot[c, HEAD], st.slot[c, LEVEL]
    for i in range(len(found)):
        found[i] = x
        x = st.after[x, k]
    return found


@njit(cache=True, nogil=True)
def chains(st, slots):
    """int32: the members of some slots, one slot after the other."""
    st = borrowed(st)
    total = 0
    for c in slots:
        total += st.slot[c, SIZE]
    found, count = np.empty(total, np.int32), 0
    for c in slots:
        x, k = st.slot[c, HEAD], st.slot[c, LEVEL]
        while x >= 0:
            found[count] = x
            count += 1
            x = st.after[x, k]
    return found


@njit(cache=True, nogil=True)
def lengthen(st, c, members, labels, count):
    """Give each member of a slot without children the child of its label, of ``count``."""
    st = borrowed(st)
    path, k = st.path, np.int64(st.slot[c, LEVEL]) + 1
    slots = np.empty(count, np.int32)
    for label in range(count):
        slots[label] = take_slot(st, k, np.int32(c))
    for i in range(len(members)):
        take_path(path, st.concept, members[i], k)
        path[k] = slots[labels[i]]
        change_path(st, members[i], k, path, load(st, members[i]))


@inner_njit
def shorten(st, members, k):
    """Take everything from level k on away from the members."""
    path = st.path
    for x in members:
        take_path(path, st.concept, x, k)
        change_path(st, x, k, path, load(st, x))


@njit(cache=True, nogil=True)
def all_ties(st):
    """The ties x < y of the graph: int32 u, int32 v, int64 weight."""
    st = borrowed(st)
    total = 0
    for x in range(len(st.concept)):
        total += st.concept[x, TIES]
    u, v = np.empty(total // 2, np.int32), np.empty(total // 2, np.int32)
    values = np.empty(total // 2, np.int64)
    k = 0
    for x in range(len(st.concept)):
        count = load(st, np.int32(x))
        for i in range(count):
            if st.row[i, 0] > x:
                u[k], v[k], values[k] = x, st.row[i, 0], st.row[i, 1]
                k += 1
    return u, v, values


@njit(cache=True, nogil=True)
def end_batch(st):
    """Free emptied slots, forget the journal, keep only those who still wait."""
    st = borrowed(st)
    counters, concept, lists, slot, slots = st.counters, st.concept, st.lists, st.slot, st.slots
    for i in range(counters[TOUCHED]):
        c = slots[TOUCHED, i]
        slot[c, IS_TOUCHED] = 0
        if slot[c, SIZE] == 0:
            slots[FREE, counters[FREE]] = c
            counters[FREE] += 1
    counters[TOUCHED] = 0
    for i in range(counters[CHANGED]):
        concept[lists[CHANGED, i], LISTED] &= ~(1 << CHANGED)
    counters[CHANGED] = 0
    kept = 0
    for i in range(counters[PENDING]):
        x = lists[PENDING, i]
        if concept[x, 0] < 0:
            concept[x, QUEUED] = 0
        if concept[x, QUEUED]:
            lists[PENDING, kept] = x
            kept += 1
        else:
            concept[x, LISTED] &= ~(1 << PENDING)
    counters[PENDING] = kept
