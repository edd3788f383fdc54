"""From the slots of the dynamic hierarchy to its frozen form, with lasting ids."""

from dataclasses import dataclass, field

import numpy as np

from index.communities.adopt import LineageEvent
from index.communities.hierarchy import Hierarchy
from index.communities.kernels import edges
from index.communities.kernels.state import CHANGED, TOUCHED, State
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
    """Name the slots that a batch touched, level by level; ``ledger`` is brought up to date."""
    slots = np.sort(state.touched[: state.counters[TOUCHED]])
    changed = state.changed[: state.counters[CHANGED]].copy()
    events: list[LineageEvent] = []
    deaths: list[int] = []
    concepts: list[Int32Array] = [changed]
    given: list[Int32Array] = [slots[:0]]
    for level in np.unique(state.level[slots]).tolist():
        here = slots[state.level[slots] == level]
        moves = Moves(
            before=state.was[changed, level],
            now=state.member[changed, level],
            slots=here,
            ids=ledger.ids[here],
            held=ledger.sizes[here],
            size=state.size[here].astype(np.int64),
        )
        names = name(moves, ledger.next_id)
        ledger.next_id = names.next_id
        events += names.lineage
        deaths += names.deaths
        renamed = here[(names.ids != moves.ids) & (names.ids > 0) & (state.children[here] == 0)]
        concepts += [edges.chain(state, slot) for slot in renamed.tolist()]
        given.append(here[names.ids != moves.ids])
        ledger.ids[here] = names.ids
    ledger.sizes[slots] = state.size[slots]
    return Named(
        np.unique(np.concatenate(concepts)),
        np.concatenate(given),
        tuple(sorted(deaths)),
        tuple(events),
    )


def leaf_slots(state: State, concepts: Int32Array) -> Int32Array:
    """int32: the slot of each concept's deepest community, -1 where it has none."""
    paths = state.member[concepts]
    depth = (paths >= 0).sum(axis=1)
    found: Int32Array = paths[np.arange(len(concepts)), np.maximum(depth - 1, 0)]
    return found


def leaves_of(state: State, ledger: Ledger, concepts: Int32Array) -> Int64Array:
    """int64: the id of each concept's deepest community, ``Hierarchy.NONE`` where it has none."""
    slots = leaf_slots(state, concepts)
    found: Int64Array = np.where(slots >= 0, ledger.ids[slots], Hierarchy.NONE)
    return found


def freeze(
    state: State, ledger: Ledger, named: Named, leaf: Int64Array, before: Hierarchy
) -> Hierarchy:
    """The hierarchy of the named slots, from the one before; ``leaf`` is kept, not copied.

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
        level=state.level[order].astype(np.int16),
        parent=ledger.ids[state.parent[order]],  # the root's id is 0
        sizes=state.size[order],
        leaf=leaf,
    )
