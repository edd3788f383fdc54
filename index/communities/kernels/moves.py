"""Local moves of concepts, and moves of whole leaves, at one level."""

import numpy as np
from numba import njit

from index.communities.kernels.bonds import change_path
from index.communities.kernels.repair import move_child
from index.communities.kernels.state import (
    DEPTH,
    FREE,
    KEY,
    LOST,
    MOVES,
    NEXT,
    PENDING,
    TOUCHED,
    VALUE,
    WORK,
    enqueue,
    inner_njit,
    soil,
    take_path,
    take_slot,
    tie,
    weaken,
)

MOST = 2.0**31 - 1
"""The largest slack that is kept."""


@inner_njit
def gather(st, x, k, count):
    """Add the ties of x inside its parent to ``shared`` by slot at level k.

    ``near[:count]`` lists the slots; returns its new length and the sum of the ties.
    """
    start, degree, neighbour, member, weight = (
        st.start,
        st.degree,
        st.neighbour,
        st.member,
        st.weight,
    )
    bucket, logs, epoch, shared, near = st.bucket, st.logs, st.epoch, st.shared, st.near
    counters = st.counters
    low = start[x]
    total = np.int64(0)
    for i in range(low, low + degree[x]):
        y = neighbour[i]
        c = member[y, k]
        if c < 0 or (k > 0 and member[y, k - 1] != member[x, k - 1]):
            continue
        value = tie(weight[i], bucket[x], bucket[y], logs, epoch)
        if value == 0:
            continue
        if shared[c] == 0:
            near[count] = c
            count += 1
        shared[c] += value
        total += value
    counters[WORK] += degree[x]
    return count, total


@inner_njit
def best_slot(st, own, total, count, whole):
    """The slot but ``own`` that is best to join (-1: none) and what joining gains.

    Gain of joining c: ties to c less ``total * sums[c] / whole`` (resolution 1). Of equal slots
    the lowest. Clears ``shared``.
    """
    near, shared, sums = st.near, st.shared, st.sums
    margin = 1e-9 * (1.0 + total)
    best, chosen = -np.inf, -1
    for j in range(count):
        c = near[j]
        if c != own:
            gain = shared[c] - total * (sums[c] / whole)
            if gain > best + margin or (gain > best - margin and c < chosen):
                best = max(gain, best)
                chosen = c
        shared[c] = 0
    return chosen, best


@inner_njit
def descend(st, x, k, path):
    """Complete the path of x below level k: at each level the child that suits it best."""
    start, children, degree, neighbour, member = (
        st.start,
        st.children,
        st.degree,
        st.neighbour,
        st.member,
    )
    weight, bucket, logs, epoch, shared = st.weight, st.bucket, st.logs, st.epoch, st.shared
    near, inner, counters = st.near, st.inner, st.counters
    low = start[x]
    for j in range(k + 1, DEPTH):
        above = path[j - 1]
        path[j] = -1
        if children[above] == 0:
            return
        count, total = 0, np.int64(0)
        for i in range(low, low + degree[x]):
            y = neighbour[i]
            c = member[y, j]
            if c < 0 or member[y, j - 1] != above:
                continue
            value = tie(weight[i], bucket[x], bucket[y], logs, epoch)
            if value == 0:
                continue
            if shared[c] == 0:
                near[count] = c
                count += 1
            shared[c] += value
            total += value
        whole = max(inner[above], np.int64(1))
        path[j], _ = best_slot(st, -1, total, count, whole)
        counters[WORK] += degree[x]


@inner_njit
def start_ring(st, k):
    """Fill the ring with those who wait at level k; returns how many."""
    count = 0
    for i in range(st.counters[PENDING]):
        if st.queued[st.pending[i]] >> k & 1:
            st.ring[count] = st.pending[i]
            count += 1
    return count


