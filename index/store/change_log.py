"""The newest part of the stored change log, kept in memory and read on by generation."""

from collections.abc import Callable, Iterator, Sequence
from threading import TIMEOUT_MAX, Lock
from typing import Any

import numpy as np

from index.change_log import (
    ALWAYS,
    KINDS,
    ChangeBuilder,
    ChangeColumns,
    ChangesAsked,
    columns_with,
    joined,
)
from index.store.statements import Statements
from index.types import Millis

HELD = 200_000
"""Changes held in memory at least, where there are as many; at most twice as many.

About 250 bytes each for newswire: 50 to 100 MB. Older ones are read from the store when asked for,
a part at a time.
"""

Batches = Callable[[str, Sequence[object]], Iterator[list[tuple[Any, ...]]]]
"""Runs a query in the read transaction of a view, and gives its rows some thousand at a time."""

_COLUMNS = (
    "SELECT generation, document_id, kind, observed_at, event_at, source, concepts FROM changes"
)
# A writer numbers rows in the order of generations, and whoever copies them keeps that order: a
# walk along the table needs no sorting, which would hold all of it.
_OLDER = (
    f"{_COLUMNS} NOT INDEXED WHERE generation <= ? AND observed_at >= ? AND observed_at < ?"
    " AND event_at >= ? AND event_at < ?"
)


class ChangeLog:
    """What readers of one store share. Safe to use from several threads.

    Whoever reads ``parts`` that are not all held takes ``long_read`` before, and gives it back
    when nothing of them is in use any more: so one such read at a time fills memory.
    """

    def __init__(self, held: int = HELD) -> None:
        self.long_read = Lock()
        self._held = held
        self._lock = Lock()
        self._builder = ChangeBuilder()
        self._generation = 0
        self._before = 0  # the newest generation of which nothing is held
        self._complete_since = ALWAYS

    def held(self, batches: Batches, generation: int, asked: ChangesAsked) -> ChangeColumns | None:
        """The changes of a view that are in memory; None where others are asked for as well.

        Args:
            batches: Reads the store as of ``generation``.
            generation: That of the caller's view.
            asked: What must be there.
        """
        columns, _, complete_since = self._newest(batches, generation)
        return columns if asked.since >= complete_since else None

    def parts(
        self, batches: Batches, generation: int, asked: ChangesAsked
    ) -> Iterator[ChangeColumns]:
        """What is asked for in the order of commit, some thousand changes at a time.

        The last part is the one in memory. Arguments as of ``held``.
        """
        columns, before, _ = self._newest(batches, generation)
        sql = f"{_OLDER} AND kind IN ({', '.join('?' * len(asked.kinds))}) ORDER BY rowid"
        event = asked.event_since, asked.event_until
        kinds = [KINDS[code] for code in asked.kinds]
        for rows in batches(sql, (before, asked.since, asked.until, *event, *kinds)):
            yield _columns(rows)
        chosen = asked.of(columns)
        yield columns if chosen.all() else columns.take(np.flatnonzero(chosen))

    def _newest(self, batches: Batches, generation: int) -> tuple[ChangeColumns, int, int]:
        """What is held for a view; where it begins, by generation and by time of arrival."""
        with self._lock:
            if generation > self._generation:
                self._read_on(batches, generation)
            held = self._builder.columns()
            before, complete_since = self._before, self._complete_since
        count = int(np.searchsorted(held.generation, generation, side="right"))
        return held.first(count), before, complete_since

    def _read_on(self, batches: Batches, generation: int) -> None:
        if not self._generation:
            self._skip_old(batches)
        sql = f"{_COLUMNS} WHERE generation > ? AND generation <= ? ORDER BY generation, rowid"
        # All is read before any of it is kept: a view may retire in the middle.
        parts = [_columns(rows) for rows in batches(sql, (self._generation, generation))]
        for part in parts:
            self._builder.extend(part)
        self._generation = generation
        if self._builder.count > 2 * self._held:
            self._forget_old()

    def _skip_old(self, batches: Batches) -> None:
        """Begin with the newest changes of a store that has more than are held."""
        sql = "SELECT generation FROM changes ORDER BY generation DESC LIMIT 1 OFFSET ?"
        found = [row for rows in batches(sql, (self._held,)) for row in rows]
        if found:
            before = found[0][0]
            sql = "SELECT max(observed_at) FROM changes WHERE generation <= ?"
            newest = [row for rows in batches(sql, (before,)) for row in rows]
            self._complete_since = newest[0][0] + 1
            self._generation = self._before = before

    def _forget_old(self) -> None:
        """Keep the newest; in whole generations, so that a view is never cut inside one."""
        columns = self._builder.columns()
        newest = int(columns.generation[-self._held])
        first = int(np.searchsorted(columns.generation, newest))
        gone = int(columns.observed_at[:first].max(initial=ALWAYS))
        self._complete_since = Millis(max(self._complete_since, gone + 1))
        self._before = max(self._before, newest - 1)
        self._builder = ChangeBuilder()
        self._builder.extend(columns.take(np.arange(first, len(columns))))


class ChangeReader:
    """The change log for one view; the whole of it is read by one view of a process at a time."""

    def __init__(self, log: ChangeLog, statements: Statements) -> None:
        self._log = log
        self._statements = statements
        self._reads_long = False

    def columns(self, asked: ChangesAsked) -> ChangeColumns:
        """All changes asked for, and perhaps others, as one."""
        held = self._held(asked)
        return joined(self._stored(asked)) if held is None else held

    def parts(self, asked: ChangesAsked) -> Iterator[ChangeColumns]:
        """The same in parts, in the order of commit."""
        held = self._held(asked)
        return self._stored(asked) if held is None else iter((held,))

    def close(self) -> None:
        """Let others read; nothing of what was read is in use any more."""
        if self._reads_long:
            self._reads_long = False
            self._log.long_read.release()

    def _held(self, asked: ChangesAsked) -> ChangeColumns | None:
        return self._log.held(self._statements.batches, self._statements.generation, asked)

    def _stored(self, asked: ChangesAsked) -> Iterator[ChangeColumns]:
        if not self._reads_long:
            patience = min(self._statements.left(), TIMEOUT_MAX)
            if not self._log.long_read.acquire(timeout=patience):
                raise self._statements.too_long()
            self._reads_long = True
        return self._log.parts(self._statements.batches, self._statements.generation, asked)


def _columns(rows: list[tuple[Any, ...]]) -> ChangeColumns:
    named = [row[6] for row in rows]
    lengths = [len(blob) // 4 for blob in named]
    # Not of bytes, which are read-only: kernels are compiled for arrays that are not.
    concepts = np.frombuffer(bytearray().join(named), "<i4")
    return columns_with([row[:6] for row in rows], lengths, concepts)
