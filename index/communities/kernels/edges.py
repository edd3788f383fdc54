"""Changed ties: their weights before and after, and what they do to sums and queues."""

import numpy as np
from numba import njit

from index.communities.kernels.state import (
    CHANGED,
    DEPTH,
    FREE,
    PENDING,
    SEEDS,
    TOUCHED,
    add_tie,
    change_path,
    enqueue,
    journal,
    link,
    soil,
    take_path,
    take_slot,
    tie,
    weaken,
)
from index.counts.kernels import lower_bound


@njit(cache=True)
def pair_ties(u, v, start, degree, neighbour, weight, bucket, logs, epoch):
    """int64: the tie of each pair (int32 u, v), 0 where there is none."""
    found = np.zeros(len(u), np.int64)
    for i in range(len(u)):
        x, y = (u[i], v[i]) if degree[u[i]] < degree[v[i]] else (v[i], u[i])
        end = start[x] + degree[x]
        at = lower_bound(start[x], end, y, neighbour)
        if at < end and neighbour[at] == y:
            found[i] = tie(weight[at], bucket[x], bucket[y], logs, epoch)
    return found


@njit(cache=True)
def rows_of(concepts, start, degree, neighbour):
    """int64 keys ``low << 32 | high`` of all pairs of some concepts (a pair may come twice)."""
    total = 0
    for x in concepts:
        total += degree[x]
    keys = np.empty(total, np.int64)
    k = 0
    for x in concepts:
        for i in range(start[x], start[x] + degree[x]):
            a, b = min(x, neighbour[i]), max(x, neighbour[i])
            keys[k] = np.int64(a) << 32 | np.int64(b)
            k += 1
    return keys


@njit(cache=True)
def arrive(st, u, v, old, new):
    """Count ties; a concept with its first tie becomes a community of its own.

    There must be a free slot for each of them.
    """
    for i in range(len(u)):
        step = (new[i] > 0) - (old[i] > 0)
        if step == 0:
            continue
        st.ties[u[i]] += step
        st.ties[v[i]] += step
    for i in range(len(u)):
        for x in (u[i], v[i]):
            if st.ties[x] > 0 and st.member[x, 0] < 0:
                journal(st, x)
                link(st, x, 0, take_slot(st, 0, 0))
                enqueue(st.queued, st.listed, st.pending, st.counters, x, 0)


@njit(cache=True)
def retie(st, u, v, old, new):
    """Put the changes into the sums; queue who may want to move, soil who may be cut off.

    A weaker tie inside a community and a stronger one between two can make their ends move (the
    dynamic frontier of Sahu, DF-Leiden), once the changes sum up to the slack that was left when
    the end was last visited: a hub with thousands of ties is not scanned for each of them.
    """
    for i in range(len(u)):
        x, y, change = u[i], v[i], new[i] - old[i]
        if change == 0:
            continue
        st.inner[0] += 2 * change
        add_tie(st.member[x], st.member[y], 0, change, st.sums, st.inner)
        for k in range(DEPTH):
            a, b = st.member[x, k], st.member[y, k]
            if a < 0 or b < 0:
                break
            if a != b:
                if change > 0:
                    weaken(st.slack, st.queued, st.listed, st.pending, st.counters, x, k, change)
                    weaken(st.slack, st.queued, st.listed, st.pending, st.counters, y, k, change)
                break
            if change < 0:
                weaken(st.slack, st.queued, st.listed, st.pending, st.counters, x, k, -change)
                weaken(st.slack, st.queued, st.listed, st.pending, st.counters, y, k, -change)
                if new[i] == 0:
                    soil(st.dirty, st.listed, st.seeds, st.counters, x, k)
                    soil(st.dirty, st.listed, st.seeds, st.counters, y, k)


@njit(cache=True)
def depart(st, u, v):
    """Concepts that lost their last tie belong nowhere."""
    nowhere = np.full(DEPTH, -1, np.int32)
    for i in range(len(u)):
        for x in (u[i], v[i]):
            if st.ties[x] == 0 and st.member[x, 0] >= 0:
                change_path(st, x, 0, nowhere)


@njit(cache=True)
def frontier_degree(st):
    """The sum of the degrees of the concepts that wait for a move, once for each level."""
    total = 0
    for i in range(st.counters[PENDING]):
        x = st.pending[i]
        for k in range(DEPTH):
            if st.queued[x] >> k & 1:
                total += st.degree[x]
    return total


