"""Similarity of chunks to a question's vector: exact in the snapshot, or by an index's hits.

An index only proposes. Every score comes from the snapshot's own vectors, and only rows that the
snapshot holds alive and the filters allow are let through; so a hit that is stale, foreign or
scored wrongly can never reach an answer.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import numpy as np

from index.errors import VectorIndexBusyError, VectorIndexError
from index.snapshot import Snapshot
from index.types import BoolArray, Float32Array, Int64Array
from index.vectors.breaker import Breaker, Clock
from index.vectors.protocol import Condition, Hits, Mark, VectorIndex
from index.view import View

EXACT_CHUNKS = 100_000
"""Stores up to so many chunks are searched exactly (numpy: 10 ms at 100,000 of 256 dimensions)."""

MARK_SECONDS = 1.0
"""For how long a mark that was read is believed; far below the grace of the follower."""

DEEPEST = 10_000
"""More hits than this are not asked of an index: exact search is quicker then."""

_OFF = 0.05
"""A score further than this from the true cosine (quantisation is within it) is nonsense."""


class Lookup(Protocol):
    """Similarity over the rows of one pinned view, as one search sees it."""

    degraded: bool
    """Whether an index that should have helped could not; the results are exact all the same."""

    def best(self, vector: Float32Array, depth: int) -> Float32Array:
        """float32[rows]: cosine of the allowed rows, of the best ``depth`` at least.

        The others may be 0, as rows are that are dead or not allowed.
        """

    def at(self, vector: Float32Array, rows: Int64Array) -> Float32Array:
        """float32[n]: cosine of some rows, exact."""


class Similarity(Protocol):
    """Makes the look-up of one search."""

    def over(self, view: View, rows: BoolArray, condition: Condition) -> Lookup:
        """The look-up over the rows that are allowed; ``condition`` says the same to an index."""


def at(snapshot: Snapshot, vector: Float32Array, rows: Int64Array) -> Float32Array:
    """float32[n]: cosine of some chunk rows to a unit vector."""
    scores = np.zeros(len(rows), np.float32)
    start = 0
    for segment in snapshot.segments:
        inside = (rows >= start) & (rows < start + segment.rows)
        if inside.any():
            scores[inside] = segment.vectors[rows[inside] - start] @ vector
        start += segment.rows
    return scores


class ExactLookup:
    """Every row compared."""

    def __init__(self, snapshot: Snapshot, rows: BoolArray, *, degraded: bool = False) -> None:
        self._snapshot = snapshot
        self._rows = rows
        self._last: tuple[Float32Array, Float32Array] | None = None
        self.degraded = degraded

    def best(self, vector: Float32Array, depth: int) -> Float32Array:
        """See ``Lookup.best``; all rows, whatever ``depth``."""
        del depth
        scores = self._snapshot.similarity(vector)
        self._last = vector, scores
        return np.where(self._rows, scores, 0).astype(np.float32)

    def at(self, vector: Float32Array, rows: Int64Array) -> Float32Array:
        """See ``Lookup.at``."""
        if self._last is not None and self._last[0] is vector:
            return self._last[1][rows]
        return at(self._snapshot, vector, rows)


class ExactSimilarity:
    """Searches the snapshot alone."""

    def over(self, view: View, rows: BoolArray, condition: Condition) -> Lookup:
        """See ``Similarity.over``."""
        del condition
        return ExactLookup(view.snapshot, rows)


class IndexedSimilarity:
    """Asks an index for what lies below its mark and searches the rest exactly.

    Args:
        index: Shared with its follower, where this process has one.
        breaker: Shared with it too: who fails first spares the other the wait.
        exact_chunks: Stores up to this size are searched exactly.
        clock: Seconds that never go backwards.
    """

    def __init__(
        self, index: VectorIndex, breaker: Breaker, exact_chunks: int, clock: Clock
    ) -> None:
        self._index = index
        self.breaker = breaker
        self._exact_chunks = exact_chunks
        self._clock = clock
        self._mark: Mark | None = None
        self._read_at: float | None = None

    def over(self, view: View, rows: BoolArray, condition: Condition) -> Lookup:
        """See ``Similarity.over``."""
        mark = self.mark()
        snapshot = view.snapshot
        small = int(np.count_nonzero(snapshot.alive)) <= self._exact_chunks
        if mark is None or small or not _same_history(mark, view):
            return ExactLookup(snapshot, rows, degraded=bool(self.breaker.problem))
        return _IndexedLookup(self._ask, self.breaker, snapshot, rows, mark, condition)

    @property
    def known(self) -> Mark | None:
        """The mark that was read last; nothing is asked."""
        return self._mark

    def mark(self) -> Mark | None:
        """The index's mark, at most a second old; None where it cannot be had."""
        if not self.breaker.closed:
            return None
        if self._read_at is None or self._clock() - self._read_at >= MARK_SECONDS:
            try:
                self._mark = self._index.mark()
            except VectorIndexBusyError:
                return None
            except VectorIndexError as error:
                self.breaker.failed(str(error))
                return None
            self.breaker.succeeded()
            self._read_at = self._clock()
        return self._mark

    def _ask(self, vector: Float32Array, limit: int, condition: Condition) -> Hits | None:
        """Hits of the index; None, and the breaker told, where it fails.

        Raises ``VectorIndexBusyError``.
        """
        if not self.breaker.closed:
            return None
        try:
            return self._index.search(vector, limit, condition)
        except VectorIndexBusyError:
            raise
        except VectorIndexError as error:
            self.breaker.failed(str(error))
            self._read_at = None
            return None


