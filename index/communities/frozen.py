"""From the slots of the dynamic hierarchy to its frozen form, with lasting ids."""

from dataclasses import dataclass

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
    the next new community gets.
    """

    ids: Int64Array
    sizes: Int64Array
    next_id: int

    def lengthened(self, slots: int) -> None:
        """Make room for so many slots."""
        missing = slots - len(self.ids)
        if missing > 0:
            self.ids = np.concatenate([self.ids, np.zeros(missing, np.int64)])
            self.sizes = np.concatenate([self.sizes, np.zeros(missing, np.int64)])


@dataclass(frozen=True, slots=True, eq=False)
class Named:
    """What naming a batch gave. ``concepts`` int32, sorted: all whose leaf may have changed."""

    concepts: Int32Array
    deaths: tuple[int, ...]
    lineage: tuple[LineageEvent, ...]


def name_batch(state: State, ledger: Ledger) -> Named:
    """Name the slots that a batch touched, level by level; ``ledger`` is brought up to date."""
    slots = np.sort(state.touched[: state.counters[TOUCHED]])
    changed = state.changed[: state.counters[CHANGED]].copy()
    events: list[LineageEvent] = []
    deaths: list[int] = []
    concepts: list[Int32Array] = [changed]
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
        ledger.ids[here] = names.ids
    ledger.sizes[slots] = state.size[slots]
    return Named(np.unique(np.concatenate(concepts)), tuple(sorted(deaths)), tuple(events))


def leaves_of(state: State, ledger: Ledger, concepts: Int32Array) -> Int64Array:
    """int64: the id of each concept's deepest community, ``Hierarchy.NONE`` where it has none."""
    paths = state.member[concepts]
    depth = (paths >= 0).sum(axis=1)
    at = paths[np.arange(len(concepts)), np.maximum(depth - 1, 0)]
    found: Int64Array = np.where(depth > 0, ledger.ids[np.maximum(at, 0)], Hierarchy.NONE)
    return found


def freeze(state: State, ledger: Ledger, leaf: Int64Array, epoch: int) -> Hierarchy:
    """The hierarchy of the named slots; ``leaf`` is kept as it is, not copied."""
    alive = np.flatnonzero(ledger.ids > 0)
    alive = alive[np.argsort(ledger.ids[alive])]
    return Hierarchy(
        epoch=epoch,
        ids=ledger.ids[alive],
        level=state.level[alive].astype(np.int16),
        parent=ledger.ids[state.parent[alive]],  # the root's id is 0
        sizes=state.size[alive].copy(),
        leaf=leaf,
    )