@inner_njit
def loosen(st, x, first):
    """Before x leaves its place from a level on: who may be cut off, who may want to follow."""
    member, listed, start, degree, neighbour = (
        st.member,
        st.listed,
        st.start,
        st.degree,
        st.neighbour,
    )
    weight, bucket, logs, epoch, slack = st.weight, st.bucket, st.logs, st.epoch, st.slack
    queued, pending, counters, seeds = st.queued, st.pending, st.counters, st.seeds
    last = first
    while last + 1 < DEPTH and member[x, last + 1] >= 0:
        last += 1
    alone = not listed[x] & 2
    seen, only = 0, -1
    low = start[x]
    for i in range(low, low + degree[x]):
        y = neighbour[i]
        if member[y, first] != member[x, first]:
            continue
        value = tie(weight[i], bucket[x], bucket[y], logs, epoch)
        if value == 0:
            continue
        for k in range(first, last + 1):
            if member[y, k] != member[x, k]:
                break
            # Less here, and as much more where x goes.
            weaken(slack, queued, listed, pending, counters, y, k, 2 * value)
        if member[y, last] != member[x, last]:
            continue
        seen += 1
        if seen == 1 and alone:
            only = y  # x hangs on one other alone: taking it away breaks nothing
            continue
        if only >= 0:
            soil(listed, seeds, counters, only)
            only = -1
        soil(listed, seeds, counters, y)
    counters[WORK] += degree[x]


@inner_njit
def follow(st, x, k, left, to):
    """The slot ``to`` of x now suits its neighbours elsewhere better (those in ``left`` know)."""
    start, degree, neighbour, member, weight = (
        st.start,
        st.degree,
        st.neighbour,
        st.member,
        st.weight,
    )
    bucket, logs, epoch, slack, queued = st.bucket, st.logs, st.epoch, st.slack, st.queued
    listed, pending, counters = st.listed, st.pending, st.counters
    low = start[x]
    for i in range(low, low + degree[x]):
        y = neighbour[i]
        c = member[y, k]
        if c < 0 or c == left:
            continue
        if c == to:
            continue
        if k > 0 and member[y, k - 1] != member[x, k - 1]:
            continue
        value = tie(weight[i], bucket[x], bucket[y], logs, epoch)
        if value > 0:
            weaken(slack, queued, listed, pending, counters, y, k, value)
    counters[WORK] += degree[x]


@inner_njit
def choose(st, x, k, c, stick, path):
    """Whether x is to leave c at level k; ``path`` is then complete. ``stick``: see local_moves."""
    above = 0 if k == 0 else st.member[x, k - 1]
    near, total = gather(st, x, k, 0)
    whole = st.inner[above]
    if whole == 0:
        return False
    stay = st.shared[c] - total * ((st.sums[c] - total) / whole)
    to, best = best_slot(st, c, total, near, whole)
    margin = stick * total + 1e-9
    if st.size[c] > 1 and best < 0.0:  # alone it would do better than with any neighbour
        to, best = -1, 0.0
        if stay < -margin:
            to = take_slot(st, k, above)
    if to < 0 or best <= stay + margin:
        st.slack[x, k] = np.int32(max(0.0, min(stay + margin - best, MOST)))
        return False
    take_path(path, st, x, k)
    path[k] = to
    descend(st, x, k, path)
    return True


@njit(cache=True)
def local_moves(st, k, stick, limit):
    """Move concepts at level k to where they gain most, until nobody waits or work is spent.

    ``stick``: share of its ties that a concept must gain to move. A tie means staying, so that
    nothing flips for ever; a little more means that a story keeps its concepts.
    ``limit``: value of the work counter at which to stop; who still waits then stays queued.
    """
    path = np.empty(DEPTH, np.int32)
    while st.counters[WORK] < limit:
        count = start_ring(st, k)
        if count == 0:
            return
        for position in range(count):
            if st.counters[WORK] >= limit:
                return
            x = st.ring[position]
            st.queued[x] &= ~(1 << k)
            c = st.member[x, k]
            if c < 0 or not choose(st, x, k, c, stick, path):
                continue
            loosen(st, x, k)
            change_path(st, x, k, path)
            follow(st, x, k, c, path[k])
            for j in range(k + 1, DEPTH):
                if st.member[x, j] >= 0:
                    enqueue(st.queued, st.listed, st.pending, st.counters, x, j)
            st.counters[MOVES] += 1


