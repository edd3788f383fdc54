"""Making, growing and filling the arrays of the dynamic hierarchy."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from index.aligned import aligned
from index.communities.epoch import Epoch, log_table
from index.communities.hierarchy import Hierarchy
from index.communities.kernels import bonds
from index.communities.kernels.state import (
    BOND,
    BONDED,
    BONDS,
    CHAIN,
    CHILD,
    CHILDREN,
    CONCEPT,
    COUNTERS,
    DEPTH,
    FREE,
    HEAD,
    INNER,
    LAST_CHILD,
    LEVEL,
    LISTS,
    LOST,
    NEXT_CHILD,
    PARENT,
    SHIFT,
    SIZE,
    SLOT,
    SLOT_LISTS,
    SPARE,
    SUMMED,
    SUMS,
    THRESHOLD,
    State,
)
from index.counts.graph import Counts
from index.types import Int32Array, Int64Array

_LEAST_BONDS = 1 << 12
_LASTING = ("counters", "bucket", "concept", "after", "before", "lists", "slot", "sums", "slots")
"""What lasts from one batch to the next, with the bonds; the rest is scratch or the counts'."""

LAYOUT = (1, DEPTH, CONCEPT, LISTS, SLOT, SUMMED, SLOT_LISTS, BOND, COUNTERS)
"""How saved arrays are laid out. Raise the first number when one of them changes its meaning."""


def empty_state(counts: Counts, epoch: Epoch, slots: int) -> State:
    """Nobody belongs anywhere; slot 0 is the root, all others are free."""
    n = counts.concept_count
    start, degree, neighbour, weight = counts.adjacency
    counters = np.zeros(COUNTERS, np.int64)
    counters[SHIFT], counters[THRESHOLD] = epoch.shift, epoch.threshold
    state = State(
        start=start,
        degree=degree,
        neighbour=neighbour,
        weight=weight,
        logs=log_table(),
        counters=counters,
        **_by_concept(n),
        **_by_slot(slots),
        **_no_bonds(_LEAST_BONDS, counters),
        **_scratch(),
    )
    state.bucket[:] = epoch.buckets(counts.f)
    state.slot[0, LEVEL] = state.slot[0, PARENT] = -1
    state.slots[FREE, : slots - 1] = np.arange(slots - 1, 0, -1)
    counters[FREE] = slots - 1
    return state


def _by_concept(n: int) -> dict[str, Any]:
    concept = aligned((n, CONCEPT), np.int32)
    concept[:] = 0
    concept[:, :DEPTH] = -1
    return {
        "bucket": np.empty(n, np.int16),
        "concept": concept,
        "after": np.full((n, DEPTH), -1, np.int32),
        "before": np.full((n, DEPTH), -1, np.int32),
        "was": np.empty((n, DEPTH), np.int32),
        "lists": np.empty((LISTS, n), np.int32),
        "row": np.empty((n + 1, 3), np.int64),
    }


def _by_slot(m: int) -> dict[str, Any]:
    slot, sums = aligned((m, SLOT), np.int32), aligned((m, SUMMED), np.int64)
    slot[:] = sums[:] = 0
    slot[:, [HEAD, CHILD, NEXT_CHILD, LAST_CHILD, BONDED]] = -1
    return {"slot": slot, "sums": sums, "slots": np.empty((SLOT_LISTS, m), np.int32)}


def _no_bonds(room: int, counters: Int64Array) -> dict[str, Any]:
    """Arrays for ``room`` bonds (a power of two), none of them made."""
    counters[BONDS] = counters[LOST] = counters[SPARE] = 0
    bond = aligned((room, BOND), np.int32)
    bond[:] = 0
    bond[:, CHAIN] = np.arange(1, room + 1)
    bond[-1, CHAIN] = -1
    return _bonds(bond, np.full(room, -1, np.int32))


def _bonds(bond: Int32Array, head: Int32Array) -> dict[str, Any]:
    return {"bond_head": head, "bond": bond, "bond_long": bond.view(np.int64)}


def with_spare_bonds(state: State) -> State:
    """At least as many spare bonds as there are bonds."""
    room = len(state.bond)
    if 2 * int(state.counters[BONDS]) <= room:
        return state
    bond = aligned((2 * room, BOND), np.int32)
    bond[:room], bond[room:] = state.bond, 0
    grown = _bonds(bond, np.full(2 * room, -1, np.int32))
    bonds.rehash(**grown, counters=state.counters)
    return state._replace(**grown)


def recounted(state: State) -> State:
    """All sums and bonds counted from the ties, with as much room as they need."""
    room = len(state.bond)
    while True:
        state = state._replace(**_no_bonds(room, state.counters))
        state.slot[:, BONDED] = -1
        state.sums[:, [SUMS, INNER]] = 0
        bonds.recount(state)
        if not state.counters[LOST]:
            return state
        room *= 2


