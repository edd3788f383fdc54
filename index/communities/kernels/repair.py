"""Connectivity: communities that came apart are cut, the smaller side gets the fresh slot.

Leaves are searched concept by concept, from all ends of lost ties at once; whether the children of
a community hang together is told by their bonds, without a look at the concepts.
"""

import numpy as np
from numba import njit

from index.communities.kernels.bonds import change_path
from index.communities.kernels.state import (
    DEPTH,
    FREE,
    KEY,
    NEXT,
    TORN,
    WORK,
    adopt_child,
    enqueue,
    give_up_child,
    inner_njit,
    take_path,
    take_slot,
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
def meet(mark, ring, root, waiting, y, own, tail):
    """The search of part ``own`` came upon y; returns the new tail, unions and its part."""
    if mark[y] == 0:
        mark[y] = own + 1
        ring[tail] = y
        waiting[own] += 1
        return tail + 1, 0, own
    other = find(root, mark[y] - 1)
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
    member, start, degree, size, head = st.member, st.start, st.degree, st.size, st.head
    neighbour, weight, bucket, logs, epoch = st.neighbour, st.weight, st.bucket, st.logs, st.epoch
    mark, ring, after, counters = st.mark, st.ring, st.after, st.counters
    c = member[x, k]
    unions = 0
    low, end = start[x], start[x] + degree[x]
    if degree[x] > HUB * size[c]:
        y = head[c]
        while y >= 0:
            i = lower_bound(low, end, y, neighbour)
            if i < end and neighbour[i] == y:
                value = tie(weight[i], bucket[x], bucket[y], logs, epoch)
                if value > 0:
                    tail, more, own = meet(mark, ring, root, waiting, y, own, tail)
                    unions += more
            y = after[y, k]
        counters[WORK] += HUB * size[c]
    else:
        for i in range(low, end):
            y = neighbour[i]
            if member[y, k] != c:
                continue
            if tie(weight[i], bucket[x], bucket[y], logs, epoch) == 0:
                continue
            tail, more, own = meet(mark, ring, root, waiting, y, own, tail)
            unions += more
        counters[WORK] += degree[x]
    waiting[own] -= 1
    return tail, unions, own


@inner_njit
def part(st, seeds, k, root, waiting):
    """Search from all seeds of one community at once until one part is left to search.

    Returns the number of concepts visited (in ``ring``, labelled in ``mark``) and the part whose
    search did not end, -1 where all ended. Searching in turn from all seeds, a part that is cut
    off ends after work in proportion to itself, not to the community.
    """
    n = len(seeds)
    for i in range(n):
        root[i] = i
        waiting[i] = 1
        st.mark[seeds[i]] = i + 1
        st.ring[i] = seeds[i]
    head, tail, open_parts = 0, n, n
    while open_parts > 1 and head < tail:
        x = st.ring[head]
        head += 1
        own = find(root, st.mark[x] - 1)
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
        x = st.ring[head]
        head += 1
        if find(root, st.mark[x] - 1) == rest:
            tail, _, _ = spread(st, x, k, rest, root, waiting, tail)
    return tail


@njit(cache=True)
def mend_leaves(st, seeds, offsets):
    """Cut every leaf that is not connected; returns the number of parts cut off.

    ``seeds[offsets[i]:offsets[i + 1]]`` are the concepts of one leaf whose ties in it were lost.
    There must be a free slot for each of the seeds.
    """
    cut = 0
    for group in range(len(offsets) - 1):
        own = seeds[offsets[group] : offsets[group + 1]]
        if len(own) < 2:  # every part holds such a concept: one means one part
            continue
        k = 0
        while k + 1 < DEPTH and st.member[own[0], k + 1] >= 0:
            k += 1
        root = np.empty(len(own), np.int32)
        waiting = np.empty(len(own), np.int32)
        head, tail, rest = part(st, own, k, root, waiting)
        sizes = np.zeros(len(own), np.int32)
        for i in range(tail):
            sizes[find(root, st.mark[st.ring[i]] - 1)] += 1
        c = st.member[own[0], k]
        if rest >= 0:
            sizes[rest] = 0
            sizes[rest] = st.size[c] - sizes.sum()
        kept = np.argmax(sizes)
        if rest >= 0 and kept != rest:
            tail = finish(st, k, head, tail, rest, root, waiting)
        cut += cut_off(st, k, c, tail, kept, root)
    return cut


@inner_njit
def cut_off(st, k, c, tail, kept, root):
    """Give every visited part but the kept one a slot of its own; clears ``mark``."""
    slots = np.full(len(root), -1, np.int32)
    path = np.empty(DEPTH, np.int32)
    parts = 0
    for i in range(tail):
        x = st.ring[i]
        own = find(root, st.mark[x] - 1)
        st.mark[x] = 0
        if own == kept:
            continue
        if slots[own] < 0:
            slots[own] = take_slot(st, k, st.parent[c])
            parts += 1
        take_path(path, st, x, k)
        path[k] = slots[own]
        change_path(st, x, k, path)
        enqueue(st.queued, st.listed, st.pending, st.counters, x, k)
    return parts


@inner_njit
def parts_of(st, c, order, label):
    """Number the parts of a community's children; ``order`` lists them part by part."""
    child_of, shared, bonds, bond, level = st.child, st.shared, st.bonds, st.bond, st.level
    parent, counters, next_child = st.parent, st.counters, st.next_child
    found, parts = 0, 0
    child = child_of[c]
    while child >= 0:
        if shared[child] == 0:
            parts += 1
            head = found
            shared[child] = parts
            order[found] = child
            found += 1
            while head < found:
                a = order[head]
                head += 1
                e = bonds[a]
                while e >= 0:
                    b = bond[e, KEY] & 0xFFFFFFFF
                    if level[b] == level[a] and parent[b] == c and shared[b] == 0:
                        shared[b] = parts
                        order[found] = b
                        found += 1
                    counters[WORK] += 1
                    e = bond[e, NEXT]
        child = next_child[child]
    for i in range(found):
        label[i] = shared[order[i]] - 1
        shared[order[i]] = 0
    return parts


@inner_njit
def move_child(st, child, to):
    """Move a community, with all that it holds, into another of its parent's level."""
    k = st.level[to]
    give_up_child(st, child)
    adopt_child(st, child, to)
    path = np.empty(DEPTH, np.int32)
    x = st.head[child]
    while x >= 0:
        take_path(path, st, x, DEPTH)
        path[k] = to
        change_path(st, x, k, path)
        enqueue(st.queued, st.listed, st.pending, st.counters, x, k)
        x = st.after[x, k + 1]


@inner_njit
def tear_apart(st, c):
    """Cut a community whose children do not hang together; returns the parts cut off."""
    order = np.empty(st.children[c], np.int32)
    label = np.empty(st.children[c], np.int32)
    parts = parts_of(st, c, order, label)
    if parts == 1:
        return 0
    sizes = np.zeros(parts, np.int64)
    for i in range(len(order)):
        sizes[label[i]] += st.size[order[i]]
    kept, to = np.argmax(sizes), -1
    for i in range(len(order)):
        if label[i] == kept:
            continue
        if i == 0 or label[i] != label[i - 1]:
            to = take_slot(st, st.level[c], st.parent[c])
        move_child(st, order[i], to)
    return parts - 1


@njit(cache=True)
def mend_torn(st):
    """Cut every community whose children came apart, from the lowest level up.

    The leaves must be mended. Returns the parts cut off and how many slots are wanted before
    another call must go on (0: all is mended).
    """
    cut = 0
    for k in range(DEPTH - 1, -1, -1):
        i = 0
        while i < st.counters[TORN]:
            c = st.torn[i]
            if st.level[c] != k:
                i += 1
                continue
            parted = st.size[c] > 0 and st.children[c] > 1
            if parted and st.children[c] > st.counters[FREE]:
                return cut, st.children[c]
            st.is_torn[c] = 0
            st.counters[TORN] -= 1
            st.torn[i] = st.torn[st.counters[TORN]]
            if parted:
                cut += tear_apart(st, c)
    return cut, 0


@njit(cache=True)
def subgraph(st, members):
    """The ties among some concepts, as compressed sparse rows (int64, int32, float64)."""
    mark, degree, start, neighbour, weight = st.mark, st.degree, st.start, st.neighbour, st.weight
    bucket, logs, epoch, counters = st.bucket, st.logs, st.epoch, st.counters
    for i in range(len(members)):
        mark[members[i]] = i + 1
    offsets = np.zeros(len(members) + 1, np.int64)
    total = 0
    for i in range(len(members)):
        total += degree[members[i]]
    columns, values = np.empty(total, np.int32), np.empty(total, np.float64)
    k = 0
    for i in range(len(members)):
        x = members[i]
        for e in range(start[x], start[x] + degree[x]):
            y = neighbour[e]
            if mark[y] == 0:
                continue
            value = tie(weight[e], bucket[x], bucket[y], logs, epoch)
            if value > 0:
                columns[k] = mark[y] - 1
                values[k] = value
                k += 1
        offsets[i + 1] = k
        counters[WORK] += degree[x]
    for i in range(len(members)):
        mark[members[i]] = 0
    return offsets, columns[:k].copy(), values[:k].copy()
