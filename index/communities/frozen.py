"""From the slots of the dynamic hierarchy to its frozen form, with lasting ids."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from index.communities.adopt import LineageEvent
from index.communities.hierarchy import Hierarchy
from index.communities.kernels import edges
from index.communities.kernels.state import (
    CHANGED,
    CHILDREN,
    HEAD,
    LEVEL,
    PARENT,
    SIZE,
    TOUCHED,
    State,
)
from index.communities.leaves import Leaves
from index.communities.naming import Moves, name
from index.types import Int32Array, Int64Array


@dataclass(slots=True)
class Ledger:
    """The ids of the slots and the sizes that they had when they were last named; one owner.

    ``ids`` int64[slots]: 0 for the root and for slots that nobody holds. ``next_id``: the id that
    the next new community gets. ``order`` int64: the slots of the frozen hierarchy, by their id.
    """

    ids: Int64Array
    sizes: Int64Array
    next_id: int
    order: Int64Array = field(default_factory=lambda: np.zeros(0, np.int64))

    def lengthened(self, slots: int) -> None:
        """Make room for so many slots."""
        missing = slots - len(self.ids)
        if missing > 0:
            self.ids = np.concatenate([self.ids, np.zeros(missing, np.int64)])
            self.sizes = np.concatenate([self.sizes, np.zeros(missing, np.int64)])


@dataclass(frozen=True, slots=True, eq=False)
class Named:
    """What naming a batch gave. ``concepts`` int32, sorted: all whose leaf may have changed.

    ``slots`` int32: those whose id changed.
    """

    concepts: Int32Array
    slots: Int32Array
    deaths: tuple[int, ...]
    lineage: tuple[LineageEvent, ...]


def name_batch(state: State, ledger: Ledger) -> Named:
    """Name the slots that a batch touched; ``ledger`` is brought up to date."""
    slots = np.sort(state.listed(TOUCHED))
    changed = state.listed(CHANGED).copy()
    before = ledger.ids[slots]
    moves = Moves(
        before=state.was[: len(changed)],
        now=state.member[changed],
        slots=slots,
        ids=before,
        held=ledger.sizes[slots],
        size=state.slot[slots, SIZE].astype(np.int64),
    )
    names = name(moves, ledger.next_id)
    ledger.next_id = names.next_id
    ledger.ids[slots] = names.ids
    ledger.sizes[slots] = moves.size
    given = slots[names.ids != before]
    leaves = given[(ledger.ids[given] > 0) & (state.slot[given, CHILDREN] == 0)]
    concepts = np.unique(np.concatenate([changed, edges.chains(state, leaves)]))
    return Named(concepts, given, names.deaths, names.lineage)


def renamed(kept: Mapping[str, np.ndarray], hierarchy: Hierarchy) -> dict[str, np.ndarray]:
    """Saved arrays of a hierarchy whose communities got their lasting ids since.

    Every slot gets the id of the community that its first member is in, at its level.
    """
    slot = kept["slot"]
    alive = np.flatnonzero(slot[1:, SIZE] > 0) + 1
    ids = np.zeros(len(slot), np.int64)
    for level in range(hierarchy.depth):
        here = alive[slot[alive, LEVEL] == level]
        ids[here] = hierarchy.at_level(level)[slot[here, HEAD]]
    order = alive[np.argsort(ids[alive])]
    return {**kept, "ids": ids, "named_sizes": slot[:, SIZE].astype(np.int64), "order": order}


def leaves_of(state: State, ledger: Ledger, concepts: Int32Array) -> Int64Array:
    """int64: the id of each concept's deepest community, ``Hierarchy.NONE`` where it has none."""
    paths = state.member[concepts]
    depth = (paths >= 0).sum(axis=1)
    slots = paths[np.arange(len(concepts)), np.maximum(depth - 1, 0)]
    found: Int64Array = np.where(slots >= 0, ledger.ids[slots], Hierarchy.NONE)
    return found


def freeze(
    state: State, ledger: Ledger, named: Named, leaves: Leaves, before: Hierarchy
) -> Hierarchy:
    """The hierarchy of the named slots, from the one before.

    Only the ids that a batch gave or ended are sorted in; the others keep their order.
    """
    order = ledger.order[ledger.ids[ledger.order] == before.ids]
    fresh = named.slots[ledger.ids[named.slots] > 0]
    fresh = fresh[np.argsort(ledger.ids[fresh])]
    places = np.searchsorted(ledger.ids[order], ledger.ids[fresh])
    ledger.order = order = np.insert(order, places, fresh)
    return Hierarchy(
        epoch=before.epoch,
        ids=ledger.ids[order],
        level=state.slot[order, LEVEL].astype(np.int16),
        parent=ledger.ids[state.slot[order, PARENT]],  # the root's id is 0
        sizes=state.slot[order, SIZE],
        leaves=leaves,
    )
