"""Where lists of concepts are at home: the community that has most of their idf."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from index.communities.hierarchy import Hierarchy
from index.types import BoolArray, Float32Array, Float64Array, Int32Array, Int64Array


@dataclass(frozen=True, slots=True, eq=False)
class Lists:
    """Many lists of concepts: list i is ``concepts[offsets[i] : offsets[i + 1]]``, int32."""

    offsets: Int64Array
    concepts: Int32Array

    @classmethod
    def of(cls, lists: Sequence[Int32Array]) -> "Lists":
        """Lists given one by one."""
        offsets = np.cumsum([0, *map(len, lists)]).astype(np.int64)
        joined = np.concatenate(lists) if len(lists) else np.zeros(0, np.int32)
        return cls(offsets, joined.astype(np.int32))


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


def homes(lists: Lists, row: Int64Array, weight: Float32Array) -> tuple[Int64Array, Float64Array]:
    """For each list its community of the highest affinity (-1 for none), and that affinity.

    Affinity is the summed weight of the concepts that a list and a community share; equal ones
    go to the smaller id.

    Args:
        lists: Lists of concepts.
        row: int64[concepts], the community of each concept at one level, or -1.
        weight: float32[concepts], what a concept counts: its idf.
    """
    from query.kernels import strongest_place  # noqa: PLC0415  numba takes a while to import

    count = len(lists.offsets) - 1
    best, strength = np.empty(count, np.int32), np.empty(count, np.float64)
    inside = np.flatnonzero(row >= 0)
    ids, place = np.unique(row[inside], return_inverse=True)
    place_of = np.full(len(row), Hierarchy.NONE, np.int32)
    place_of[inside] = place
    strongest_place(
        np.ascontiguousarray(lists.offsets, np.int64),
        np.ascontiguousarray(lists.concepts, np.int32),
        place_of,
        weight,
        len(ids),
        best,
        strength,
    )
    named = np.append(ids, Hierarchy.NONE)
    return named[best], strength


def placed(home: Int64Array, alive: BoolArray, chunk_document: Int32Array) -> Placed:
    """Which documents have a living chunk at home in which community.

    ``home`` int64[rows] is the community of each chunk row, -1 for none.
    """
    rows = np.flatnonzero(alive & (home != Hierarchy.NONE))
    wide = np.int64(int(chunk_document.max(initial=0)) + 1)
    pairs = np.unique(home[rows] * wide + chunk_document[rows])
    community, document = pairs // wide, pairs % wide
    firsts = np.flatnonzero(np.diff(community, prepend=-1))
    return Placed(community, document, community[firsts], np.append(firsts, len(community)))
