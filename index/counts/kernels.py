"""Numba kernels over a sorted adjacency with slack.

The row of vertex x is ``neighbour[start[x] : start[x] + degree[x]]`` (sorted) with ``weight``
beside it, and has room up to ``capacity[x]``. A full row moves to the end of the pool with a
quarter more room; its old place is waste until the pool is compacted.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import int64, njit, void
from numba.core import cgutils
from numba.core.cgutils import raw_memmove
from numba.extending import intrinsic

_ROWS = "int64[::1], int32[::1], int32[::1], int32[::1], int32[::1]"
_PAIRS = "int32[::1], int32[::1], int32[::1]"
_CHANGES = "int32[:, ::1]"
X, OTHER, CHANGE, PLACE, HELD = range(5)
"""Rows of the changes of pairs: the concept whose row changes, its partner, what w gains; where the
partner stands, counted from where the row begins, and what w was."""

FULL = -(2**62)
"""What ``change_row`` returns where the pool has no room."""


def _lent(typing_context: Any, array: Any) -> Any:
    """The same array without an owner; the caller keeps the owner for as long as it is used."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        view.meminfo = view.meminfo.type(None)
        return view._getvalue()  # noqa: SLF001  the way that numba's own code does it

    return array(array), emit


lent: Any = intrinsic(_lent)
"""An array for the time of a call, without counting references. Numba counts one, by an atomic
operation, for every array handed to a function: in loops over ties a fifth of a batch's time.
Only for arguments from Python, which keeps them: what a kernel makes itself it must own."""


def _ask(typing_context: Any, rows: Any, row: Any) -> Any:
    """Ask memory for the line of cache in which a row of a table begins; nothing waits for it."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        width = cgutils.unpack_tuple(builder, view.shape)[1]
        place = builder.gep(view.data, [builder.mul(arguments[1], width)])
        place = builder.bitcast(place, cgutils.voidptr_t)
        number = cgutils.int32_t
        kind = ir.FunctionType(ir.VoidType(), [place.type, number, number, number])
        prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        to_read, keep_close, data = number(0), number(3), number(1)
        builder.call(prefetch, [place, to_read, keep_close, data])
        return context.get_dummy_value()

    return void(rows, int64), emit


ask: Any = intrinsic(_ask)


def _shift(typing_context: Any, values: Any, to: Any, at: Any, count: Any) -> Any:
    """``values[to : to + count] = values[at : at + count]``, which may overlap."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        there, here = (builder.gep(view.data, [arguments[i]]) for i in (1, 2))
        raw_memmove(builder, there, here, arguments[3], view.itemsize)
        return context.get_dummy_value()

    return void(values, int64, int64, int64), emit


_shift_entries: Any = intrinsic(_shift)


