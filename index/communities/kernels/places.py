"""Who belongs where: slots that are taken and given up, members that join and leave them."""

import numpy as np

from index.communities.kernels.state import (
    CHANGED,
    CHILD,
    CHILDREN,
    DEPTH,
    FREE,
    HEAD,
    INNER,
    LAST_CHILD,
    LEVEL,
    NEXT_CHILD,
    PARENT,
    SIZE,
    SUMS,
    inner_njit,
    note,
    tear,
    touch,
)


@inner_njit
def journal(st, x):
    """Keep the path that x had before this batch."""
    at = st.counters[CHANGED]
    note(st.concept, st.lists, st.counters, x, CHANGED)
    if st.counters[CHANGED] > at:
        for k in range(DEPTH):
            st.was[at, k] = st.concept[x, k]


@inner_njit
def adopt_child(slot, slots, counters, c, parent):
    """Put a slot among the children of another."""
    first = slot[parent, CHILD]
    slot[c, PARENT] = parent
    slot[c, NEXT_CHILD] = first
    slot[c, LAST_CHILD] = -1
    if first >= 0:
        slot[first, LAST_CHILD] = c
    slot[parent, CHILD] = c
    slot[parent, CHILDREN] += 1
    tear(slot, slots, counters, parent)


@inner_njit
def give_up_child(slot, slots, counters, c):
    """Take a slot from the children of its parent."""
    left, right, parent = slot[c, LAST_CHILD], slot[c, NEXT_CHILD], slot[c, PARENT]
    if left >= 0:
        slot[left, NEXT_CHILD] = right
    else:
        slot[parent, CHILD] = right
    if right >= 0:
        slot[right, LAST_CHILD] = left
    slot[parent, CHILDREN] -= 1
    tear(slot, slots, counters, parent)


@inner_njit
def take_slot(st, k, parent):
    """A fresh slot; -1 where none is free. Slots emptied in a batch are free after it only."""
    slot, counters = st.slot, st.counters
    if counters[FREE] == 0:
        return np.int32(-1)
    counters[FREE] -= 1
    c = st.slots[FREE, counters[FREE]]
    slot[c, LEVEL] = k
    slot[c, SIZE] = slot[c, CHILDREN] = 0
    slot[c, CHILD] = slot[c, HEAD] = -1
    st.sums[c, SUMS] = st.sums[c, INNER] = 0
    adopt_child(slot, st.slots, counters, c, parent)
    return c


@inner_njit
def link(st, x, k, c):
    """Put x into the chain of c."""
    slot, after, before = st.slot, st.after, st.before
    first = slot[c, HEAD]
    st.concept[x, k] = c
    after[x, k] = first
    before[x, k] = -1
    if first >= 0:
        before[first, k] = x
    slot[c, HEAD] = x
    slot[c, SIZE] += 1
    touch(slot, st.slots, st.counters, c)


@inner_njit
def unlink(st, x, k):
    """Take x out of the chain of its slot; an emptied slot leaves its parent."""
    concept, slot, after, before = st.concept, st.slot, st.after, st.before
    c = concept[x, k]
    left, right = before[x, k], after[x, k]
    if left >= 0:
        after[left, k] = right
    else:
        slot[c, HEAD] = right
    if right >= 0:
        before[right, k] = left
    concept[x, k] = -1
    slot[c, SIZE] -= 1
    touch(slot, st.slots, st.counters, c)
    if slot[c, SIZE] == 0:
        give_up_child(slot, st.slots, st.counters, c)


@inner_njit
def take_path(path, concept, x, levels):
    """``path`` becomes that of x for so many levels, and ends there."""
    for k in range(DEPTH):
        path[k] = concept[x, k] if k < levels else -1
