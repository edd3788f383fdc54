"""Statements of one read transaction, none of which runs on when its time is over."""

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from index.errors import SnapshotRetiredError

_STEPS = 1_000_000  # of SQLite's machine between two looks at the clock, some 50 ms
_AT_ONCE = 4096  # rows of a batch


class Statements:
    """Reads as of ``generation`` for ``seconds``; ``SnapshotRetiredError`` after them."""

    def __init__(self, connection: sqlite3.Connection, generation: int, seconds: float) -> None:
        self.connection = connection
        self.generation = generation
        self._expires = time.monotonic() + seconds
        connection.set_progress_handler(self._retired, _STEPS)

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        with self._in_time():
            return self.connection.execute(sql, parameters).fetchall()

    def batches(self, sql: str, parameters: Sequence[object]) -> Iterator[list[tuple[Any, ...]]]:
        """The rows of a query, some thousand at a time, so that few are in memory."""
        with self._in_time():
            cursor = self.connection.execute(sql, parameters)
        while True:
            with self._in_time():
                rows = cursor.fetchmany(_AT_ONCE)
            if not rows:
                return
            yield rows

    def left(self) -> float:
        """Seconds that are left."""
        return max(self._expires - time.monotonic(), 0.0)

    def too_long(self) -> SnapshotRetiredError:
        """What to raise when they are over."""
        return SnapshotRetiredError(
            f"generation {self.generation} was held for too long; ask again"
        )

    def _retired(self) -> bool:
        return not self.left()

    @contextmanager
    def _in_time(self) -> Iterator[None]:
        if self._retired():
            raise self.too_long()
        try:
            yield
        except sqlite3.OperationalError:
            if self._retired():
                raise self.too_long() from None
            raise
