"""Super-edges: the ties between communities, added up and kept under every change.

A tie runs between two siblings: the communities of its ends at the first level where they differ,
a and b of one parent. It counts in the bonds (a, b) and (b, a), and in those of the children next
to it: (child of a, b) and (child of b, a), which tell what a child would gain by moving over. So a
tie counts in four bonds at most, and a community is tried elsewhere, or its children searched for
connectivity, without a look at its concepts. Bonds follow from the paths of the concepts alone:
should room for them ever end in the middle of a batch they are marked ``LOST`` and counted anew.
"""

import numpy as np
from numba import njit

from index.communities.kernels.places import journal, link, unlink
from index.communities.kernels.state import (
    BELOW,
    BESIDE,
    BONDED,
    BONDS,
    CHAIN,
    COUNT,
    COUNT_BELOW,
    COUNT_BESIDE,
    DEPTH,
    INNER,
    KEY,
    LAST,
    LEVEL,
    LOST,
    MINUS,
    NEXT,
    PARENT,
    PLUS,
    SLACK,
    SPARE,
    SUMS,
    TOP,
    VALUE,
    VALUE_BELOW,
    VALUE_BESIDE,
    WORK,
    borrowed,
    inner_njit,
    load,
    tear,
)


@inner_njit
def bond_hash(a, b, size):
    """Place of a bond in ``bond_head``, whose size is a power of two."""
    mixed = np.int64(a) * 2654435761 + np.int64(b) * 2246822519
    return (mixed ^ mixed >> 15) & (size - 1)


@inner_njit
def add_bond(slot, bond_head, bond, bond_long, counters, a, b, value, count):
    """Add ties to the bond (a, b); it is made with its first tie.

    Returns whether that was its last one: it has ended then.
    """
    place = bond_hash(a, b, len(bond_head))
    key = np.int64(a) << 32 | np.int64(b)
    before, e = np.int64(-1), np.int64(bond_head[place])
    while e >= 0 and bond_long[e, KEY] != key:
        before, e = e, bond[e, CHAIN]
    if e < 0:
        e = counters[SPARE]
        if e < 0:
            counters[LOST] = 1
            return False
        before = np.int64(-1)
        make_bond(slot, bond_head, bond, bond_long, counters, a, key, place, e)
    bond_long[e, VALUE] += value
    bond[e, COUNT] += count
    if bond[e, COUNT] or counters[LOST]:
        return False
    end_bond(slot, bond_head, bond, counters, a, e, before, place)
    return True


@inner_njit
def make_bond(slot, bond_head, bond, bond_long, counters, a, key, place, e):
    """Let the spare e become a bond of slot a, without ties yet."""
    counters[SPARE] = bond[e, CHAIN]
    counters[BONDS] += 1
    bond_long[e, KEY] = key
    bond_long[e, VALUE] = bond[e, COUNT] = 0
    bond[e, CHAIN] = bond_head[place]
    bond_head[place] = e
    first = slot[a, BONDED]
    bond[e, NEXT] = first
    bond[e, LAST] = -1
    if first >= 0:
        bond[first, LAST] = e
    slot[a, BONDED] = e


@inner_njit
def end_bond(slot, bond_head, bond, counters, a, e, before, place):
    """Give a bond back; ``before`` precedes it in the chain of its hash."""
    if before >= 0:
        bond[before, CHAIN] = bond[e, CHAIN]
    else:
        bond_head[place] = bond[e, CHAIN]
    left, right = bond[e, LAST], bond[e, NEXT]
    if left >= 0:
        bond[left, NEXT] = right
    else:
        slot[a, BONDED] = right
    if right >= 0:
        bond[right, LAST] = left
    bond[e, CHAIN] = counters[SPARE]
    counters[SPARE] = e
    counters[BONDS] -= 1


@inner_njit
def collect(concept, path, y, first, value, count, along, sums, slots, near, below):
    """Add a tie between a path and concept y to the pot, from a level on.

    The pot is four columns of ``sums``. ``near`` and ``below`` count the slots listed in rows
    BESIDE and BELOW of ``slots``: siblings of the path's, and their children. ``along[0]`` holds
    what ties to the same slot at each level, ``along[1]`` what ties to its siblings.
    """
    for k in range(first, DEPTH):
        a, b = path[k], concept[y, k]
        if a < 0 or b < 0:
            break
        if a == b:
            along[0, k] += value
            continue
        along[1, k] += value
        if sums[b, VALUE_BESIDE] == 0 and sums[b, COUNT_BESIDE] == 0:
            slots[BESIDE, near] = b
            near += 1
        sums[b, VALUE_BESIDE] += value
        sums[b, COUNT_BESIDE] += count
        c = concept[y, k + 1] if k + 1 < DEPTH else np.int32(-1)
        if c >= 0:
            if sums[c, VALUE_BELOW] == 0 and sums[c, COUNT_BELOW] == 0:
                slots[BELOW, below] = c
                below += 1
            sums[c, VALUE_BELOW] += value
            sums[c, COUNT_BELOW] += count
        break
    return near, below


