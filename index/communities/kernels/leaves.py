"""Connectivity of leaves: one that came apart is cut, the smaller side gets the fresh slot.

They are searched concept by concept, from all ends of lost ties at once.
"""

import numpy as np

from index.communities.kernels.bonds import change_path
from index.communities.kernels.places import take_path, take_slot
from index.communities.kernels.state import (
    CUT,
    DEPTH,
    HEAD,
    LISTED,
    MARK,
    PARENT,
    RING,
    SEEDS,
    SIZE,
    THRESHOLD,
    TOP,
    WORK,
    base_of,
    enqueue,
    inner_njit,
    load,
    making_njit,
    tie,
)
from index.counts.kernels import lower_bound

HUB = 8
"""Neighbours for each member of a community beyond which members are looked up in a row."""


@inner_njit
def find(root, i):
    """The representative of i, with path halving."""
    while root[i] != i:
        root[i] = root[root[i]]
        i = root[i]
    return i


@inner_njit
def meet(concept, lists, root, waiting, y, own, tail):
    """The search of part ``own`` came upon y; returns the new tail, unions and its part."""
    if concept[y, MARK] == 0:
        concept[y, MARK] = own + 1
        lists[RING, tail] = y
        waiting[own] += 1
        return tail + 1, 0, own
    other = find(root, concept[y, MARK] - 1)
    if other == own:
        return tail, 0, own
    low_one, high_one = min(own, other), max(own, other)
    root[high_one] = low_one
    waiting[low_one] += waiting[high_one]
    return tail, 1, low_one


@inner_njit
def spread(st, x, k, own, root, waiting, tail):
    """Visit the neighbours of x in its community at level k; returns the new tail and unions.

    The row of a hub is not scanned: the members are looked up in it. So a search costs at most
    in proportion to the square of the community's size, whatever its members' degrees.
    """
    concept, lists, slot, counters = st.concept, st.lists, st.slot, st.counters
    neighbour, weight, logs, bucket = st.neighbour, st.weight, st.logs, st.bucket
    c, base, threshold = concept[x, k], base_of(bucket, counters, x), counters[THRESHOLD]
    unions = 0
    low, end = st.start[x], st.start[x] + st.degree[x]
    if st.degree[x] > HUB * slot[c, SIZE]:
        y = slot[c, HEAD]
        while y >= 0:
            i = lower_bound(low, end, y, neighbour)
            if (
                i < end
                and neighbour[i] == y
                and tie(weight[i], bucket[y], logs, base, threshold) > 0
            ):
                tail, more, own = meet(concept, lists, root, waiting, y, own, tail)
                unions += more
            y = st.after[y, k]
        counters[WORK] += HUB * slot[c, SIZE]
    else:
        for i in range(low, end):
            y = neighbour[i]
            if concept[y, k] != c:
                continue
            if tie(weight[i], bucket[y], logs, base, threshold) == 0:
                continue
            tail, more, own = meet(concept, lists, root, waiting, y, own, tail)
            unions += more
        counters[WORK] += st.degree[x]
    waiting[own] -= 1
    return tail, unions, own


@inner_njit
def part(st, seeds, k, root, waiting):
    """Search from all seeds of one community at once until one part is left to search.

    Returns the number of concepts visited (in RING, labelled in ``MARK``) and the part whose
    search did not end, -1 where all ended. Searching in turn from all seeds, a part that is cut
    off ends after work in proportion to itself, not to the community.
    """
    concept, lists = st.concept, st.lists
    n = len(seeds)
    for i in range(n):
        root[i] = i
        waiting[i] = 1
        concept[seeds[i], MARK] = i + 1
        lists[RING, i] = seeds[i]
    head, tail, open_parts = 0, n, n
    while open_parts > 1 and head < tail:
        x = lists[RING, head]
        head += 1
        own = find(root, concept[x, MARK] - 1)
        tail, unions, own = spread(st, x, k, own, root, waiting, tail)
        open_parts -= unions
        if waiting[own] == 0:
            open_parts -= 1
    rest = -1
    for i in range(n):
        if root[i] == i and waiting[i] > 0:
            rest = i
    return head, tail, rest


