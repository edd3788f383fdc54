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

from index.communities.kernels.state import (
    BONDS,
    CHAIN,
    COUNT,
    DEPTH,
    KEY,
    LAST,
    LOST,
    NEXT,
    SPARE,
    VALUE,
    WORK,
    inner_njit,
    journal,
    link,
    tear,
    tie,
    unlink,
)


@inner_njit
def bond_hash(a, b, size):
    """Place of a bond in ``bond_head``, whose size is a power of two."""
    mixed = np.int64(a) * 2654435761 + np.int64(b) * 2246822519
    return (mixed ^ mixed >> 15) & (size - 1)


@inner_njit
def add_bond(bonds, bond_head, bond, counters, a, b, value, count):
    """Add ties to the bond (a, b); it is made with its first tie.

    Returns whether that was its last one: it has ended then.
    """
    place = bond_hash(a, b, len(bond_head))
    key = np.int64(a) << 32 | np.int64(b)
    before, e = np.int64(-1), np.int64(bond_head[place])
    while e >= 0 and bond[e, KEY] != key:
        before, e = e, bond[e, CHAIN]
    if e < 0:
        e = counters[SPARE]
        if e < 0:
            counters[LOST] = 1
            return False
        before = np.int64(-1)
        make_bond(bonds, bond_head, bond, counters, a, key, place, e)
    bond[e, VALUE] += value
    bond[e, COUNT] += count
    if bond[e, COUNT] or counters[LOST]:
        return False
    end_bond(bonds, bond_head, bond, counters, a, e, before, place)
    return True


@inner_njit
def make_bond(bonds, bond_head, bond, counters, a, key, place, e):
    """Let the spare e become a bond of slot a, without ties yet."""
    counters[SPARE] = bond[e, CHAIN]
    counters[BONDS] += 1
    bond[e, KEY] = key
    bond[e, VALUE] = bond[e, COUNT] = 0
    bond[e, CHAIN] = bond_head[place]
    bond_head[place] = e
    first = bonds[a]
    bond[e, NEXT] = first
    bond[e, LAST] = -1
    if first >= 0:
        bond[first, LAST] = e
    bonds[a] = e


@inner_njit
def end_bond(bonds, bond_head, bond, counters, a, e, before, place):
    """Give a bond back; ``before`` precedes it in the chain of its hash."""
    if before >= 0:
        bond[before, CHAIN] = bond[e, CHAIN]
    else:
        bond_head[place] = bond[e, CHAIN]
    left, right = bond[e, LAST], bond[e, NEXT]
    if left >= 0:
        bond[left, NEXT] = right
    else:
        bonds[a] = right
    if right >= 0:
        bond[right, LAST] = left
    bond[e, CHAIN] = counters[SPARE]
    counters[SPARE] = e
    counters[BONDS] -= 1


@inner_njit
def collect(member, path, y, first, value, count, along, pot, pot_list, near, below):
    """Add a tie between a path and concept y to the pot, from a level on.

    ``near`` and ``below`` count the slots listed in ``pot_list``: siblings of the path's, and
    their children. ``along[0]`` holds what ties to the same slot at each level, ``along[1]`` what
    ties to its siblings.
    """
    for k in range(first, DEPTH):
        a, b = path[k], member[y, k]
        if a < 0 or b < 0:
            break
        if a == b:
            along[0, k] += value
            continue
        along[1, k] += value
        if pot[b, 0] == 0 and pot[b, 1] == 0:
            pot_list[0, near] = b
            near += 1
        pot[b, 0] += value
        pot[b, 1] += count
        c = member[y, k + 1] if k + 1 < DEPTH else -1
        if c >= 0:
            if pot[c, 2] == 0 and pot[c, 3] == 0:
                pot_list[1, below] = c
                below += 1
            pot[c, 2] += value
            pot[c, 3] += count
        break
    return near, below


