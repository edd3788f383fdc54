"""The newest part of the stored change log, kept in memory and read on by generation."""

from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import Any

import numpy as np

from index.change_log import ChangeBuilder, ChangeColumns, ChangeRow, columns_of
from index.store.rows import int32_array
from index.types import Millis

HELD = 200_000
"""Changes held in memory at least, where there are as many; at most twice as many.

About 250 bytes each for newswire: 50 to 100 MB. Older ones are read from the store when asked for.
"""

Rows = Callable[[str, Sequence[object]], list[tuple[Any, ...]]]
"""Runs a query in the read transaction of a view."""

_COLUMNS = (
    "SELECT generation, document_id, kind, observed_at, event_at, source, concepts FROM changes"
)
_ALWAYS = 1 << 62


class ChangeLog:
    """What readers of one store share. Safe to use from several threads."""

    def __init__(self, held: int = HELD) -> None:
        self._held = held
        self._lock = Lock()
        self._builder = ChangeBuilder()
        self._generation = 0
        self._complete_since = -_ALWAYS

    def columns(self, rows: Rows, generation: int, since: Millis) -> ChangeColumns:
        """All changes observed from ``since`` on, and perhaps older ones, up to a generation.

        Args:
            rows: Reads the store as of ``generation``.
            generation: That of the caller's view.
            since: The first moment that must be there.
        """
        with self._lock:
            if generation > self._generation:
                self._read_on(rows, generation)
            if since >= self._complete_since:
                held = self._builder.columns()
                return held.first(int(np.searchsorted(held.generation, generation, side="right")))
        sql = f"{_COLUMNS} WHERE observed_at >= ? ORDER BY generation, rowid"
        return columns_of(_changes(rows(sql, (since,))))

    def _read_on(self, rows: Rows, generation: int) -> None:
        if not self._generation:
            self._skip_old(rows)
        sql = f"{_COLUMNS} WHERE generation > ? AND generation <= ? ORDER BY generation, rowid"
        self._builder.extend(_changes(rows(sql, (self._generation, generation))))
        self._generation = generation
        if self._builder.count > 2 * self._held:
            self._forget_old()

    def _skip_old(self, rows: Rows) -> None:
        """Begin with the newest changes of a store that has more than are held."""
        sql = "SELECT generation FROM changes ORDER BY generation DESC LIMIT 1 OFFSET ?"
        found = rows(sql, (self._held,))
        if found:
            self._generation = found[0][0]
            sql = "SELECT max(observed_at) FROM changes WHERE generation <= ?"
            self._complete_since = rows(sql, (self._generation,))[0][0] + 1

    def _forget_old(self) -> None:
        """Keep the newest; in whole generations, so that a view is never cut inside one."""
        columns = self._builder.columns()
        newest = columns.generation[-self._held]
        first = int(np.searchsorted(columns.generation, newest))
        gone = int(columns.observed_at[:first].max(initial=-_ALWAYS))
        self._complete_since = max(self._complete_since, gone + 1)
        self._builder = ChangeBuilder()
        self._builder.extend(columns.rows(first))


def _changes(rows: list[tuple[Any, ...]]) -> Iterator[ChangeRow]:
    for generation, document, kind, observed_at, event_at, source, concepts in rows:
        yield generation, document, kind, observed_at, event_at, source, int32_array(concepts)
