"""How people write concepts, kept from one generation to the next.

A generation changes the forms of those concepts alone that its chunks name, whether they came or
went; what was read of the others still holds. Read anew, names are most of the time of an answer
that shows many: after each commit SQLite begins with an empty cache.
"""

import threading
from collections.abc import Iterable, Mapping

import numpy as np

from index.snapshot import Change, Snapshot
from index.types import Int64Array

MOST = 20_000
"""Names kept; all are forgotten beyond it. Some 2 MB."""


class Displays:
    """Names by concept, as of one generation; safe across threads."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._generation = -1
        self._names: dict[int, str] = {}

    def begin(self, generation: int) -> None:
        """Forget all, and stand for a generation from now on."""
        with self._lock:
            self._generation, self._names = generation, {}

    def follow(self, before: Snapshot, change: Change) -> None:
        """Forget what a change to a snapshot touches, and stand for what comes of it."""
        if before.generation != self._generation or not self._names:
            self.begin(change.head.generation)
            return
        touched = _named(before, change.retracted)
        if change.added is not None:
            touched.update(np.unique(change.added.concepts).tolist())
        with self._lock:
            for concept in touched & self._names.keys():
                del self._names[concept]
            self._generation = change.head.generation

    def known(self, generation: int, concepts: Iterable[int]) -> dict[int, str]:
        """The names that are kept of some concepts, as of a generation."""
        with self._lock:
            if generation != self._generation:
                return {}
            return {c: self._names[c] for c in concepts if c in self._names}

    def keep(self, generation: int, names: Mapping[int, str]) -> None:
        """Keep names that were read as of a generation."""
        with self._lock:
            if generation != self._generation:
                return
            if len(self._names) + len(names) > self._most:
                self._names.clear()
            self._names.update(names)


def _named(snapshot: Snapshot, slots: Int64Array) -> set[int]:
    """The concepts that some chunks name."""
    found: set[int] = set()
    for segment in snapshot.segments if len(slots) else ():
        for row in segment.rows_of(slots).tolist():
            first, end = segment.concept_offsets[row : row + 2]
            found.update(segment.concepts[first:end].tolist())
    return found