@inner_njit
def finish(st, k, head, tail, rest, root, waiting):
    """Search the part that is left to its end; returns the new tail."""
    while head < tail:
        x = st.lists[RING, head]
        head += 1
        if find(root, st.concept[x, MARK] - 1) == rest:
            tail, _, _ = spread(st, x, k, rest, root, waiting, tail)
    return tail


@making_njit
def mend_leaf(st, seeds):
    """Cut one leaf where it is not connected; ``seeds``: its concepts whose ties in it were lost.

    Returns the number of parts cut off. There must be a free slot for each of the seeds.
    """
    concept, k = st.concept, TOP
    while k + 1 < DEPTH and concept[seeds[0], k + 1] >= 0:
        k += 1
    root = np.empty(len(seeds), np.int32)
    waiting = np.empty(len(seeds), np.int32)
    head, tail, rest = part(st, seeds, k, root, waiting)
    sizes = np.zeros(len(seeds), np.int32)
    for i in range(tail):
        sizes[find(root, concept[st.lists[RING, i], MARK] - 1)] += 1
    c = concept[seeds[0], k]
    if rest >= 0:
        sizes[rest] = 0
        sizes[rest] = st.slot[c, SIZE] - sizes.sum()
    kept = np.argmax(sizes)
    if rest >= 0 and kept != rest:
        tail = finish(st, k, head, tail, rest, root, waiting)
    return cut_off(st, k, c, tail, kept, root)


@making_njit
def doubtful(st):
    """Who is in SEEDS, as ``slot of the leaf << 32 | concept`` in order; the list is emptied."""
    concept, lists, counters = st.concept, st.lists, st.counters
    keys = np.empty(counters[SEEDS], np.int64)
    count = 0
    for i in range(counters[SEEDS]):
        x = lists[SEEDS, i]
        concept[x, LISTED] &= ~(1 << SEEDS)
        if concept[x, 0] < 0:
            continue
        k = TOP
        while k + 1 < DEPTH and concept[x, k + 1] >= 0:
            k += 1
        keys[count] = np.int64(concept[x, k]) << 32 | x
        count += 1
    counters[SEEDS] = 0
    keys = keys[:count]
    keys.sort()
    return keys


@making_njit
def mend_leaves(st):
    """Cut every leaf that is not connected; there must be a free slot for each in SEEDS.

    Of a leaf's seeds those with few neighbours come first: they find the hubs among the others at
    once, and the long row of a hub is seldom searched.
    """
    keys, degree = doubtful(st), st.degree
    own = np.empty(len(keys), np.int32)
    start = 0
    while start < len(keys):
        end = start
        while end < len(keys) and keys[end] >> 32 == keys[start] >> 32:
            x = np.int32(keys[end] & 0xFFFFFFFF)
            at = end
            while at > start and degree[own[at - 1]] > degree[x]:
                own[at] = own[at - 1]
                at -= 1
            own[at] = x
            end += 1
        if end - start > 1:  # every part holds a seed: one means one part
            st.counters[CUT] += mend_leaf(st, own[start:end])
        start = end


@making_njit
def cut_off(st, k, c, tail, kept, root):
    """Give every visited part but the kept one a slot of its own; clears ``MARK``."""
    concept, lists, counters = st.concept, st.lists, st.counters
    slots = np.full(len(root), -1, np.int32)
    path = st.path
    parts = 0
    for i in range(tail):
        x = lists[RING, i]
        own = find(root, concept[x, MARK] - 1)
        concept[x, MARK] = 0
        if own == kept:
            continue
        if slots[own] < 0:
            slots[own] = take_slot(st, k, st.slot[c, PARENT])
            parts += 1
        take_path(path, concept, x, k)
        path[k] = slots[own]
        change_path(st, x, k, path, load(st, x))
        enqueue(concept, lists, counters, x, k)
    return parts
