"""Lasting ids: how a new partition takes over the names of the one before."""

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from index.communities.hierarchy import Hierarchy
from index.communities.leaves import Leaves
from index.communities.partition import Partition
from index.types import Int32Array, Int64Array


class LineageKind(StrEnum):
    """What became of a community."""

    BIRTH = "birth"
    DEATH = "death"
    SPLIT = "split"
    MERGE = "merge"
    GROWTH = "growth"
    DECLINE = "decline"


@dataclass(frozen=True, slots=True)
class LineageEvent:
    """One event of a community's line of descent.

    birth: ``community`` began with ``shared`` concepts. death: it ended, ``related`` is where
    most of its concepts went (0: nowhere). split: ``community`` came out of ``related``, which
    lives on. merge: ``community`` went into ``related``. growth, decline: ``community`` has
    ``shared`` concepts now, at least twice or at most half of what was last told of it; the store
    notices these. ``shared`` else counts concepts in common.
    """

    kind: LineageKind
    community: int
    related: int
    shared: int


@dataclass(frozen=True, slots=True)
class Adoption:
    """A hierarchy with lasting ids, and what changed: all that a generation must record.

    ``moved``: concepts (int32) whose leaf changed and their new leaf (int64).
    """

    hierarchy: Hierarchy
    moved: tuple[Int32Array, Int64Array]
    deaths: tuple[int, ...]
    lineage: tuple[LineageEvent, ...]
    next_id: int


def changed_communities(old: Hierarchy, new: Hierarchy) -> Int64Array:
    """Ids (ascending) of the communities of ``new`` whose level, parent or size is not as before.

    Those that are new are among them; what a store must write for a generation is these rows.
    """
    at = np.minimum(np.searchsorted(old.ids, new.ids), max(len(old.ids) - 1, 0))
    if not len(old.ids):
        return new.ids.copy()
    same = (
        (old.ids[at] == new.ids)
        & (old.level[at] == new.level)
        & (old.parent[at] == new.parent)
        & (old.sizes[at] == new.sizes)
    )
    changed: Int64Array = new.ids[~same]
    return changed


def adopt(old: Hierarchy, found: Partition, concept_count: int, next_id: int) -> Adoption:
    """Give a partition the ids of the communities that it continues.

    At each level a new community continues the old one it shares most concepts with, if it is also
    the one that the old one shares most with (of a split the larger part keeps the id, of a merge
    the larger one); ties go to the lower id. All others get fresh ids, which are never reused.
    """
    old = old.extended(concept_count)
    ids: list[Int64Array] = []
    levels: list[Int64Array] = []
    parents: list[Int64Array] = []
    sizes: list[Int64Array] = []
    events: list[LineageEvent] = []
    leaf = np.full(concept_count, Hierarchy.NONE, np.int64)
    above: tuple[Int32Array, Int64Array] | None = None
    for depth, row in enumerate(found.labels):
        labels = np.full(concept_count, -1, np.int32)
        labels[: len(row)] = row
        named, born, next_id = _named(old.at_level(depth), labels, next_id)
        events += born
        placed = labels >= 0
        leaf[placed] = named[labels[placed]]
        first = _first_member(labels, len(named))
        parent = np.zeros(len(named), np.int64) if above is None else above[1][above[0][first]]
        ids.append(named)
        levels.append(np.full(len(named), depth, np.int64))
        parents.append(parent)
        sizes.append(np.bincount(labels[placed], minlength=len(named)))
        above = labels, named
    hierarchy = _assembled(old.epoch + 1, ids, levels, parents, sizes, leaf)
    deaths = np.setdiff1d(old.ids, hierarchy.ids)
    events += _endings(old, hierarchy, deaths)
    moved = np.flatnonzero(leaf != old.leaf).astype(np.int32)
    return Adoption(hierarchy, (moved, leaf[moved]), tuple(deaths.tolist()), tuple(events), next_id)


def _named(
    old: Int64Array, labels: Int32Array, next_id: int
) -> tuple[Int64Array, list[LineageEvent], int]:
    """The lasting id of each label, given each concept's old community at the same level."""
    count = int(labels.max()) + 1 if len(labels) else 0
    named = np.zeros(count, np.int64)
    sizes = np.bincount(labels[labels >= 0], minlength=count)
    both = (labels >= 0) & (old != Hierarchy.NONE)
    of_old, of_label, shared = _overlaps(old[both], labels[both])
    events: list[LineageEvent] = []
    heir: dict[int, int] = {}
    origin: dict[int, tuple[int, int]] = {}
    order = np.lexsort((of_label, of_old, -shared))
    columns = (column[order].tolist() for column in (of_old, of_label, shared))
    for before, label, common in zip(*columns, strict=True):
        first_of_label = label not in origin
        origin.setdefault(label, (before, common))
        if first_of_label and before not in heir:
            heir[before] = label
            named[label] = before
    for label in np.flatnonzero(named == 0).tolist():
        named[label] = next_id
        next_id += 1
        before, common = origin.get(label, (0, 0))
        if before in heir:
            events.append(LineageEvent(LineageKind.SPLIT, int(named[label]), before, common))
        else:
            events.append(LineageEvent(LineageKind.BIRTH, int(named[label]), 0, int(sizes[label])))
    return named, events, next_id


def _first_member(labels: Int32Array, count: int) -> Int64Array:
    """Any concept of each label."""
    first = np.zeros(count, np.int64)
    placed = np.flatnonzero(labels >= 0)[::-1]
    first[labels[placed]] = placed
    return first


def _assembled(
    epoch: int,
    ids: list[Int64Array],
    levels: list[Int64Array],
    parents: list[Int64Array],
    sizes: list[Int64Array],
    leaf: Int64Array,
) -> Hierarchy:
    if not ids:
        return replace(Hierarchy.empty(len(leaf)), epoch=epoch)
    joined = np.concatenate(ids)
    order = np.argsort(joined)
    return Hierarchy(
        epoch=epoch,
        ids=joined[order],
        level=np.concatenate(levels)[order].astype(np.int16),
        parent=np.concatenate(parents)[order],
        sizes=np.concatenate(sizes)[order].astype(np.int32),
        leaves=Leaves(leaf),
    )


def _endings(old: Hierarchy, new: Hierarchy, deaths: Int64Array) -> list[LineageEvent]:
    """For every community that ended: where most of its concepts went, at its own level."""
    into: dict[int, tuple[int, int]] = {}
    for depth in range(old.depth):
        before, now = old.at_level(depth), new.at_level(depth)
        ended = np.isin(before, deaths) & (now != Hierarchy.NONE)
        of_old, of_new, shared = _overlaps(before[ended], now[ended])
        order = np.lexsort((of_new, -shared))
        columns = (column[order].tolist() for column in (of_old, of_new, shared))
        for community, heir, common in zip(*columns, strict=True):
            into.setdefault(community, (heir, common))
    events: list[LineageEvent] = []
    for community in deaths.tolist():
        if community in into:
            events.append(LineageEvent(LineageKind.MERGE, community, *into[community]))
        else:
            size = old.size_of(community)
            events.append(LineageEvent(LineageKind.DEATH, community, 0, size))
    return events


def _overlaps(
    before: Int64Array, now: Int64Array | Int32Array
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Distinct pairs of where each concept was and is (neither negative), and how many did so."""
    old, place = np.unique(before, return_inverse=True)
    width = int(now.max(initial=0)) + 1
    pairs, shared = np.unique(place * width + now, return_counts=True)
    return old[pairs // width], pairs % width, shared