@inner_njit
def pour(st, path, first, near, below, sign):
    """Put the pot of one concept's ties, times ``sign``, into sums and bonds."""
    slot, sums, slots, head, bond = st.slot, st.sums, st.slots, st.bond_head, st.bond
    bond_long, counters, along = st.bond_long, st.counters, st.along
    for k in range(first, DEPTH):
        if path[k] < 0:
            break
        same, beside = sign * along[0, k], sign * along[1, k]
        along[0, k] = along[1, k] = 0
        sums[path[k], SUMS] += 2 * same + beside
        sums[path[k], INNER] += 2 * same
    for i in range(near):
        c = slots[BESIDE, i]
        value, count = sign * sums[c, VALUE_BESIDE], sign * sums[c, COUNT_BESIDE]
        sums[c, VALUE_BESIDE] = sums[c, COUNT_BESIDE] = 0
        if value == 0 and count == 0:
            continue
        k = slot[c, LEVEL]
        if k >= first:
            own = path[k]
            sums[c, SUMS] += value
            ended = add_bond(slot, head, bond, bond_long, counters, own, c, value, count)
            add_bond(slot, head, bond, bond_long, counters, c, own, value, count)
            if ended:
                tear(slot, slots, counters, slot[own, PARENT])
                tear(slot, slots, counters, slot[c, PARENT])
        if k + 1 < DEPTH and path[k + 1] >= 0:
            add_bond(slot, head, bond, bond_long, counters, path[k + 1], c, value, count)
    for i in range(below):
        c = slots[BELOW, i]
        value, count = sign * sums[c, VALUE_BELOW], sign * sums[c, COUNT_BELOW]
        sums[c, VALUE_BELOW] = sums[c, COUNT_BELOW] = 0
        if value != 0 or count != 0:
            add_bond(
                slot, head, bond, bond_long, counters, c, path[slot[c, LEVEL] - 1], value, count
            )


@inner_njit
def account(st, count, first, path, sign, above):
    """Count (+1) or discount (-1) the ties in ``row`` as if the concept were on ``path``.

    Those to concepts beyond ``above`` only. Ties that part from the path before level ``first``
    are left as they are, but for the bond of the community at ``first`` to its parent's siblings.
    """
    concept, row, along, sums, slots = st.concept, st.row, st.along, st.sums, st.slots
    near, below = TOP, TOP
    for i in range(count):
        y, value = np.int32(row[i, 0]), row[i, 1]
        if y <= above or concept[y, 0] < 0:
            continue
        if first == 0 or concept[y, first - 1] == path[first - 1]:
            near, below = collect(
                concept, path, y, first, value, PLUS, along, sums, slots, near, below
            )
            continue
        c = concept[y, first - 1]
        if path[first] < 0 or c < 0:
            continue
        if first > 1 and concept[y, first - 2] != path[first - 2]:
            continue
        if sums[c, VALUE_BESIDE] == 0:
            slots[BESIDE, near] = c
            near += 1
        sums[c, VALUE_BESIDE] += value
        sums[c, COUNT_BESIDE] += 1
    st.counters[WORK] += count
    pour(st, path, first, near, below, sign)


@inner_njit
def change_path(st, x, first, path, count):
    """Move x to ``path`` from level ``first`` on (above it nothing changes); all sums follow.

    ``count``: what ``load`` returned for x just before.
    """
    concept = st.concept
    journal(st, x)
    account(st, count, first, concept[x], MINUS, np.int32(-1))
    for k in range(DEPTH - 1, first - 1, -1):
        if concept[x, k] >= 0 and concept[x, k] != path[k]:
            unlink(st, x, k)
    for k in range(first, DEPTH):
        if path[k] >= 0 and concept[x, k] != path[k]:
            link(st, x, k, path[k])
            concept[x, SLACK + k] = 0
    account(st, count, first, path, PLUS, np.int32(-1))


@njit(cache=True, nogil=True)
def recount(st):
    """Fill the sums and the bonds, all empty before, from every tie of the graph."""
    st = borrowed(st)
    concept, sums = st.concept, st.sums
    for x in range(len(concept)):
        count = load(st, np.int32(x))
        for i in range(count):
            if st.row[i, 0] > x:
                sums[0, INNER] += 2 * st.row[i, 1]
        if concept[x, 0] >= 0:
            account(st, count, TOP, concept[x], PLUS, np.int32(x))
        if st.counters[LOST]:
            return


@njit(cache=True, nogil=True)
def rehash(bond_head, bond, bond_long, counters):
    """Fill an empty ``bond_head`` from the bonds with ties, and spare the others."""
    counters[SPARE] = -1
    for e in range(len(bond) - 1, -1, -1):
        if bond[e, COUNT] == 0:
            bond[e, CHAIN] = counters[SPARE]
            counters[SPARE] = e
            continue
        key = bond_long[e, KEY]
        place = bond_hash(key >> 32, key & 0xFFFFFFFF, len(bond_head))
        bond[e, CHAIN] = bond_head[place]
        bond_head[place] = e
