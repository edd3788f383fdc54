"""Connectivity: communities whose children came apart are cut, as their bonds tell."""

import numpy as np
from numba import njit

from index.communities.kernels.bonds import change_path
from index.communities.kernels.leaves import mend_leaves
from index.communities.kernels.places import adopt_child, give_up_child, take_path, take_slot
from index.communities.kernels.state import (
    BONDED,
    CHILD,
    CHILDREN,
    CUT,
    DEPTH,
    FREE,
    HEAD,
    IS_TORN,
    LEVEL,
    LOST,
    MARK,
    NEXT,
    NEXT_CHILD,
    OTHER,
    PARENT,
    REPAIRED,
    SEEDS,
    SHARED,
    SIZE,
    TORN,
    WANTED,
    WORK,
    borrowed,
    enqueue,
    inner_njit,
    load,
    making_njit,
)

DONE, MORE_SLOTS, RECOUNT, SPLIT = range(4)
"""What a kernel that stopped asks for before it can go on."""


@inner_njit
def parts_of(st, c, order, label):
    """Number the parts of a community's children; ``order`` lists them part by part."""
    slot, sums, bond, counters = st.slot, st.sums, st.bond, st.counters
    found, parts = 0, 0
    child = slot[c, CHILD]
    while child >= 0:
        if sums[child, SHARED] == 0:
            parts += 1
            head = found
            sums[child, SHARED] = parts
            order[found] = child
            found += 1
            while head < found < len(order):  # once all are found, no more bonds need be seen
                a = order[head]
                head += 1
                e = np.int64(slot[a, BONDED])
                while e >= 0 and found < len(order):
                    b = bond[e, OTHER]
                    beside = slot[b, LEVEL] == slot[a, LEVEL] and slot[b, PARENT] == c
                    if beside and sums[b, SHARED] == 0:
                        sums[b, SHARED] = parts
                        order[found] = b
                        found += 1
                    counters[WORK] += 1
                    e = bond[e, NEXT]
        child = slot[child, NEXT_CHILD]
    for i in range(found):
        label[i] = sums[order[i], SHARED] - 1
        sums[order[i], SHARED] = 0
    return parts


@inner_njit
def move_child(st, child, to):
    """Move a community, with all that it holds, into another of its parent's level."""
    concept, counters, k = st.concept, st.counters, np.int64(st.slot[to, LEVEL])
    give_up_child(st.slot, st.slots, counters, child)
    adopt_child(st.slot, st.slots, counters, child, to)
    path = st.path
    x = st.slot[child, HEAD]
    while x >= 0:
        take_path(path, concept, x, DEPTH)
        path[k] = to
        change_path(st, x, k, path, load(st, x))
        enqueue(concept, st.lists, counters, x, k)
        x = st.after[x, k + 1]


@making_njit
def tear_apart(st, c):
    """Cut a community whose children do not hang together; returns the parts cut off."""
    slot = st.slot
    order = np.empty(slot[c, CHILDREN], np.int32)
    label = np.empty(slot[c, CHILDREN], np.int32)
    parts = parts_of(st, c, order, label)
    if parts == 1:
        return 0
    sizes = np.zeros(parts, np.int64)
    for i in range(len(order)):
        sizes[label[i]] += slot[order[i], SIZE]
    kept, to = np.argmax(sizes), np.int32(-1)
    for i in range(len(order)):
        if label[i] == kept:
            continue
        if i == 0 or label[i] != label[i - 1]:
            to = take_slot(st, np.int64(slot[c, LEVEL]), slot[c, PARENT])
        move_child(st, order[i], to)
    return parts - 1


@inner_njit
def mend_torn(st):
    """Cut every community whose children came apart, from the lowest level up.

    The leaves must be mended. Returns how many slots are wanted before another call must go on
    (0: all is mended).
    """
    slot, slots, counters = st.slot, st.slots, st.counters
    for k in range(DEPTH - 1, -1, -1):
        i = 0
        while i < counters[TORN]:
            c = slots[TORN, i]
            if slot[c, LEVEL] != k:
                i += 1
                continue
            parted = slot[c, SIZE] > 0 and slot[c, CHILDREN] > 1
            if parted and slot[c, CHILDREN] > counters[FREE]:
                return slot[c, CHILDREN]
            slot[c, IS_TORN] = 0
            counters[TORN] -= 1
            slots[TORN, i] = slots[TORN, counters[TORN]]
            if parted:
                counters[CUT] += tear_apart(st, c)
    return 0


@inner_njit
def mend(st):
    """Cut what came apart: leaves first, then those whose children do not hang together."""
    counters = st.counters
    if counters[LOST]:
        return RECOUNT
    if counters[SEEDS] == 0 and counters[TORN] == 0:
        return DONE
    if counters[SEEDS] > counters[FREE]:
        counters[WANTED] = counters[SEEDS]
        return MORE_SLOTS
    before = counters[WORK]
    mend_leaves(st)
    counters[WANTED] = mend_torn(st)
    counters[REPAIRED] += counters[WORK] - before
    return MORE_SLOTS if counters[WANTED] else DONE


@njit(cache=True, nogil=True)
def subgraph(st, members):
    """The ties among some concepts, as compressed sparse rows (int64, int32, float64)."""
    st = borrowed(st)
    concept, row, degree = st.concept, st.row, st.degree
    offsets = np.zeros(len(members) + 1, np.int64)
    total = 0
    for i in range(len(members)):
        concept[members[i], MARK] = i + 1
        total += degree[members[i]]
    columns, values = np.empty(total, np.int32), np.empty(total, np.float64)
    k = 0
    for i in range(len(members)):
        count = load(st, members[i])
        for e in range(count):
            place = concept[row[e, 0], MARK]
            if place > 0:
                columns[k] = place - 1
                values[k] = row[e, 1]
                k += 1
        offsets[i + 1] = k
    for i in range(len(members)):
        concept[members[i], MARK] = 0
    return offsets, columns[:k].copy(), values[:k].copy()
