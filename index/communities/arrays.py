"""Making, growing and filling the arrays of the dynamic hierarchy."""

from typing import Any

import numpy as np

from index.communities.epoch import Epoch, log_table
from index.communities.hierarchy import Hierarchy
from index.communities.kernels import bonds
from index.communities.kernels.state import BONDS, CHAIN, COUNTERS, DEPTH, FREE, LOST, SPARE, State
from index.counts.graph import Counts
from index.types import Int64Array

_BY_CONCEPT = {
    "bucket": 0,
    "ties": 0,
    "queued": 0,
    "pending": 0,
    "seeds": 0,
    "loose": 0,
    "listed": 0,
    "changed": 0,
    "ring": 0,
    "mark": 0,
}
_PATHS = {"member": -1, "after": -1, "before": -1, "was": -1, "slack": 0}
_BY_SLOT = {
    "head": -1,
    "level": 0,
    "parent": 0,
    "size": 0,
    "children": 0,
    "child": -1,
    "next_child": -1,
    "last_child": -1,
    "free": 0,
    "touched": 0,
    "is_touched": 0,
    "torn": 0,
    "is_torn": 0,
    "tried": 0,
    "bonds": -1,
    "near": 0,
}
_SUMS_BY_SLOT = ("sums", "inner", "shared")
_LEAST_BONDS = 1 << 12


def empty_state(counts: Counts, epoch: Epoch, slots: int) -> State:
    """Nobody belongs anywhere; slot 0 is the root, all others are free."""
    n = counts.concept_count
    start, degree, neighbour, weight = counts.adjacency
    arrays: dict[str, Any] = {
        name: np.full(n, fill, np.int32) for name, fill in _BY_CONCEPT.items()
    }
    arrays |= {name: np.full((n, DEPTH), fill, np.int32) for name, fill in _PATHS.items()}
    arrays |= {name: np.full(slots, fill, np.int32) for name, fill in _BY_SLOT.items()}
    arrays |= {name: np.zeros(slots, np.int64) for name in _SUMS_BY_SLOT}
    arrays["bucket"] = epoch.buckets(counts.f)
    arrays["level"][0] = -1
    arrays["parent"][0] = -1
    arrays["free"][: slots - 1] = np.arange(slots - 1, 0, -1)
    counters = np.zeros(COUNTERS, np.int64)
    counters[FREE] = slots - 1
    arrays |= _no_bonds(_LEAST_BONDS, counters)
    return State(
        start=start,
        degree=degree,
        neighbour=neighbour,
        weight=weight,
        logs=log_table(),
        epoch=np.array([epoch.shift, epoch.threshold], np.int64),
        counters=counters,
        along=np.zeros((2, DEPTH), np.int64),
        pot=np.zeros((slots, 4), np.int64),
        pot_list=np.zeros((2, slots), np.int32),
        **arrays,
    )


def _no_bonds(room: int, counters: Int64Array) -> dict[str, Any]:
    """Arrays for ``room`` bonds (a power of two), none of them made."""
    counters[BONDS] = counters[LOST] = counters[SPARE] = 0
    bond = np.zeros((room, 6), np.int64)
    bond[:, CHAIN] = np.arange(1, room + 1)
    bond[-1, CHAIN] = -1
    return {"bond_head": np.full(room, -1, np.int32), "bond": bond}


def with_spare_bonds(state: State) -> State:
    """At least as many spare bonds as there are bonds."""
    room = len(state.bond)
    if 2 * int(state.counters[BONDS]) <= room:
        return state
    bond = np.zeros((2 * room, 6), np.int64)
    bond[:room] = state.bond
    head = np.full(2 * room, -1, np.int32)
    bonds.rehash(head, bond, state.counters)
    return state._replace(bond_head=head, bond=bond)


def recounted(state: State) -> State:
    """All sums and bonds counted from the ties, with as much room as they need."""
    room = len(state.bond)
    while True:
        state = state._replace(**_no_bonds(room, state.counters))
        state.bonds[:] = -1
        state.sums[:] = state.inner[:] = 0
        bonds.recount(state)
        if not state.counters[LOST]:
            return state
        room *= 2


