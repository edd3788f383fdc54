"""The hierarchy of communities, frozen: what snapshots, searches and stories look at."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from index.communities.leaves import NONE, Leaves
from index.types import Int32Array, Int64Array


@dataclass(frozen=True)
class Hierarchy:
    """Communities by lasting id, nested: every one but those of level 0 lies in its parent.

    ``ids`` int64[k] ascending; ``level`` int16[k] from 0 (C0); ``parent`` int64[k], ``ROOT`` for
    level 0; ``sizes`` int32[k], concepts in it; ``leaves``: the deepest community of each
    concept, ``NONE`` where it has none; ``leaf`` lays them out. The root (level -1) is the whole
    corpus and not listed.
    """

    ROOT: ClassVar[int] = 0
    NONE: ClassVar[int] = NONE

    epoch: int
    ids: Int64Array
    level: Int32Array
    parent: Int64Array
    sizes: Int32Array
    leaves: Leaves

    @classmethod
    def empty(cls, concept_count: int) -> "Hierarchy":
        """No communities at all."""
        nothing = np.zeros(0, np.int64)
        return cls(
            0,
            nothing,
            np.zeros(0, np.int16),
            nothing,
            np.zeros(0, np.int32),
            Leaves(nothing, count=concept_count),
        )

    def extended(self, concept_count: int) -> "Hierarchy":
        """The same with room for new concepts, which belong nowhere yet."""
        return self if concept_count <= len(self.leaves) else self.resized(concept_count)

    def resized(self, concept_count: int) -> "Hierarchy":
        """The same for more concepts, or for fewer."""
        return replace(self, leaves=self.leaves.resized(concept_count))

    @property
    def leaf(self) -> Int64Array:
        """int64[n]: the deepest community of each concept, laid out when first asked for."""
        return self.leaves.row

    @cached_property
    def depth(self) -> int:
        """Number of levels from C0 down."""
        return int(self.level.max()) + 1 if len(self.level) else 0

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """Number of communities at each level from C0."""
        return tuple(np.bincount(self.level, minlength=self.depth).tolist())

    @cached_property
    def _ancestors(self) -> Int64Array:
        """int64[depth, k]: the index of each community's ancestor at each level; -1 below it."""
        above = np.full((self.depth, len(self.ids)), -1, np.int64)
        parent = np.searchsorted(self.ids, self.parent)
        for level in range(self.depth):
            here = np.flatnonzero(self.level == level)
            if level:
                above[:, here] = above[:, parent[here]]
            above[level, here] = here
        return above

    @cached_property
    def _paths(self) -> Int64Array:
        """int64[depth, n]: the community of each concept at each level, ``NONE`` where none."""
        paths = np.full((self.depth, len(self.leaves)), self.NONE, np.int64)
        placed = np.flatnonzero(self.leaf != self.NONE)
        if len(placed) and self.depth:
            above = self._ancestors[:, np.searchsorted(self.ids, self.leaf[placed])]
            paths[:, placed] = np.where(above >= 0, self.ids[above], self.NONE)
        return paths

    def at_level(self, level: int) -> Int64Array:
        """int64[n]: each concept's community at a level; ``NONE`` where its branch is shallower."""
        if not 0 <= level < self.depth:
            return np.full(len(self.leaves), self.NONE, np.int64)
        row: Int64Array = self._paths[level]
        return row

    def has(self, community: int) -> bool:
        """Whether the id names a living community (the root does not count)."""
        at = int(np.searchsorted(self.ids, community))
        return at < len(self.ids) and int(self.ids[at]) == community

    def index_of(self, community: int) -> int:
        """Row of a community; raises ``KeyError`` where it does not live."""
        at = int(np.searchsorted(self.ids, community))
        if at == len(self.ids) or int(self.ids[at]) != community:
            raise KeyError(community)
        return at

    def level_of(self, community: int) -> int:
        """Level of a community; -1 for the root."""
        return -1 if community == self.ROOT else int(self.level[self.index_of(community)])

    def parent_of(self, community: int) -> int:
        """Parent of a community."""
        return int(self.parent[self.index_of(community)])

    def size_of(self, community: int) -> int:
        """Number of concepts in a community; for the root, of all that belong somewhere."""
        if community == self.ROOT:
            return int(np.count_nonzero(self.leaf != self.NONE))
        return int(self.sizes[self.index_of(community)])

    def children(self, community: int) -> Int64Array:
        """Ids of the communities directly inside one (of the root: those of level 0)."""
        start = np.searchsorted(self._parents_sorted, community, side="left")
        end = np.searchsorted(self._parents_sorted, community, side="right")
        found: Int64Array = np.sort(self.ids[self._parent_order[start:end]])
        return found

    @cached_property
    def _parent_order(self) -> Int64Array:
        return np.argsort(self.parent, kind="stable")

    @cached_property
    def _parents_sorted(self) -> Int64Array:
        ordered: Int64Array = self.parent[self._parent_order]
        return ordered

    @cached_property
    def _runs(self) -> tuple[Int32Array, Int64Array, Int64Array]:
        """Concepts in the order of a walk down the hierarchy: a community's are one run of them.

        int32[n], and where the run of each community begins and ends, int64[k].
        """
        count = len(self.ids)
        rank, inside = np.zeros(count, np.int64), np.zeros(count, np.int64)
        if self.depth:
            # A parent is -1 where its children have an index, so that it comes right before them.
            rank[np.lexsort(self._ancestors[::-1])] = np.arange(count)
        for around in self._ancestors:
            inside += np.bincount(around[around >= 0], minlength=count)
        held = np.flatnonzero(self.leaf != self.NONE)
        # 16 bits are sorted by radix, ten times as fast.
        narrow = np.uint16 if count < 1 << 16 else np.uint32
        at = rank[np.searchsorted(self.ids, self.leaf[held])].astype(narrow)
        order = np.argsort(at, kind="stable")
        bounds = np.searchsorted(at[order], np.concatenate([rank, rank + inside]))
        return held[order].astype(np.int32), bounds[:count], bounds[count:]

    def members(self, community: int) -> Int32Array:
        """Concept numbers (sorted) in a community; for the root, all that belong somewhere."""
        if community == self.ROOT:
            return np.flatnonzero(self.leaf != self.NONE).astype(np.int32)
        concepts, begin, end = self._runs
        at = self.index_of(community)
        found: Int32Array = np.sort(concepts[begin[at] : end[at]])
        return found

    def path(self, community: int) -> tuple[int, ...]:
        """The communities around one, from C0 to itself."""
        found: list[int] = []
        while community != self.ROOT:
            found.append(community)
            community = self.parent_of(community)
        return tuple(reversed(found))

    def check(self) -> list[str]:
        """What is wrong with it: broken nesting, sizes or ids; nothing when all holds."""
        problems: list[str] = []
        if len(self.ids) and (np.diff(self.ids) <= 0).any():
            problems.append("community ids are not ascending")
        inner = self.parent != self.ROOT
        problems += [
            f"community {community} lies in no living community"
            for community in self.ids[inner & ~np.isin(self.parent, self.ids)].tolist()
        ]
        if problems:
            return problems
        parents = np.searchsorted(self.ids, self.parent[inner])
        if (self.level[inner] != self.level[parents] + 1).any():
            problems.append("a community is not one level below its parent")
        if (self.level[~inner] != 0).any():
            problems.append("a community in the root is not of level 0")
        if not np.isin(self.leaf[self.leaf != self.NONE], self.ids).all():
            problems.append("a concept belongs to a community that does not live")
            return problems
        counted = np.zeros(len(self.ids), np.int64)
        for level in range(self.depth):
            row = self.at_level(level)
            counted += np.bincount(
                np.searchsorted(self.ids, row[row != self.NONE]), minlength=len(self.ids)
            )
        problems += [
            f"community {self.ids[at]} has {counted[at]} concepts, not {self.sizes[at]}"
            for at in np.flatnonzero(counted != self.sizes)[:5].tolist()
        ]
        return problems