@njit("int64(int64, int64, int32, int32[::1])", cache=True, nogil=True)
def lower_bound(low, high, key, neighbour):
    """First index in [low, high) whose neighbour is not below ``key``; ``high`` if none."""
    while low < high:
        middle = (low + high) >> 1
        if neighbour[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


@njit(f"void({_CHANGES}, {_ROWS})", cache=True, nogil=True)
def seek(pairs, start, degree, capacity, neighbour, weight):
    """Fill ``PLACE`` and ``HELD`` of pairs sorted by (x, other).

    What is in no row holds 0, and would have to stand at its place. All searches of a row take
    their steps together, and none waits for another: most of a step is a wait for memory.
    """
    start, degree, neighbour, weight = lent(start), lent(degree), lent(neighbour), lent(weight)
    rows, others, place, held = pairs[X], pairs[OTHER], pairs[PLACE], pairs[HELD]
    n, i = np.uint64(len(rows)), np.uint64(0)
    while i < n:
        x, end = rows[i], i
        while end < n and rows[end] == x:
            place[end] = 0
            end += np.uint64(1)
        low, length = np.uint64(start[x]), np.uint64(degree[x])
        left = length
        while left > 0:
            step = max(left >> np.uint64(1), np.uint64(1))
            for e in range(i, end):
                at = np.uint64(place[e])
                before = neighbour[low + at + step - np.uint64(1)] < others[e]
                place[e] = np.int32(at + (step if before else np.uint64(0)))
            left = left - step if left > 1 else np.uint64(0)
        for e in range(i, end):
            at = np.uint64(place[e])
            found = at < length and neighbour[low + at] == others[e]
            held[e] = weight[low + at] if found else np.int32(0)
        i = end


@njit("int64(int64, int64, int64, int32[::1], int32[::1])", cache=True, nogil=True)
def move_entries(to, low, end, neighbour, weight):
    """Move the entries [low, end) to ``to``, in one go; returns where they end there."""
    _shift_entries(neighbour, to, low, end - low)
    _shift_entries(weight, to, low, end - low)
    return to + end - low


@njit(f"boolean(int32, int64, {_ROWS}, int64[::1])", cache=True, nogil=True)
def make_room(x, more, start, degree, capacity, neighbour, weight, tail):
    """See that row x has room for ``more`` entries; False where the pool is full."""
    if degree[x] + more <= capacity[x]:
        return True
    wanted = degree[x] + more
    room = wanted + (wanted >> 2) + 4
    to, low = tail[0], start[x]
    if to + room > len(neighbour):
        return False
    move_entries(to, low, low + degree[x], neighbour, weight)
    start[x] = to
    capacity[x] = room
    tail[0] = to + room
    return True


@njit(f"int64(int64, int64, int64, {_CHANGES}, int32[::1], int32[::1])", cache=True, nogil=True)
def change_held(low, end, k, changes, neighbour, weight):
    """Add to the entries that stand in [low, end), closing the holes of those that end.

    What is missing is moved to the front of ``changes``. Returns the new end.
    """
    missing = closed = 0
    to, kept = int64(-1), end  # entries from ``kept`` on go to ``to``, once there is a hole
    for i in range(k):
        at = low + changes[PLACE, i]
        if changes[HELD, i] == 0:
            changes[OTHER, missing] = changes[OTHER, i]
            changes[CHANGE, missing] = changes[CHANGE, i]
            changes[PLACE, missing] = changes[PLACE, i] - closed
            missing += 1
            continue
        weight[at] += changes[CHANGE, i]
        if weight[at] == 0:
            to = at if to < 0 else move_entries(to, kept, at, neighbour, weight)
            kept = at + 1
            closed += 1
    return end if to < 0 else move_entries(to, kept, end, neighbour, weight)


@njit(f"void(int64, int64, int64, {_CHANGES}, int32[::1], int32[::1])", cache=True, nogil=True)
def merge_in(low, end, k, changes, neighbour, weight):
    """Merge the first k changes into the sorted row [low, end), from the back."""
    for left in range(k - 1, -1, -1):
        at = low + changes[PLACE, left]
        move_entries(at + left + 1, at, end, neighbour, weight)
        neighbour[at + left] = changes[OTHER, left]
        weight[at + left] = changes[CHANGE, left]
        end = at


@njit(f"int64(int32, int64, {_CHANGES}, {_ROWS}, int64[::1])", cache=True, nogil=True)
def change_row(x, k, changes, start, degree, capacity, neighbour, weight, tail):
    """Add k sorted changes to row x in one pass; returns entries made less entries removed.

    The first k of ``changes`` are overwritten. A hub with many changes is merged once, not shifted
    once for each. Returns ``FULL`` and changes nothing where the pool has no room.
    """
    before, made = degree[x], 0
    for i in range(k):
        made += changes[HELD, i] == 0
    if not make_room(x, made, start, degree, capacity, neighbour, weight, tail):
        return FULL
    low = start[x]
    end = change_held(low, low + before, k, changes, neighbour, weight)
    merge_in(low, end, made, changes, neighbour, weight)
    degree[x] = end + made - low
    return degree[x] - before


@njit(
    f"void(int64[::1], {_CHANGES}, {_CHANGES}, {_ROWS}, int64[::1], int64[::1])",
    cache=True,
    nogil=True,
)
def apply_pairs(done, pairs, other_way, start, degree, capacity, neighbour, weight, tail, ends):
    """Apply a delta row by row, from ``done`` on; stops where the pool is full.

    ``pairs`` int32[5, n] is sorted by (x, other), each x below its partner; ``other_way`` holds
    the same pairs with their ends exchanged.
    ``done`` int64[2] counts the pairs of either order that are applied and is kept up to date,
    so that the call can be repeated with a larger pool. ``ends[0]`` counts the entries held.
    """
    n = pairs.shape[1]
    changes = np.empty(pairs.shape, np.int32)
    start, degree, capacity, tail = lent(start), lent(degree), lent(capacity), lent(tail)
    neighbour, weight = lent(neighbour), lent(weight)
    i, j = done[0], done[1]
    while i < n or j < n:
        x = pairs[X, i] if i < n else other_way[X, j]
        if j < n:
            x = min(x, other_way[X, j])
        k = 0
        while j < n and other_way[X, j] == x:  # partners below x come first
            for c in range(OTHER, HELD + 1):
                changes[c, k] = other_way[c, j]
            j += 1
            k += 1
        while i < n and pairs[X, i] == x:
            for c in range(OTHER, HELD + 1):
                changes[c, k] = pairs[c, i]
            i += 1
            k += 1
        grown = change_row(x, k, changes, start, degree, capacity, neighbour, weight, tail)
        if grown == FULL:
            return
        ends[0] += grown
        done[0], done[1] = i, j


@njit(f"void({_ROWS}, int64[::1], int32[::1], int32[::1])", cache=True, nogil=True)
def copy_rows(start, degree, capacity, neighbour, weight, to_start, to_neighbour, to_weight):
    """Copy every row into another pool."""
    for x in range(len(start)):
        for i in range(degree[x]):
            to_neighbour[to_start[x] + i] = neighbour[start[x] + i]
            to_weight[to_start[x] + i] = weight[start[x] + i]


@njit("void(int64[::1], int32[::1], int32[::1], boolean[::1], int64[::1])", cache=True, nogil=True)
def count_upper(start, degree, neighbour, wanted, counts):
    """``counts[x + 1]`` becomes the number of entries (x, y), x < y, both wanted."""
    for x in range(len(start)):
        if wanted[x]:
            for i in range(start[x], start[x] + degree[x]):
                if neighbour[i] > x and wanted[neighbour[i]]:
                    counts[x + 1] += 1


@njit(
    "void(int64[::1], int32[::1], int32[::1], int32[::1], boolean[::1], int32[::1], int32[::1])",
    cache=True,
    nogil=True,
)
def upper_triangle(start, degree, neighbour, weight, wanted, to_v, to_w):
    """Write the entries (x, y), x < y, both wanted, one after the other."""
    k = 0
    for x in range(len(start)):
        if wanted[x]:
            for i in range(start[x], start[x] + degree[x]):
                if neighbour[i] > x and wanted[neighbour[i]]:
                    to_v[k] = neighbour[i]
                    to_w[k] = weight[i]
                    k += 1


@njit(
    "void(int64[::1], int32[::1], int64[::1], int32[::1], int32[::1], int32[::1])",
    cache=True,
    nogil=True,
)
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


@njit("Tuple((int64[::1], int32[::1]))(int64[::1], int32[::1], int32[::1])", cache=True, nogil=True)
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
