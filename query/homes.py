"""Where lists of concepts are at home: the community that has most of their idf."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from index.communities.hierarchy import Hierarchy
from index.types import BoolArray, Float32Array, Float64Array, Int32Array, Int64Array


@dataclass(frozen=True, slots=True, eq=False)
class Lists:
    """Many lists of concepts: list i is ``concepts[begin[i] : end[i]]``, int32."""

    begin: Int64Array
    end: Int64Array
    concepts: Int32Array

    def __len__(self) -> int:
        return len(self.begin)

    @classmethod
    def joined(cls, offsets: Int64Array, concepts: Int32Array) -> "Lists":
        """Lists that stand one behind the other: list i begins at ``offsets[i]``."""
        return cls(offsets[:-1], offsets[1:], concepts)

    @classmethod
    def of(cls, lists: Sequence[Int32Array]) -> "Lists":
        """Lists given one by one."""
        offsets = np.cumsum([0, *map(len, lists)]).astype(np.int64)
        joined = np.concatenate(lists) if len(lists) else np.zeros(0, np.int32)
        return cls.joined(offsets, joined.astype(np.int32))

    def sizes(self) -> Int64Array:
        """int64[n]: the length of each list."""
        return self.end - self.begin

    def arrays(self) -> tuple[Int64Array, Int64Array, Int32Array]:
        """The lists as kernels take them: contiguous, int64 and int32."""
        return (
            np.ascontiguousarray(self.begin, np.int64),
            np.ascontiguousarray(self.end, np.int64),
            np.ascontiguousarray(self.concepts, np.int32),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Branches:
    """A hierarchy by place: ``ids`` int64[k] ascending name the communities.

    ``leaf`` int32[concepts] is the place of each concept's deepest community, -1 for none.
    ``above`` int32[depth, k] is the place around a community at each level, -1 below its own.
    """

    ids: Int64Array
    leaf: Int32Array
    above: Int32Array

    @classmethod
    def of(cls, hierarchy: Hierarchy) -> "Branches":
        """The branches of a hierarchy."""
        leaf = np.full(len(hierarchy.leaf), Hierarchy.NONE, np.int32)
        inside = np.flatnonzero(hierarchy.leaf != Hierarchy.NONE)
        leaf[inside] = np.searchsorted(hierarchy.ids, hierarchy.leaf[inside])
        above = np.full((hierarchy.depth, len(hierarchy.ids)), -1, np.int32)
        parent = np.searchsorted(hierarchy.ids, hierarchy.parent)
        for level in range(hierarchy.depth):
            here = np.flatnonzero(hierarchy.level == level)
            if level:
                above[:, here] = above[:, parent[here]]
            above[level, here] = here
        return cls(hierarchy.ids, leaf, above)

    def at(self, level: int) -> Int32Array:
        """int32[concepts]: the place of each concept at a level, -1 for none."""
        if not 0 <= level < len(self.above):
            return np.full(len(self.leaf), Hierarchy.NONE, np.int32)
        around = np.append(self.above[level], np.int32(Hierarchy.NONE))
        places: Int32Array = around[self.leaf]
        return places

    def named(self, places: Int32Array, absent: int) -> Int64Array:
        """Community ids of places; ``absent`` for -1."""
        names: Int64Array = np.append(self.ids, absent)[places]
        return names


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """The communities of a level with their documents.

    ``community`` and ``document`` int64[p] are the distinct pairs, sorted, of communities and
    document rows with a living chunk at home there. ``ids`` int64[k] are the communities with
    any; those of ``ids[i]`` are the pairs ``bounds[i]`` to ``bounds[i + 1]``.
    """

    community: Int64Array
    document: Int64Array
    ids: Int64Array
    bounds: Int64Array

    def documents_of(self, community: int) -> Int64Array:
        """Document rows of one community, ascending."""
        first, last = np.searchsorted(self.community, [community, community + 1])
        return self.document[first:last]


def homes(
    lists: Lists, branches: Branches, level: int, weight: Float32Array
) -> tuple[Int64Array, Float64Array]:
    """For each list its community of the highest affinity (-1 for none), and that affinity.

    Affinity is the summed weight of the concepts that a list and a community share; equal ones
    go to the smaller id.

    Args:
        lists: Lists of concepts.
        branches: Which communities hold the concepts.
        level: Of the communities looked at.
        weight: float32[concepts], what a concept counts: its idf.
    """
    from query.kernels import strongest_place  # noqa: PLC0415  numba takes a while to import

    best, strength = np.empty(len(lists), np.int32), np.empty(len(lists), np.float64)
    places = branches.at(level), weight, len(branches.ids)
    strongest_place(*lists.arrays(), *places, best, strength)
    return branches.named(best, Hierarchy.NONE), strength


def deepest_homes(
    lists: Lists, branches: Branches, weight: Float32Array, share: float
) -> Int64Array:
    """For each list its home at the deepest level where that has enough of the list's weight.

    Enough is ``share`` of it. Where no level has enough, the home at level 0; the root where
    there is none at all.
    """
    from query.kernels import deepest_place  # noqa: PLC0415  numba takes a while to import

    best = np.empty(len(lists), np.int32)
    deepest_place(*lists.arrays(), branches.leaf, branches.above, weight, share, best)
    return branches.named(best, Hierarchy.ROOT)


def placed(home: Int64Array, alive: BoolArray, chunk_document: Int32Array) -> Placed:
    """Which documents have a living chunk at home in which community.

    ``home`` int64[rows] is the community of each chunk row, -1 for none.
    """
    rows = np.flatnonzero(alive & (home != Hierarchy.NONE))
    wide = np.int64(int(chunk_document.max(initial=0)) + 1)
    pairs = np.sort(home[rows] * wide + chunk_document[rows])
    pairs = pairs[np.flatnonzero(np.diff(pairs, prepend=-1))]
    community, document = pairs // wide, pairs % wide
    firsts = np.flatnonzero(np.diff(community, prepend=-1))
    return Placed(community, document, community[firsts], np.append(firsts, len(community)))