@inner_njit
def pour(st, path, first, near, below, sign):
    """Put the pot of one concept's ties, times ``sign``, into sums and bonds."""
    level, pot, bonds, head, bond = st.level, st.pot, st.bonds, st.bond_head, st.bond
    counters, along, sums, inner, pot_list = st.counters, st.along, st.sums, st.inner, st.pot_list
    is_torn, torn, parent = st.is_torn, st.torn, st.parent
    for k in range(first, DEPTH):
        if path[k] < 0:
            break
        same, beside = sign * along[0, k], sign * along[1, k]
        along[0, k] = along[1, k] = 0
        sums[path[k]] += 2 * same + beside
        inner[path[k]] += 2 * same
    for i in range(near):
        c = pot_list[0, i]
        value, count = sign * pot[c, 0], sign * pot[c, 1]
        pot[c, 0] = pot[c, 1] = 0
        if value == 0 and count == 0:
            continue
        k = level[c]
        if k >= first:
            own = path[k]
            sums[c] += value
            ended = add_bond(bonds, head, bond, counters, own, c, value, count)
            add_bond(bonds, head, bond, counters, c, own, value, count)
            if ended:
                tear(is_torn, torn, counters, parent[own])
                tear(is_torn, torn, counters, parent[c])
        if k + 1 < DEPTH and path[k + 1] >= 0:
            add_bond(bonds, head, bond, counters, path[k + 1], c, value, count)
    for i in range(below):
        c = pot_list[1, i]
        value, count = sign * pot[c, 2], sign * pot[c, 3]
        pot[c, 2] = pot[c, 3] = 0
        if value != 0 or count != 0:
            add_bond(bonds, head, bond, counters, c, path[level[c] - 1], value, count)


@inner_njit
def account(st, x, first, path, sign, above):
    """Count (+1) or discount (-1) the ties of x to concepts beyond ``above`` as if on ``path``.

    Ties that part from the path before level ``first`` are left as they are, but for the bond of
    the community at ``first`` to its parent's siblings.
    """
    member, bucket, logs, epoch, along = st.member, st.bucket, st.logs, st.epoch, st.along
    pot, pot_list, start, degree, neighbour = st.pot, st.pot_list, st.start, st.degree, st.neighbour
    weight, counters = st.weight, st.counters
    near, below = 0, 0
    low = start[x]
    for i in range(low, low + degree[x]):
        y = neighbour[i]
        if y <= above or member[y, 0] < 0:
            continue
        beside = first > 0 and member[y, first - 1] != path[first - 1]
        if beside and (path[first] < 0 or member[y, first - 1] < 0):
            continue
        if beside and first > 1 and member[y, first - 2] != path[first - 2]:
            continue
        value = tie(weight[i], bucket[x], bucket[y], logs, epoch)
        if value == 0:
            continue
        if not beside:
            near, below = collect(
                member, path, y, first, value, 1, along, pot, pot_list, near, below
            )
            continue
        c = member[y, first - 1]
        if pot[c, 0] == 0:
            pot_list[0, near] = c
            near += 1
        pot[c, 0] += value
        pot[c, 1] += 1
    counters[WORK] += degree[x]
    pour(st, path, first, near, below, sign)


@inner_njit
def change_path(st, x, first, path):
    """Move x to ``path`` from level ``first`` on (above it nothing changes); all sums follow."""
    journal(st, x)
    account(st, x, first, st.member[x], -1, -1)
    for k in range(DEPTH - 1, first - 1, -1):
        if st.member[x, k] >= 0 and st.member[x, k] != path[k]:
            unlink(st, x, k)
    for k in range(first, DEPTH):
        if path[k] >= 0 and st.member[x, k] != path[k]:
            link(st, x, k, path[k])
            st.slack[x, k] = 0
    account(st, x, first, path, 1, -1)


@njit(cache=True)
def recount(st):
    """Fill ``sums``, ``inner`` and the bonds, all empty before, from every tie of the graph."""
    for x in range(len(st.member)):
        low = st.start[x]
        for i in range(low, low + st.degree[x]):
            y = st.neighbour[i]
            if y > x:
                st.inner[0] += 2 * tie(st.weight[i], st.bucket[x], st.bucket[y], st.logs, st.epoch)
        if st.member[x, 0] >= 0:
            account(st, x, 0, st.member[x], 1, x)
        if st.counters[LOST]:
            return


@njit(cache=True)
def rehash(bond_head, bond, counters):
    """Fill an empty ``bond_head`` from the bonds with ties, and spare the others."""
    counters[SPARE] = -1
    for e in range(len(bond) - 1, -1, -1):
        if bond[e, COUNT] == 0:
            bond[e, CHAIN] = counters[SPARE]
            counters[SPARE] = e
            continue
        key = bond[e, KEY]
        place = bond_hash(key >> 32, key & 0xFFFFFFFF, len(bond_head))
        bond[e, CHAIN] = bond_head[place]
        bond_head[place] = e
