"""Keeps a store's write-ahead log short where there are always readers.

SQLite begins the log anew once all of it is folded into the file and nobody reads from it. Readers
that overlap never leave such a moment, and the log grows for as long as they come. So from a size
on the writer makes one: it waits for those who read now, while who begins to read finds all in the
file. See https://www.sqlite.org/wal.html, "avoiding excessively large WAL files".
"""

import sqlite3
import time
from contextlib import suppress
from pathlib import Path

from index.store.connection import BUSY_MILLIS

LEAST = 128 << 20
"""Bytes of the log from which readers are waited for."""
_WAIT = 0.2  # seconds at that size, and in proportion beyond it
_REST = 10  # times as long as was waited nothing is waited for again


class Folding:
    """The log of one writer's connection to the store at ``path``."""

    def __init__(self, connection: sqlite3.Connection, path: Path, *, least: int = LEAST) -> None:
        self._connection = connection
        self._log = path.with_name(path.name + "-wal")
        self._least = least
        self._due = 0.0

    def fold(self) -> None:
        """Called between transactions; begins the log anew where it is long and readers allow it.

        What fails is tried again later: the log has all until it is folded in.
        """
        started = time.monotonic()
        if started < self._due or (size := self._size()) <= self._least:
            return
        patience = min(round(1000 * _WAIT * size / self._least), BUSY_MILLIS)
        with suppress(sqlite3.Error):
            self._connection.execute(f"PRAGMA busy_timeout = {patience}")
            self._connection.execute("PRAGMA wal_checkpoint(RESTART)").fetchall()
        self._connection.execute(f"PRAGMA busy_timeout = {BUSY_MILLIS}")
        now = time.monotonic()
        self._due = now + _REST * (now - started)

    def _size(self) -> int:
        try:
            return self._log.stat().st_size
        except OSError:
            return 0