def with_rows(state: State, counts: Counts) -> State:
    """The same state over the rows as they are now; call it after every change of the counts."""
    start, degree, neighbour, weight = counts.adjacency
    return state._replace(start=start, degree=degree, neighbour=neighbour, weight=weight)


def with_concepts(state: State, count: int, bucket: int) -> State:
    """Room for so many concepts; new ones are left out until their frequency says otherwise."""
    known = len(state.concept)
    if count <= known:
        return state
    grown = _by_concept(count)
    for name in ("bucket", "concept", "after", "before", "was"):
        grown[name][:known] = getattr(state, name)
    grown["lists"][:, :known] = state.lists
    grown["bucket"][known:] = bucket
    return state._replace(**grown)


def with_free_slots(state: State, wanted: int) -> State:
    """At least ``wanted`` free slots."""
    free, known = int(state.counters[FREE]), len(state.slot)
    if free >= wanted:
        return state
    more = max(wanted - free, known // 2)
    grown = _by_slot(known + more)
    grown["slot"][:known] = state.slot
    grown["sums"][:known] = state.sums
    grown["slots"][:, :known] = state.slots
    # The new ones go to the bottom of the stack: low slots are taken first.
    grown["slots"][FREE, more : more + free] = state.slots[FREE, :free]
    grown["slots"][FREE, :more] = np.arange(known + more - 1, known - 1, -1)
    state.counters[FREE] = free + more
    return state._replace(**grown)


def saved(state: State) -> dict[str, np.ndarray]:
    """Views of what another process needs to go on, between two batches."""
    return {name: getattr(state, name) for name in (*_LASTING, "bond", "bond_head")}


def restored(counts: Counts, kept: Mapping[str, np.ndarray]) -> State:
    """The state that was saved, over the counts that were saved with it."""
    n = len(kept["concept"])
    start, degree, neighbour, weight = counts.adjacency
    return State(
        start=start,
        degree=degree,
        neighbour=neighbour,
        weight=weight,
        logs=log_table(),
        was=np.empty((n, DEPTH), np.int32),
        row=np.empty((n + 1, 3), np.int64),
        **_bonds(kept["bond"], kept["bond_head"]),
        **_scratch(),
        **{name: kept[name] for name in _LASTING},
    )


def _scratch() -> dict[str, Any]:
    return {"along": np.zeros((2, DEPTH), np.int64), "path": np.empty(DEPTH, np.int32)}


def place(state: State, hierarchy: Hierarchy, ids: Int64Array) -> None:
    """Take the members of a hierarchy over; ``ids`` int64[slots] becomes the id of each slot.

    Sums and ties are left to ``recount``.
    """
    k = len(hierarchy.ids)
    slots = np.arange(1, k + 1)
    ids[1 : k + 1] = hierarchy.ids
    state.slot[1 : k + 1, LEVEL] = hierarchy.level
    above = np.searchsorted(hierarchy.ids, hierarchy.parent) + 1
    state.slot[1 : k + 1, PARENT] = np.where(hierarchy.parent == Hierarchy.ROOT, 0, above)
    state.counters[FREE] = len(state.slot) - 1 - k
    for level in range(min(hierarchy.depth, DEPTH)):
        row = hierarchy.at_level(level)[: len(state.concept)]
        at = np.flatnonzero(row != Hierarchy.NONE)
        state.concept[at, level] = slots[np.searchsorted(hierarchy.ids, row[at])]
    _chain(state)


def _chain(state: State) -> None:
    """Build chains and sizes from the paths, children from the slots with members."""
    slots = state.slot
    for level in range(DEPTH):
        at = np.flatnonzero(state.concept[:, level] >= 0)
        order = at[np.argsort(state.concept[at, level], kind="stable")]
        slot = state.concept[order, level]
        same = slot[1:] == slot[:-1]
        state.after[order[:-1][same], level] = order[1:][same]
        state.before[order[1:][same], level] = order[:-1][same]
        first = np.concatenate([[True], ~same])[: len(order)]
        slots[slot[first], HEAD] = order[first]
        slots[:, SIZE] += np.bincount(slot, minlength=len(slots)).astype(np.int32)
    alive = np.flatnonzero(slots[:, SIZE] > 0)
    slots[:, CHILDREN] += np.bincount(slots[alive, PARENT], minlength=len(slots)).astype(np.int32)
    order = alive[np.argsort(slots[alive, PARENT], kind="stable")]
    parent = slots[order, PARENT]
    same = parent[1:] == parent[:-1]
    slots[order[:-1][same], NEXT_CHILD] = order[1:][same]
    slots[order[1:][same], LAST_CHILD] = order[:-1][same]
    first = np.concatenate([[True], ~same])[: len(order)]
    slots[parent[first], CHILD] = order[first]