@njit(cache=True)
def unit_moves(st, k, max_size, stick, limit):
    """Move whole communities between the slots of level k; returns how many moved.

    The communities that this batch touched, at level k and below, of at most ``max_size``
    concepts, stand for Leiden's refined ones: moving one as a unit finds the merges that no
    single concept can begin. Their bonds tell the gain; what they hold inside goes with them.
    """
    moved = 0
    for at in range(st.counters[TOUCHED]):
        unit = st.touched[at]
        size = st.size[unit]
        if size == 0 or size > max_size or st.tried[unit] >> k & 1:
            continue
        if st.level[unit] < k or st.level[unit] > k + 1:
            continue
        if st.counters[WORK] >= limit or st.counters[LOST]:
            return moved
        st.tried[unit] |= 1 << k
        to = better_home(st, unit, k, stick)
        if to < 0:
            continue
        carry(st, unit, k, to)
        moved += 1
    return moved


@inner_njit
def better_home(st, unit, k, stick):
    """The slot of level k that a unit gains most by moving to; -1 where it is best at home.

    The gain is that of ``best_slot``, with all the unit's ties.
    """
    member, head, parent, inner, counters = st.member, st.head, st.parent, st.inner, st.counters
    sums, bonds, level, bond = st.sums, st.bonds, st.level, st.bond
    own = member[head[unit], k]
    above = parent[own]
    whole = inner[above]
    if whole == 0 or counters[FREE] == 0:
        return -1
    total = sums[unit]
    if own != unit:
        e = bonds[unit]
        while e >= 0:
            if level[bond[e, KEY] & 0xFFFFFFFF] == k:
                total += bond[e, VALUE]
            e = bond[e, NEXT]
    margin = 1e-9 * (1.0 + total)
    best, to = -np.inf, -1
    e = bonds[unit]
    while e >= 0:
        c = bond[e, KEY] & 0xFFFFFFFF
        if level[c] == k:
            gain = bond[e, VALUE] - total * (sums[c] / whole)
            if gain > best + margin or (gain > best - margin and c < to):
                best = max(gain, best)
                to = c
        counters[WORK] += 1
        e = bond[e, NEXT]
    stay = 0.0
    if own != unit:
        stay = (sums[unit] - inner[unit]) - total * ((sums[own] - total) / whole)
    margin = stick * total + 1e-9
    if own != unit and best < 0.0:  # a part that does better as a community of its own
        return take_slot(st, k, above) if stay < -margin else -1
    return to if to >= 0 and best > stay + margin else -1


@inner_njit
def carry(st, unit, k, to):
    """Move a unit, of level k or k + 1, to a slot of level k.

    Where that one has children the unit becomes one of them, or its own children do; where it has
    none, what the unit held inside is dissolved.
    """
    left = st.member[st.head[unit], k]
    x = st.head[unit]
    while x >= 0:
        follow(st, x, k, left, to)
        x = st.after[x, st.level[unit]]
    if st.children[to] > 0 and st.level[unit] == k + 1:
        move_child(st, unit, to)
        return
    if st.children[to] > 0 and st.children[unit] > 0:
        while st.child[unit] >= 0:
            move_child(st, st.child[unit], to)
        return
    path = np.empty(DEPTH, np.int32)
    take_path(path, st, st.head[unit], k)
    path[k] = to
    if st.children[to] > 0:
        path[k + 1] = take_slot(st, k + 1, to)
    while st.size[unit] > 0:
        x = st.head[unit]
        change_path(st, x, k, path)
        enqueue(st.queued, st.listed, st.pending, st.counters, x, k)
