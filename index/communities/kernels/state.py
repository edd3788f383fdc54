"""The arrays of the dynamic hierarchy and the lists that every kernel keeps in them.

n concepts, m community slots, ``DEPTH`` levels, b bonds. Slot 0 is the root. All weights are whole
numbers (``index.communities.epoch``), so that sums kept under change never drift from a recount.

What a kernel asks of one concept lies in one row, two lines of cache, and so does what it asks of
one slot: a neighbour costs one look at memory, not one for each question. It also keeps the state
at a few arrays; a call that hands fifty on costs a microsecond, from Python thirty.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from index.counts.kernels import ask, lent

DEPTH = 12
"""Levels that the hierarchy can have; a community on the last one is not split further."""

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Shorts = NDArray[np.int16]

# Columns of ``State.concept``; columns 0 to DEPTH - 1 are the path of slots.
TIES, QUEUED, LISTED, MARK = range(DEPTH, DEPTH + 4)
SLACK = DEPTH + 4
STIRRED = SLACK + DEPTH
CONCEPT = 32

# Columns of ``State.slot``.
HEAD, LEVEL, PARENT, SIZE, CHILDREN, CHILD, NEXT_CHILD, LAST_CHILD = range(8)
IS_TOUCHED, IS_TORN, TRIED, BONDED, IS_SEEN = range(8, 13)
SLOT = 16

# Columns of ``State.sums``.
SUMS, INNER, SHARED, VALUE_BESIDE, COUNT_BESIDE, VALUE_BELOW, COUNT_BELOW = range(7)
SUMMED = 8

# Rows of ``State.lists`` and of ``State.slots``; for those that keep a length it stands under the
# same number in ``State.counters``.
PENDING, SEEDS, LOOSE, CHANGED, RING, FREE, TOUCHED, TORN, OVERSIZE = np.arange(9)
NEAR, BESIDE, BELOW, THERE = range(4)
LISTS, SLOT_LISTS = 5, 9

# Further fields of ``State.counters``.
WORK, MOVES, BONDS, SPARE, LOST, SHIFT, THRESHOLD, ROW = range(9, 17)
STEP, AT_LEVEL, ROUND, WANTED, LIMIT, FRONTIER, REPAIRED, CUT, MERGED, BATCH = range(17, 27)
COUNTERS = 27

KEY, VALUE = range(2)
"""Fields of a bond in ``bond_long``: ``slot << 32 | other``, and the sum of its ties."""

OTHER, COUNT, CHAIN, NEXT, LAST = 0, 4, 5, 6, 7
"""Fields of a bond in ``bond``: ``other``, the half of the key that comes first in memory, the
number of its ties, and its lists."""

BOND = 8

ROOT = np.int32(0)
TOP, PLUS, MINUS = np.int64(0), np.int64(1), np.int64(-1)
"""Slot of the whole, level of C0, signs. Numpy's own numbers here and above, since numba compiles a
function anew for every literal number that it is called with."""

_inner: Any = partial(njit, cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)

making_njit = _inner(_nrt=True)
"""For kernels that only kernels call: without an entry from Python they compile much faster."""

inner_njit = _inner(_nrt=False)
"""For those among them that make no array either: they count no references. (What a call does not
say of this it takes from its caller, so both say it.)"""


class State(NamedTuple):
    """Everything that the kernels read and write; one owner.

    Rows of the counts (``start``, ``degree``, ``neighbour``, ``weight``) are views and are never
    written here. A pair ties its concepts when ``tie`` is positive.

    ``bucket`` int16[n]: rounded log2 f, beyond all weights where a concept is left out. Apart from
    the rest, since whole rows are asked for it and most of their pairs are no ties: two bytes
    for each concept stay in the cache.
    ``concept`` int32[n, CONCEPT]: the path (``concept[x, k]`` is the slot of x at level k, -1 below
    its leaf); ``TIES``, their number; ``QUEUED``, bit k: waits for a local move at level k;
    ``LISTED``, bit i: in list i; ``MARK``, scratch, zero between uses; from ``SLACK`` on, what x
    may lose at each level before another slot suits it better; ``STIRRED``, the last batch in which
    a tie of x changed.
    ``after`` and ``before`` int32[n, DEPTH] chain the members of a slot from its ``HEAD``.
    ``lists`` int32[LISTS, n]: concepts with a bit in ``QUEUED``; those that may have come apart
    from their leaf; those that have ties and no community, or a community and no ties; those whose
    path changed in this batch (``was`` int32[n, DEPTH]: their paths before it, in that order);
    scratch.

    ``slot`` int32[m, SLOT]: the first member; level; parent; members; how many children, the first
    of them, and the children before and after; whether it is listed as touched (its members changed
    in this batch) and as torn (its children may have come apart from each other); ``TRIED``, bit k:
    as a whole, found no better place at level k, 0 once it changes; the first bond; scratch.
    ``sums`` int64[m, SUMMED]: the ties of a slot's members to everything in its parent, those among
    them, each counted from both ends; scratch, zero between uses.
    ``slots`` int32[SLOT_LISTS, m]: slots that nobody holds, touched, torn, to be split; scratch.

    A bond is the ties between two communities, added up: see ``index.communities.kernels.bonds``.
    ``bond_head`` int32, a power of two: first bond of each hash; ``bond``
    int32[b, BOND] and ``bond_long`` int64[b, BOND / 2] are the same memory, half a line of cache
    for each.
    ``row`` int64[n, 3]: scratch, the neighbours tied to one concept and the weights of the ties;
    ``path`` int32[DEPTH]: scratch, where one concept goes.
    """

    start: Longs
    degree: Ints
    neighbour: Ints
    weight: Ints
    logs: Ints
    counters: Longs
    bucket: Shorts
    concept: Ints
    after: Ints
    before: Ints
    was: Ints
    lists: Ints
    slot: Ints
    sums: Longs
    slots: Ints
    bond_head: Ints
    bond: Ints
    bond_long: Longs
    along: Longs
    row: Longs
    path: Ints

    @property
    def member(self) -> Ints:
        """int32[n, DEPTH], a view: the path of every concept."""
        return self.concept[:, :DEPTH]

    def listed(self, which: int | np.integer) -> Ints:
        """int32, a view: what is in one of the lists."""
        rows = self.lists if which < LISTS else self.slots
        return rows[which, : self.counters[which]]


@inner_njit
def borrowed(st):
    """The same state for the time of one call from Python, which keeps the arrays alive."""
    return State(
        lent(st.start),
        lent(st.degree),
        lent(st.neighbour),
        lent(st.weight),
        lent(st.logs),
        lent(st.counters),
        lent(st.bucket),
        lent(st.concept),
        lent(st.after),
        lent(st.before),
        lent(st.was),
        lent(st.lists),
        lent(st.slot),
        lent(st.sums),
        lent(st.slots),
        lent(st.bond_head),
        lent(st.bond),
        lent(st.bond_long),
        lent(st.along),
        lent(st.row),
        lent(st.path),
    )


@inner_njit
def strength(w, by, logs, base):
    """What pairs mean in this epoch: ``w (log2 w - b(fx) - b(fy) + s)``; ``base`` is ``s - b(fx)``.

    Indices are unsigned here and in the loops over rows: for others numba asks each time whether
    they count from the end, and the rows of a batch have half a million entries.
    """
    at = np.uint32(w)
    if at < np.uint32(len(logs)):
        return np.int64(w) * (np.int64(logs[at]) - np.int64(by) + base)
    return np.int64(w) * (np.int64(np.rint(64.0 * np.log2(np.float64(w)))) - np.int64(by) + base)


@inner_njit
def tie(w, by, logs, base, threshold):
    """The weight of a tie: its strength, 0 below the threshold."""
    value = strength(w, by, logs, base)
    return value if value >= threshold else np.int64(0)


@inner_njit
def base_of(bucket, counters, x):
    """What the ties of x have in common: ``s - b(fx)``."""
    return counters[SHIFT] - np.int64(bucket[x])


@inner_njit
def ask_for(concept, row, count):
    """Ask memory for the concepts laid out in ``row``, before each is looked at in its turn."""
    for i in range(count):
        ask(concept, row[i, 0])


@inner_njit
def load(st, x):
    """Lay the ties of x out in ``row``; returns how many there are.

    Those who look at one concept again and again look at these: most pairs of a row are no ties.
    """
    bucket, neighbour, weight, logs, row = st.bucket, st.neighbour, st.weight, st.logs, st.row
    counters = st.counters
    base, threshold = base_of(bucket, counters, x), counters[THRESHOLD]
    count, low, length = np.uint64(0), np.uint64(st.start[x]), np.uint64(st.degree[x])
    for i in range(low, low + length):
        y = np.uint32(neighbour[i])
        value = strength(weight[i], bucket[y], logs, base)
        row[count, 0] = y
        row[count, 1] = value
        count += np.uint64(value >= threshold)
    ask_for(st.concept, row, count)
    counters[WORK] += length
    return np.int64(count)


@inner_njit
def note(concept, lists, counters, x, which):
    """Put x in a list, once."""
    bit = np.int64(1) << which
    if not concept[x, LISTED] & bit:
        concept[x, LISTED] |= bit
        lists[which, counters[which]] = x
        counters[which] += 1


@inner_njit
def enqueue(concept, lists, counters, x, k):
    """Let x wait for a local move at level k."""
    concept[x, QUEUED] |= 1 << k
    note(concept, lists, counters, x, PENDING)


@inner_njit
def weaken(concept, lists, counters, x, k, value):
    """The place of x at level k lost ``value`` against another; once too much, x waits."""
    left = concept[x, SLACK + k] - value
    concept[x, SLACK + k] = max(left, 0)
    if left < 0:
        enqueue(concept, lists, counters, x, k)


@inner_njit
def soil(concept, lists, counters, x):
    """Note that x may have come apart from its leaf."""
    note(concept, lists, counters, x, SEEDS)


@inner_njit
def loose_end(concept, lists, counters, x):
    """Note that x may have to get a community, or to lose it."""
    if (concept[x, TIES] == 0) == (concept[x, 0] >= 0):
        note(concept, lists, counters, x, LOOSE)


@inner_njit
def tear(slot, slots, counters, c):
    """Note that the children of a slot may have come apart; the root may be in parts."""
    if c > 0 and not slot[c, IS_TORN]:
        slot[c, IS_TORN] = 1
        slots[TORN, counters[TORN]] = c
        counters[TORN] += 1


@inner_njit
def touch(slot, slots, counters, c):
    """Note that the members of a slot changed."""
    slot[c, TRIED] = 0
    if not slot[c, IS_TOUCHED]:
        slot[c, IS_TOUCHED] = 1
        slots[TOUCHED, counters[TOUCHED]] = c
        counters[TOUCHED] += 1
