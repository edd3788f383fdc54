"""Lasting ids for slots: who continues whom, from the concepts that moved in one batch."""

from dataclasses import dataclass

import numpy as np

from index.communities.adopt import LineageEvent, LineageKind
from index.types import BoolArray, Int32Array, Int64Array


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """What one batch moved, at all levels.

    ``before``, ``now`` int32[concepts, levels]: slots of those that changed, -1 for none.
    ``slots`` int32: the slots that lost or won a concept, sorted. ``ids`` and ``held`` int64: the
    id that each had before the batch (0 for none) and its size then; ``size`` its size now.
    """

    before: Int32Array
    now: Int32Array
    slots: Int32Array
    ids: Int64Array
    held: Int64Array
    size: Int64Array


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """``ids`` int64: the id of each of ``Moves.slots`` from now on, 0 for one without members."""

    ids: Int64Array
    deaths: tuple[int, ...]
    lineage: tuple[LineageEvent, ...]
    next_id: int


def name(moves: Moves, next_id: int) -> Names:
    """Of a split the larger part keeps the id, of a merge the larger; ids are never reused.

    A community keeps its id where it goes to another level as a whole.
    """
    overlaps = _overlaps(moves)
    named = np.zeros(len(moves.slots), np.int64)
    heir: dict[int, int] = {}
    origin: dict[int, tuple[int, int]] = {}
    for common, before, at in overlaps:
        first = at not in origin
        origin.setdefault(at, (before, common))
        if first and before not in heir:
            heir[before] = at
            named[at] = before
    events: list[LineageEvent] = []
    for at in np.flatnonzero((named == 0) & (moves.size > 0)).tolist():
        named[at] = next_id
        next_id += 1
        before, common = origin.get(at, (0, 0))
        kind = LineageKind.SPLIT if before in heir else LineageKind.BIRTH
        shared = common if before in heir else int(moves.size[at])
        events.append(LineageEvent(kind, int(named[at]), before if before in heir else 0, shared))
    largest: dict[int, tuple[int, int]] = {}
    for common, before, at in overlaps:
        largest.setdefault(before, (at, common))
    deaths = sorted(set(moves.ids[moves.ids > 0].tolist()) - set(heir))
    for community in deaths:
        into = largest.get(community)
        if into is None:
            size = int(moves.held[moves.ids == community][0])
            events.append(LineageEvent(LineageKind.DEATH, community, 0, size))
        else:
            events.append(LineageEvent(LineageKind.MERGE, community, int(named[into[0]]), into[1]))
    return Names(named, tuple(deaths), tuple(events), next_id)


def _overlaps(moves: Moves) -> list[tuple[int, int, int]]:
    """(concepts in common, old id, row of the new slot), most first.

    Of equal ones first those more alike in size, then by id, then by row.
    """
    moved = moves.before != moves.now
    left = moved & (moves.before >= 0)
    places = np.searchsorted(moves.slots, moves.before[left])
    gone = np.bincount(places, minlength=len(moves.slots))
    stayed = np.where((moves.ids > 0) & (moves.size > 0), moves.held - gone, 0)
    at = np.flatnonzero(stayed > 0)
    both = left & (moves.now >= 0)
    pairs = moves.before[both].astype(np.int64) << 32 | moves.now[both]
    pairs = np.concatenate([pairs, _across(moves, left, places)])
    unique, counts = np.unique(pairs, return_counts=True)
    old = np.searchsorted(moves.slots, unique >> 32)
    new = np.searchsorted(moves.slots, unique & 0xFFFFFFFF)
    known = moves.ids[old] > 0
    common = np.concatenate([stayed[at], counts[known]])
    before = np.concatenate([moves.ids[at], moves.ids[old[known]]])
    rows = np.concatenate([at, new[known]])
    held = np.concatenate([moves.held[at], moves.held[old[known]]])
    order = np.lexsort((rows, before, np.abs(held - moves.size[rows]), -common))
    columns = common[order].tolist(), before[order].tolist(), rows[order].tolist()
    return list(zip(*columns, strict=True))


def _across(moves: Moves, left: BoolArray, places: Int64Array) -> Int64Array:
    """``before << 32 | now`` of concepts whose slot ended while one of another level began.

    A community that became part of another as a whole lives on a level below. ``left``: where
    there is a slot that a concept left, at ``places`` of ``Moves.slots``.
    """
    taken = (moves.before != moves.now) & (moves.now >= 0)
    ended, fresh = np.zeros_like(left), np.zeros_like(left)
    ended[left] = (moves.size == 0)[places]
    fresh[taken] = (moves.ids == 0)[np.searchsorted(moves.slots, moves.now[taken])]
    at = np.flatnonzero(ended.any(axis=1) & fresh.any(axis=1))
    both = ended[at, :, None] & fresh[at, None, :]
    levels = np.arange(left.shape[1])
    both[:, levels, levels] = False
    row, k, j = np.nonzero(both)
    found: Int64Array = moves.before[at[row], k].astype(np.int64) << 32 | moves.now[at[row], j]
    return found