def with_rows(state: State, counts: Counts) -> State:
    """The same state over the rows as they are now; call it after every change of the counts."""
    start, degree, neighbour, weight = counts.adjacency
    return state._replace(start=start, degree=degree, neighbour=neighbour, weight=weight)


def with_concepts(state: State, count: int) -> State:
    """Room for so many concepts; new ones are left out until their frequency says otherwise."""
    if count <= len(state.member):
        return state
    grown = {name: _longer(getattr(state, name), count, 0) for name in _BY_CONCEPT}
    grown |= {name: _longer(getattr(state, name), count, fill) for name, fill in _PATHS.items()}
    return state._replace(**grown)


def with_free_slots(state: State, wanted: int) -> State:
    """At least ``wanted`` free slots."""
    free, slots = int(state.counters[FREE]), len(state.size)
    if free >= wanted:
        return state
    more = max(wanted - free, slots // 2)
    grown = {n: _longer(getattr(state, n), slots + more, fill) for n, fill in _BY_SLOT.items()}
    grown |= {n: _longer(getattr(state, n), slots + more, 0) for n in _SUMS_BY_SLOT}
    grown["pot"] = _longer(state.pot, slots + more, 0)
    grown["pot_list"] = np.zeros((2, slots + more), np.int32)
    # The new ones go to the bottom of the stack: low slots are taken first.
    grown["free"][more : more + free] = state.free[:free]
    grown["free"][:more] = np.arange(slots + more - 1, slots - 1, -1)
    state.counters[FREE] = free + more
    return state._replace(**grown)


def _longer(values: np.ndarray, length: int, fill: int) -> np.ndarray:
    longer = np.full((length, *values.shape[1:]), fill, values.dtype)
    longer[: len(values)] = values
    return longer


def place(state: State, hierarchy: Hierarchy, ids: Int64Array) -> None:
    """Take the members of a hierarchy over; ``ids`` int64[slots] becomes the id of each slot.

    Sums and ties are left to ``recount``.
    """
    k = len(hierarchy.ids)
    slots = np.arange(1, k + 1)
    ids[1 : k + 1] = hierarchy.ids
    state.level[1 : k + 1] = hierarchy.level
    above = np.searchsorted(hierarchy.ids, hierarchy.parent) + 1
    state.parent[1 : k + 1] = np.where(hierarchy.parent == Hierarchy.ROOT, 0, above)
    state.counters[FREE] = len(state.free) - 1 - k
    for level in range(min(hierarchy.depth, DEPTH)):
        row = hierarchy.at_level(level)[: len(state.member)]
        at = np.flatnonzero(row != Hierarchy.NONE)
        state.member[at, level] = slots[np.searchsorted(hierarchy.ids, row[at])]
    _chain(state)


def _chain(state: State) -> None:
    """Build chains and sizes from ``member``, children from the slots with members."""
    for level in range(DEPTH):
        at = np.flatnonzero(state.member[:, level] >= 0)
        order = at[np.argsort(state.member[at, level], kind="stable")]
        slot = state.member[order, level]
        same = slot[1:] == slot[:-1]
        state.after[order[:-1][same], level] = order[1:][same]
        state.before[order[1:][same], level] = order[:-1][same]
        first = np.concatenate([[True], ~same])[: len(order)]
        state.head[slot[first]] = order[first]
        state.size[:] += np.bincount(slot, minlength=len(state.size)).astype(np.int32)
    alive = np.flatnonzero(state.size > 0)
    np.add.at(state.children, state.parent[alive], 1)
    order = alive[np.argsort(state.parent[alive], kind="stable")]
    parent = state.parent[order]
    same = parent[1:] == parent[:-1]
    state.next_child[order[:-1][same]] = order[1:][same]
    state.last_child[order[1:][same]] = order[:-1][same]
    first = np.concatenate([[True], ~same])[: len(order)]
    state.child[parent[first]] = order[first]
