"""Changed ties: what they do to sums, bonds and queues; concepts that come and go."""

import numpy as np
from numba import njit

from index.communities.kernels.bonds import change_path, collect, pour
from index.communities.kernels.state import (
    CHANGED,
    DEPTH,
    FREE,
    LOOSE,
    PENDING,
    TOUCHED,
    WORK,
    enqueue,
    inner_njit,
    loose_end,
    soil,
    take_path,
    take_slot,
    tear,
    tie,
    weaken,
)
from index.counts.kernels import lower_bound


@inner_njit
def unsettle(member, slack, queued, listed, pending, seeds, counters, x, y, old, new):
    """Queue those who may want to move for one changed tie, soil those who may be cut off.

    A weaker tie inside a community and a stronger one between two can make their ends move (the
    dynamic frontier of Sahu, DF-Leiden), once the changes sum up to the slack that was left when
    the end was last visited: a hub with thousands of ties is not scanned for each of them.
    """
    change = new - old
    for k in range(DEPTH):
        a, b = member[x, k], member[y, k]
        if a < 0 or b < 0:
            break
        if a != b:
            if change > 0:
                weaken(slack, queued, listed, pending, counters, x, k, change)
                weaken(slack, queued, listed, pending, counters, y, k, change)
            return
        if change < 0:
            weaken(slack, queued, listed, pending, counters, x, k, -change)
            weaken(slack, queued, listed, pending, counters, y, k, -change)
    if new == 0 and member[x, 0] >= 0:
        soil(listed, seeds, counters, x)
        soil(listed, seeds, counters, y)


@njit(cache=True)
def retie(st, u, v, dw):
    """Take over pairs u < v (int32, sorted) whose w has already changed by ``dw``.

    Returns the number of ties that changed. Buckets are still the old ones.
    """
    member, bucket, logs, epoch, ties = st.member, st.bucket, st.logs, st.epoch, st.ties
    neighbour, counters, size, start, degree = (
        st.neighbour,
        st.counters,
        st.size,
        st.start,
        st.degree,
    )
    weight, listed, loose, inner, along = st.weight, st.listed, st.loose, st.inner, st.along
    pot, pot_list, slack, queued, pending = st.pot, st.pot_list, st.slack, st.queued, st.pending
    seeds = st.seeds
    most = len(size) - 1
    changed, near, below = 0, 0, 0
    for i in range(len(u)):
        x, y = u[i], v[i]
        if i == 0 or x != u[i - 1]:
            at = start[x]
            end = at + degree[x]
        at = lower_bound(at, end, y, neighbour)
        now = weight[at] if at < end and neighbour[at] == y else np.int32(0)
        was = now - dw[i]
        old = tie(was, bucket[x], bucket[y], logs, epoch) if was else np.int64(0)
        new = tie(now, bucket[x], bucket[y], logs, epoch) if now else np.int64(0)
        if old != new:
            changed += 1
            step = int(new > 0) - int(old > 0)
            ties[x] += step
            ties[y] += step
            loose_end(ties, member, listed, loose, counters, y)
            inner[0] += 2 * (new - old)
            near, below = collect(
                member, member[x], y, 0, new - old, step, along, pot, pot_list, near, below
            )
            unsettle(
                member,
                slack,
                queued,
                listed,
                pending,
                seeds,
                counters,
                x,
                y,
                old,
                new,
            )
        # A slot whose changes cancel out may be listed again: pour before the list is full.
        if i + 1 == len(u) or u[i + 1] != x or near >= most or below >= most:
            loose_end(ties, member, listed, loose, counters, x)
            pour(st, member[x], 0, near, below, 1)
            near, below = 0, 0
    return changed


@njit(cache=True)
def cross(st, concepts, buckets):
    """Let concepts go over into other buckets, after the counts changed; returns ties changed."""
    member, bucket, logs, epoch, ties = st.member, st.bucket, st.logs, st.epoch, st.ties
    counters, start, degree, neighbour, weight = (
        st.counters,
        st.start,
        st.degree,
        st.neighbour,
        st.weight,
    )
    listed, loose, inner, along, pot = st.listed, st.loose, st.inner, st.along, st.pot
    pot_list, slack, queued, pending, seeds = st.pot_list, st.slack, st.queued, st.pending, st.seeds
    changed = 0
    for j in range(len(concepts)):
        x, before = concepts[j], bucket[concepts[j]]
        path = member[x]
        bucket[x] = buckets[j]
        near, below = 0, 0
        low = start[x]
        for i in range(low, low + degree[x]):
            y = neighbour[i]
            old = tie(weight[i], before, bucket[y], logs, epoch)
            new = tie(weight[i], bucket[x], bucket[y], logs, epoch)
            if old == new:
                continue
            changed += 1
            step = int(new > 0) - int(old > 0)
            ties[x] += step
            ties[y] += step
            loose_end(ties, member, listed, loose, counters, y)
            inner[0] += 2 * (new - old)
            near, below = collect(
                member, path, y, 0, new - old, step, along, pot, pot_list, near, below
            )
            unsettle(
                member,
                slack,
                queued,
                listed,
                pending,
                seeds,
                counters,
                x,
                y,
                old,
                new,
            )
        counters[WORK] += degree[x]
        loose_end(ties, member, listed, loose, counters, x)
        pour(st, path, 0, near, below, 1)
        for k in range(DEPTH):
            if member[x, k] < 0:
                break
            enqueue(queued, listed, pending, counters, x, k)
    return changed


