"""Connectivity: communities that came apart are cut, the smaller side gets the fresh slot."""

import numpy as np
from numba import njit

from index.communities.kernels.state import (
    DEPTH,
    WORK,
    change_path,
    enqueue,
    inner_njit,
    take_path,
    take_slot,
    tie,
)


@inner_njit
def find(root, i):
    """The representative of i, with path halving."""
    while root[i] != i:
        root[i] = root[root[i]]
        i = root[i]
    return i


@inner_njit
def spread(st, x, k, own, root, waiting, tail):
    """Visit the neighbours of x in its community at level k; returns the new tail and unions."""
    c = st.member[x, k]
    unions = 0
    low = st.start[x]
    for i in range(low, low + st.degree[x]):
        y = st.neighbour[i]
        if st.member[y, k] != c:
            continue
        if tie(st.weight[i], st.bucket[x], st.bucket[y], st.logs, st.epoch) == 0:
            continue
        if st.mark[y] == 0:
            st.mark[y] = own + 1
            st.ring[tail] = y
            tail += 1
            waiting[own] += 1
            continue
        other = find(root, st.mark[y] - 1)
        if other != own:
            low_one, high_one = min(own, other), max(own, other)
            root[high_one] = low_one
            waiting[low_one] += waiting[high_one]
            own = low_one
            unions += 1
    st.counters[WORK] += st.degree[x]
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
def mend(st, k, seeds, offsets):
    """Cut every community that is not connected; returns the number of parts cut off.

    There must be a free slot for each of the seeds.

    ``seeds[offsets[i]:offsets[i + 1]]`` are the dirty concepts of one community at level k.
    """
    cut = 0
    for group in range(len(offsets) - 1):
        own = seeds[offsets[group] : offsets[group + 1]]
        if len(own) < 2:  # every part holds a dirty concept: one means one part
            continue
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


@njit(cache=True)
def subgraph(st, members):
    """The ties among some concepts, as compressed sparse rows (int64, int32, float64)."""
    for i in range(len(members)):
        st.mark[members[i]] = i + 1
    offsets = np.zeros(len(members) + 1, np.int64)
    total = 0
    for i in range(len(members)):
        total += st.degree[members[i]]
    columns, values = np.empty(total, np.int32), np.empty(total, np.float64)
    k = 0
    for i in range(len(members)):
        x = members[i]
        for e in range(st.start[x], st.start[x] + st.degree[x]):
            y = st.neighbour[e]
            if st.mark[y] == 0:
                continue
            value = tie(st.weight[e], st.bucket[x], st.bucket[y], st.logs, st.epoch)
            if value > 0:
                columns[k] = st.mark[y] - 1
                values[k] = value
                k += 1
        offsets[i + 1] = k
        st.counters[WORK] += st.degree[x]
    for i in range(len(members)):
        st.mark[members[i]] = 0
    return offsets, columns[:k].copy(), values[:k].copy()
