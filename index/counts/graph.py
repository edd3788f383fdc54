"""The exact co-occurrence counts of the living chunks, kept by one owner."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from index.counts import kernels
from index.errors import NegativeCountError
from index.types import Delta, Int32Array, Int64Array

_SLACK = 4  # room that every row has beyond a quarter of its length
_WASTE = 0.3  # share of the pool that may be waste before it is compacted


@dataclass(slots=True)
class _Pool:
    """The arrays of the adjacency; see ``index.counts.kernels``."""

    start: Int64Array
    degree: Int32Array
    capacity: Int32Array
    neighbour: Int32Array
    weight: Int32Array
    tail: Int64Array

    @classmethod
    def of(cls, degree: Int32Array, spare: int = 0) -> "_Pool":
        """An empty pool whose rows have room for ``degree`` entries and some more."""
        capacity = _capacity(degree)
        start = np.zeros(len(degree) + 1, np.int64)
        np.cumsum(capacity, out=start[1:])
        size = int(start[-1]) + spare
        return cls(
            start=start[:-1].copy(),
            degree=np.zeros(len(degree), np.int32),
            capacity=capacity,
            neighbour=np.empty(size, np.int32),
            weight=np.empty(size, np.int32),
            tail=np.array([start[-1]], np.int64),
        )

    @property
    def rows(self) -> tuple[Int64Array, Int32Array, Int32Array, Int32Array, Int32Array]:
        return self.start, self.degree, self.capacity, self.neighbour, self.weight


class Counts:
    """f, w, F and W as integers under signed deltas.

    ``f[x]`` (int32) is the number of chunks that name x; ``w(x, y)`` the number that name both;
    ``F`` and ``W`` their sums; ``edge_count`` the number of pairs with w > 0.
    """

    def __init__(self, concept_count: int = 0) -> None:
        self.f: Int32Array = np.zeros(concept_count, np.int32)
        self.F = 0
        self.W = 0
        self._ends = np.zeros(1, np.int64)
        self._pool = _Pool.of(np.zeros(concept_count, np.int32))

    @classmethod
    def build(
        cls, chunk_offsets: Int64Array, chunk_concepts: Int32Array, concept_count: int
    ) -> "Counts":
        """The counts of whole chunks, given as compressed rows of sorted concept numbers.

        ``chunk_offsets`` int64[n + 1], ``chunk_concepts`` int32. Shares no code with ``apply``.
        """
        signs = np.ones(len(chunk_offsets) - 1, np.int32)
        keys, _ = kernels.enumerate_pairs(chunk_offsets, chunk_concepts, signs)
        total = len(keys)
        keys.sort()
        starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))[:total]
        w = np.diff(np.append(starts, total)).astype(np.int32)
        keys = keys[starts]
        f = np.bincount(chunk_concepts, minlength=concept_count).astype(np.int32)
        return cls.of_pairs(f, keys, w, len(chunk_concepts), total)

    @classmethod
    def of_pairs(
        cls, f: Int32Array, keys: Int64Array, w: Int32Array, total_f: int, total_w: int
    ) -> "Counts":
        """The counts of given pairs: ``keys`` int64, sorted, ``u << 32 | v`` with u < v.

        The sums may be larger than those of what is given: pairs can be left out.
        """
        counts = cls(len(f))
        counts.f, counts.F, counts.W = f, total_f, total_w
        counts._ends[0] = 2 * len(keys)
        degree = np.bincount(keys >> 32, minlength=len(f))
        degree += np.bincount(keys & 0xFFFFFFFF, minlength=len(f))
        pool = _Pool.of(degree.astype(np.int32))
        kernels.place_pairs(keys, w, pool.start, pool.degree, pool.neighbour, pool.weight)
        counts._pool = pool
        return counts

    def saved(self) -> dict[str, np.ndarray]:
        """What ``restored`` takes: views of the arrays, valid until the next ``apply``."""
        pool = self._pool
        rows = ("start", "degree", "capacity", "neighbour", "weight")
        found: dict[str, np.ndarray] = dict(zip(rows, pool.rows, strict=True))
        sums = np.array([self.F, self.W, self._ends[0]], np.int64)
        return found | {"f": self.f, "tail": pool.tail, "totals": sums}

    @classmethod
    def restored(cls, arrays: Mapping[str, np.ndarray]) -> "Counts":
        """The counts that were saved."""
        counts = cls()
        rows = ("start", "degree", "capacity", "neighbour", "weight", "tail")
        counts._pool = _Pool(*(arrays[name] for name in rows))
        counts.f = arrays["f"]
        counts.F, counts.W, counts._ends[0] = arrays["totals"].tolist()
        return counts

    @property
    def concept_count(self) -> int:
        """Number of concepts that there is room for."""
        return len(self.f)

    @property
    def edge_count(self) -> int:
        """Number of pairs with w > 0."""
        return int(self._ends[0]) // 2

    def apply(self, delta: Delta) -> Int32Array:
        """Apply a signed delta; new concepts make room for themselves.

        Returns what w was before for each pair of the delta.

        Raises ``NegativeCountError`` and changes nothing when any count would become negative.
        """
        if len(delta.concepts):
            self.reserve(int(delta.concepts[-1]) + 1)
        pairs = self._sought(delta.u, delta.v, delta.dw)
        held: Int32Array = pairs[kernels.HELD]
        self._refuse_negative(delta, held)
        self.f[delta.concepts] += delta.df
        self.F += int(delta.df.sum())
        self.W += int(delta.dw.sum())
        order = _ascending(delta.v)
        other_way = self._sought(delta.v[order], delta.u[order], delta.dw[order])
        done = np.zeros(2, np.int64)
        while True:
            pool = self._pool
            kernels.apply_pairs(done, pairs, other_way, *pool.rows, pool.tail, self._ends)
            if int(done.sum()) == 2 * len(delta.u):
                return held
            self._grow()

    def _sought(self, rows: Int32Array, others: Int32Array, dw: Int32Array) -> Int32Array:
        """Changes of pairs (int32[5, n]), with where they stand in their rows, and what they hold.

        ``rows`` ascends, and ``others`` for each of them.
        """
        pairs = np.empty((5, len(rows)), np.int32)
        pairs[kernels.X], pairs[kernels.OTHER], pairs[kernels.CHANGE] = rows, others, dw
        kernels.seek(pairs, *self._pool.rows)
        return pairs

    def w(self, x: int, y: int) -> int:
        """The number of chunks that name both concepts."""
        neighbours, weights = self.neighbours(x)
        at = int(np.searchsorted(neighbours, y))
        return int(weights[at]) if at < len(neighbours) and neighbours[at] == y else 0

    def held(self, u: Int32Array, v: Int32Array) -> Int32Array:
        """What w is for pairs that are sorted by (u, v)."""
        found: Int32Array = self._sought(u, v, np.zeros(len(u), np.int32))[kernels.HELD]
        return found

    def neighbours(self, x: int) -> tuple[Int32Array, Int32Array]:
        """The concepts that share a chunk with x (sorted) and how many chunks; views."""
        if x >= self.concept_count:
            return np.zeros(0, np.int32), np.zeros(0, np.int32)
        row = slice(int(self._pool.start[x]), int(self._pool.start[x] + self._pool.degree[x]))
        return self._pool.neighbour[row], self._pool.weight[row]

    @property
    def degrees(self) -> Int32Array:
        """int32[n]: the number of neighbours of each concept; a view."""
        return self._pool.degree

    @property
    def adjacency(self) -> tuple[Int64Array, Int32Array, Int32Array, Int32Array]:
        """Views: row x is ``neighbour[start[x]:][:degree[x]]`` (sorted), with ``weight`` beside it.

        In this order: start, degree, neighbour, weight. Valid until the next ``apply``.
        """
        pool = self._pool
        return pool.start, pool.degree, pool.neighbour, pool.weight

    def pairs(self, min_f: int = 1) -> tuple[Int32Array, Int32Array, Int32Array]:
        """Pairs u < v with w > 0, sorted, as three int32 columns.

        Only those of concepts with f of at least ``min_f``.
        """
        pool = self._pool
        wanted = self.f >= min_f
        offsets = np.zeros(self.concept_count + 1, np.int64)
        kernels.count_upper(*pool.rows[:2], pool.neighbour, wanted, offsets)
        np.cumsum(offsets, out=offsets)
        v, w = np.empty(int(offsets[-1]), np.int32), np.empty(int(offsets[-1]), np.int32)
        kernels.upper_triangle(*pool.rows[:2], pool.neighbour, pool.weight, wanted, v, w)
        u = np.repeat(np.arange(self.concept_count, dtype=np.int32), np.diff(offsets))
        return u, v, w

    @property
    def nbytes(self) -> int:
        """Bytes that the counts hold in memory."""
        pool = self._pool
        return self.f.nbytes + sum(part.nbytes for part in pool.rows)

    def reserve(self, concept_count: int) -> None:
        """Make room for so many concepts."""
        if concept_count <= self.concept_count:
            return
        # A quarter more keeps the cost of growth in proportion to the number of concepts.
        wanted = max(concept_count, self.concept_count + self.concept_count // 4)
        more = wanted - self.concept_count
        pool = self._pool
        self.f = np.concatenate([self.f, np.zeros(more, np.int32)])
        pool.start = np.concatenate([pool.start, np.zeros(more, np.int64)])
        pool.degree = np.concatenate([pool.degree, np.zeros(more, np.int32)])
        pool.capacity = np.concatenate([pool.capacity, np.zeros(more, np.int32)])

    def _refuse_negative(self, delta: Delta, held: Int32Array) -> None:
        bad = np.flatnonzero(self.f[delta.concepts] + delta.df < 0)
        if len(bad):
            x = int(delta.concepts[bad[0]])
            raise NegativeCountError(
                f"f({x}) is {int(self.f[x])} and would change by {int(delta.df[bad[0]])}; "
                "the whole delta was refused",
                (x,),
            )
        bad = np.flatnonzero(held + delta.dw < 0)
        if len(bad):
            u, v = int(delta.u[bad[0]]), int(delta.v[bad[0]])
            raise NegativeCountError(
                f"w({u}, {v}) is {held[bad[0]]} and would change by {int(delta.dw[bad[0]])}; "
                "the whole delta was refused",
                (u, v),
            )

    def _grow(self) -> None:
        """More room at the end of the pool, or a compact copy where much of it is waste."""
        pool = self._pool
        longest = int(pool.capacity.max()) if len(pool.capacity) else 0
        needed = int(_capacity(pool.degree).sum())
        # What a compact copy would need, slack included, is no waste: after a copy there is none,
        # so the next call enlarges. Counting the slack as waste once copied for ever.
        if needed < (1 - _WASTE) * int(pool.tail[0]):
            fresh = _Pool.of(pool.degree, spare=needed // 4 + 2 * longest + 1024)
            kernels.copy_rows(*pool.rows, fresh.start, fresh.neighbour, fresh.weight)
            fresh.degree[:] = pool.degree
            self._pool = fresh
            return
        room = len(pool.neighbour) + len(pool.neighbour) // 4 + 2 * longest + 1024
        pool.neighbour = _enlarged(pool.neighbour, int(pool.tail[0]), room)
        pool.weight = _enlarged(pool.weight, int(pool.tail[0]), room)


def _capacity(degree: Int32Array) -> Int32Array:
    """Room of a row: a quarter and ``_SLACK`` more than its entries, none for an empty one."""
    room = degree + degree // 4 + np.where(degree > 0, _SLACK, 0)
    return room.astype(np.int32)


def _ascending(keys: Int32Array) -> Int64Array:
    """The order of keys from 0 on, equal ones as they stand.

    Halves of 16 bits are sorted by radix, five times as fast as whole keys.
    """
    low = np.argsort(keys.astype(np.uint16), kind="stable")
    order: Int64Array = low[np.argsort((keys[low] >> 16).astype(np.uint16), kind="stable")]
    return order


def _enlarged(values: Int32Array, used: int, room: int) -> Int32Array:
    """A larger array; what is not copied is not touched, so it takes no memory yet."""
    larger = np.empty(room, np.int32)
    larger[:used] = values[:used]
    return larger