def _same_history(mark: Mark, view: View) -> bool:
    """Whether the index holds what a view's snapshot needs, and follows the same store."""
    generation = view.snapshot.generation
    if mark.since > generation or view.checksum(mark.since) != mark.since_checksum:
        return False
    return mark.generation > generation or view.checksum(mark.generation) == mark.checksum


Ask = Callable[[Float32Array, int, Condition], Hits | None]


class _IndexedLookup:
    """Hits below the mark, exact search beyond it."""

    def __init__(
        self,
        ask: Ask,
        breaker: Breaker,
        snapshot: Snapshot,
        rows: BoolArray,
        mark: Mark,
        condition: Condition,
    ) -> None:
        self._ask = ask
        self._breaker = breaker
        self._snapshot = snapshot
        self._exact = ExactLookup(snapshot, rows)
        self._allowed = rows
        self._beyond = int(np.searchsorted(snapshot.slots, mark.next_slot))
        self._within = int(np.count_nonzero(rows[: self._beyond]))
        last = int(snapshot.slots[-1]) + 1 if snapshot.rows else 0
        ahead = mark.next_slot > last
        self._condition = replace(condition, below=last) if ahead else condition
        self.degraded = False

    def best(self, vector: Float32Array, depth: int) -> Float32Array:
        """See ``Lookup.best``."""
        wanted = min(depth, self._within)
        if wanted > DEEPEST:
            return self._exact.best(vector, depth)
        try:
            found = self._found(vector, wanted)
        except VectorIndexBusyError:
            return self._exact.best(vector, depth)
        if found is None:
            self.degraded = True
            return self._exact.best(vector, depth)
        scores = np.zeros(len(self._allowed), np.float32)
        beyond = self._beyond + np.flatnonzero(self._allowed[self._beyond :])
        rows = np.concatenate([found, beyond])
        scores[rows] = self.at(vector, rows)
        return scores

    def at(self, vector: Float32Array, rows: Int64Array) -> Float32Array:
        """See ``Lookup.at``."""
        return at(self._snapshot, vector, rows)

    def _found(self, vector: Float32Array, wanted: int) -> Int64Array | None:
        """Allowed rows of the best hits; None where the index fails or gives too few.

        Points of chunks that were retracted a moment ago take places among the hits, so more are
        asked for until enough live.
        """
        if not wanted:
            return np.zeros(0, np.int64)
        limit = wanted
        while True:
            hits = self._ask(vector, limit, self._condition)
            if hits is None or not self._sound(vector, hits):
                return None
            rows = self._snapshot.rows_of(hits.slots)
            rows = rows[rows >= 0]
            rows = np.unique(rows[self._allowed[rows]])
            if len(rows) >= wanted:
                return rows
            if len(hits.slots) < limit or limit > DEEPEST:
                return None
            limit *= 2

    def _sound(self, vector: Float32Array, hits: Hits) -> bool:
        """Whether the scores of the hits that the snapshot knows are their true ones."""
        rows = self._snapshot.rows_of(hits.slots)
        known = rows >= 0
        true = self.at(vector, rows[known])
        sound = bool(np.all(np.abs(true - hits.scores[known]) <= _OFF))
        if not sound:
            self._breaker.failed("it gives scores that its vectors cannot have")
        return sound
