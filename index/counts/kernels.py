"""Numba kernels over a sorted adjacency with slack.

The row of vertex x is ``neighbour[start[x] : start[x] + degree[x]]`` (sorted) with ``weight``
beside it, and has room up to ``capacity[x]``. A full row moves to the end of the pool with half
as much room again; its old place is waste until the pool is compacted.
"""

import numpy as np
from numba import njit

_ROWS = "int64[::1], int32[::1], int32[::1], int32[::1], int32[::1]"
_PAIRS = "int32[::1], int32[::1], int32[::1]"


@njit("int64(int64, int64, int32, int32[::1])", cache=True)
def lower_bound(low, high, key, neighbour):
    """First index in [low, high) whose neighbour is not below ``key``; ``high`` if none."""
    while low < high:
        middle = (low + high) >> 1
        if neighbour[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


@njit(f"int64({_PAIRS}, {_ROWS})", cache=True)
def first_negative(u, v, dw, start, degree, capacity, neighbour, weight):
    """Index of the first pair that a delta would make negative; -1 if there is none."""
    for i in range(len(u)):
        if dw[i] >= 0:
            continue
        x = u[i]
        end = start[x] + degree[x]
        at = lower_bound(start[x], end, v[i], neighbour)
        held = weight[at] if at < end and neighbour[at] == v[i] else 0
        if held + dw[i] < 0:
            return i
    return -1


@njit(
    f"int64(int32, int32, int32, {_ROWS}, int64[::1])",
    cache=True,
)
def change_entry(x, y, dw, start, degree, capacity, neighbour, weight, tail):
    """Add ``dw`` to the entry (x, y): 1 made, -1 removed, 0 changed, -2 the pool is full."""
    low = start[x]
    end = low + degree[x]
    at = lower_bound(low, end, y, neighbour)
    if at < end and neighbour[at] == y:
        weight[at] += dw
        if weight[at] != 0:
            return 0
        for i in range(at, end - 1):
            neighbour[i] = neighbour[i + 1]
            weight[i] = weight[i + 1]
        degree[x] -= 1
        return -1
    if degree[x] == capacity[x]:
        room = capacity[x] + (capacity[x] >> 1) + 4
        if tail[0] + room > len(neighbour):
            return -2
        to = tail[0]
        for i in range(degree[x]):
            neighbour[to + i] = neighbour[low + i]
            weight[to + i] = weight[low + i]
        start[x] = to
        capacity[x] = room
        tail[0] = to + room
        at = to + (at - low)
        end = to + degree[x]
    for i in range(end, at, -1):
        neighbour[i] = neighbour[i - 1]
        weight[i] = weight[i - 1]
    neighbour[at] = y
    weight[at] = dw
    degree[x] += 1
    return 1


@njit(f"int64(int64, {_PAIRS}, {_ROWS}, int64[::1], int64[::1])", cache=True)
def apply_pairs(first, u, v, dw, start, degree, capacity, neighbour, weight, tail, edges):
    """Apply half entries from ``first`` on (two a pair); returns where the pool was full, or 2n."""
    n = len(u)
    for half in range(first, 2 * n):
        i = half >> 1
        x, y = (u[i], v[i]) if half & 1 == 0 else (v[i], u[i])
        done = change_entry(x, y, dw[i], start, degree, capacity, neighbour, weight, tail)
        if done == -2:
            return half
        if half & 1 == 0:
            edges[0] += done
    return 2 * n


@njit(f"void({_ROWS}, int64[::1], int32[::1], int32[::1])", cache=True)
def copy_rows(start, degree, capacity, neighbour, weight, to_start, to_neighbour, to_weight):
    """Copy every row into another pool."""
    for x in range(len(start)):
        for i in range(degree[x]):
            to_neighbour[to_start[x] + i] = neighbour[start[x] + i]
            to_weight[to_start[x] + i] = weight[start[x] + i]


@njit(
    "int64(int64[::1], int32[::1], int64[::1], int32[::1], int32[::1], int32[::1], int32[::1])",
    cache=True,
)
def upper_triangle(start, degree, offsets, neighbour, weight, to_v, to_w):
    """Write the entries (x, y) with x < y into rows given by ``offsets``; returns how many."""
    k = 0
    for x in range(len(start)):
        offsets[x] = k
        for i in range(start[x], start[x] + degree[x]):
            if neighbour[i] > x:
                to_v[k] = neighbour[i]
                to_w[k] = weight[i]
                k += 1
    offsets[len(start)] = k
    return k


@njit("void(int64[::1], int32[::1], int64[::1], int32[::1], int32[::1], int32[::1])", cache=True)
def place_pairs(keys, w, start, degree, neighbour, weight):
    """Fill empty rows from sorted keys ``u << 32 | v``, w: both directions stay sorted.

    For a row x, the partners below x come first if all pairs (y, x) are placed while u ascends,
    and the partners above x follow: two passes keep the order without a second sort.
    """
    for i in range(len(keys)):
        u, v = np.int32(keys[i] >> 32), np.int32(keys[i] & 0xFFFFFFFF)
        at = start[v] + degree[v]
        neighbour[at] = u
        weight[at] = w[i]
        degree[v] += 1
    for i in range(len(keys)):
        u, v = np.int32(keys[i] >> 32), np.int32(keys[i] & 0xFFFFFFFF)
        at = start[u] + degree[u]
        neighbour[at] = v
        weight[at] = w[i]
        degree[u] += 1


@njit("Tuple((int64[::1], int32[::1]))(int64[::1], int32[::1], int32[::1])", cache=True)
def enumerate_pairs(offsets, concepts, signs):
    """All pairs of each row as ``u << 32 | v`` (u < v), with the row's sign."""
    total = 0
    for row in range(len(offsets) - 1):
        n = offsets[row + 1] - offsets[row]
        total += n * (n - 1) // 2
    keys = np.empty(total, np.int64)
    out = np.empty(total, np.int32)
    k = 0
    for row in range(len(offsets) - 1):
        for i in range(offsets[row], offsets[row + 1]):
            high = np.int64(concepts[i]) << 32
            for j in range(i + 1, offsets[row + 1]):
                keys[k] = high | np.int64(concepts[j])
                out[k] = signs[row]
                k += 1
    return keys, out