@njit(cache=True)
def rehome(st):
    """Concepts without a tie belong nowhere; one with its first becomes a community of its own.

    Returns how many slots are wanted before another call must go on, 0 when all is done.
    """
    path = np.full(DEPTH, -1, np.int32)
    for i in range(st.counters[LOOSE]):
        x = st.loose[i]
        if st.ties[x] == 0 and st.member[x, 0] >= 0:
            change_path(st, x, 0, path)
        if st.ties[x] == 0 or st.member[x, 0] >= 0:
            continue
        if st.counters[FREE] == 0:
            return st.counters[LOOSE] - i
        path[0] = take_slot(st, 0, 0)
        change_path(st, x, 0, path)
        path[0] = -1
        enqueue(st.queued, st.listed, st.pending, st.counters, x, 0)
    for i in range(st.counters[LOOSE]):
        st.listed[st.loose[i]] &= ~8
    st.counters[LOOSE] = 0
    return 0


@njit(cache=True)
def frontier_degree(st):
    """The sum of the degrees of the concepts that wait for a move, once for each level."""
    counters, pending, queued, degree = st.counters, st.pending, st.queued, st.degree
    total = 0
    for i in range(counters[PENDING]):
        x = pending[i]
        for k in range(DEPTH):
            if queued[x] >> k & 1:
                total += degree[x]
    return total


@njit(cache=True)
def count_ties(st):
    """Fill ``ties``."""
    member, ties, start, degree, neighbour = st.member, st.ties, st.start, st.degree, st.neighbour
    weight, bucket, logs, epoch = st.weight, st.bucket, st.logs, st.epoch
    for x in range(len(member)):
        ties[x] = 0
        for i in range(start[x], start[x] + degree[x]):
            y = neighbour[i]
            ties[x] += tie(weight[i], bucket[x], bucket[y], logs, epoch) > 0


@njit(cache=True)
def doubt_all(st, queue):
    """Soil every member; let all wait for a move at each of their levels too if ``queue``."""
    member, ties, listed, loose, counters = st.member, st.ties, st.listed, st.loose, st.counters
    seeds, is_torn, torn, queued, pending = st.seeds, st.is_torn, st.torn, st.queued, st.pending
    for x in range(len(member)):
        loose_end(ties, member, listed, loose, counters, x)
        if member[x, 0] < 0:
            continue
        soil(listed, seeds, counters, x)
        for k in range(DEPTH):
            if member[x, k] >= 0:
                tear(is_torn, torn, counters, member[x, k])
            if queue and member[x, k] >= 0:
                enqueue(queued, listed, pending, counters, x, k)


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
    member, ties, start, degree, neighbour = st.member, st.ties, st.start, st.degree, st.neighbour
    weight, bucket, logs, epoch = st.weight, st.bucket, st.logs, st.epoch
    total = 0
    for x in range(len(member)):
        total += ties[x]
    u, v = np.empty(total // 2, np.int32), np.empty(total // 2, np.int32)
    values = np.empty(total // 2, np.int64)
    k = 0
    for x in range(len(member)):
        for i in range(start[x], start[x] + degree[x]):
            y = neighbour[i]
            if y <= x:
                continue
            value = tie(weight[i], bucket[x], bucket[y], logs, epoch)
            if value > 0:
                u[k], v[k], values[k] = x, y, value
                k += 1
    return u, v, values


@njit(cache=True)
def end_batch(st):
    """Free emptied slots, forget the journal, keep only those who still wait."""
    counters, touched, is_touched, size, free = (
        st.counters,
        st.touched,
        st.is_touched,
        st.size,
        st.free,
    )
    listed, changed, pending, member, queued = (
        st.listed,
        st.changed,
        st.pending,
        st.member,
        st.queued,
    )
    for i in range(counters[TOUCHED]):
        c = touched[i]
        is_touched[c] = 0
        if size[c] == 0:
            free[counters[FREE]] = c
            counters[FREE] += 1
    counters[TOUCHED] = 0
    for i in range(counters[CHANGED]):
        listed[changed[i]] &= ~4
    counters[CHANGED] = 0
    kept = 0
    for i in range(counters[PENDING]):
        x = pending[i]
        if member[x, 0] < 0:
            queued[x] = 0
        if queued[x]:
            pending[kept] = x
            kept += 1
        else:
            listed[x] &= ~1
    counters[PENDING] = kept