@njit(cache=True)
def count_ties(st):
    """Fill ``ties``."""
    for x in range(len(st.member)):
        st.ties[x] = 0
        for i in range(st.start[x], st.start[x] + st.degree[x]):
            y = st.neighbour[i]
            st.ties[x] += tie(st.weight[i], st.bucket[x], st.bucket[y], st.logs, st.epoch) > 0


@njit(cache=True)
def recount(st):
    """Fill ``sums`` and ``inner`` (zero before) from every tie of the graph."""
    for x in range(len(st.member)):
        for i in range(st.start[x], st.start[x] + st.degree[x]):
            y = st.neighbour[i]
            if y <= x:
                continue
            value = tie(st.weight[i], st.bucket[x], st.bucket[y], st.logs, st.epoch)
            if value > 0:
                st.inner[0] += 2 * value
                add_tie(st.member[x], st.member[y], 0, value, st.sums, st.inner)


@njit(cache=True)
def doubt_all(st, queue):
    """Soil every member at each of its levels; let all wait for a move too if ``queue``."""
    for x in range(len(st.member)):
        for k in range(DEPTH):
            if st.member[x, k] < 0:
                break
            soil(st.dirty, st.listed, st.seeds, st.counters, x, k)
            if queue:
                enqueue(st.queued, st.listed, st.pending, st.counters, x, k)


@njit(cache=True)
def chain(st, c):
    """int32: the members of a slot, in the order of their chain."""
    found = np.empty(st.size[c], np.int32)
    x = st.head[c]
    for i in range(st.size[c]):
        found[i] = x
        x = st.after[x, st.level[c]]
    return found


@njit(cache=True)
def lengthen(st, members, labels, slots, k):
    """Give each member the slot of its label at level k, one below its leaf."""
    path = np.empty(DEPTH, np.int32)
    for i in range(len(members)):
        take_path(path, st, members[i], k)
        path[k] = slots[labels[i]]
        change_path(st, members[i], k, path)


@njit(cache=True)
def shorten(st, members, k):
    """Take everything from level k on away from the members."""
    path = np.empty(DEPTH, np.int32)
    for x in members:
        take_path(path, st, x, k)
        change_path(st, x, k, path)


@njit(cache=True)
def all_ties(st):
    """The ties x < y of the graph: int32 u, int32 v, int64 weight."""
    total = 0
    for x in range(len(st.member)):
        total += st.ties[x]
    u, v = np.empty(total // 2, np.int32), np.empty(total // 2, np.int32)
    values = np.empty(total // 2, np.int64)
    k = 0
    for x in range(len(st.member)):
        for i in range(st.start[x], st.start[x] + st.degree[x]):
            y = st.neighbour[i]
            if y <= x:
                continue
            value = tie(st.weight[i], st.bucket[x], st.bucket[y], st.logs, st.epoch)
            if value > 0:
                u[k], v[k], values[k] = x, y, value
                k += 1
    return u, v, values


@njit(cache=True)
def requeue(st, concepts):
    """Let concepts wait for a move at each of their levels."""
    for x in concepts:
        for k in range(DEPTH):
            if st.member[x, k] < 0:
                break
            enqueue(st.queued, st.listed, st.pending, st.counters, x, k)


@njit(cache=True)
def end_batch(st):
    """Free emptied slots, forget the journal, keep only those who still wait."""
    for i in range(st.counters[TOUCHED]):
        c = st.touched[i]
        st.is_touched[c] = 0
        if st.size[c] == 0:
            st.free[st.counters[FREE]] = c
            st.counters[FREE] += 1
    st.counters[TOUCHED] = 0
    for i in range(st.counters[CHANGED]):
        st.listed[st.changed[i]] &= ~4
    st.counters[CHANGED] = 0
    for i in range(st.counters[SEEDS]):
        st.listed[st.seeds[i]] &= ~2
        st.dirty[st.seeds[i]] = 0
    st.counters[SEEDS] = 0
    kept = 0
    for i in range(st.counters[PENDING]):
        x = st.pending[i]
        if st.member[x, 0] < 0:
            st.queued[x] = 0
        if st.queued[x]:
            st.pending[kept] = x
            kept += 1
        else:
            st.listed[x] &= ~1
    st.counters[PENDING] = kept
