"""Write transactions of one writer: refused once a newer writer has taken the store over."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from index.errors import WriterFencedError
from index.store import meta
from index.store.connection import transaction, translated


class Fence:
    """The epoch of a writer, begun when this is made; each of its transactions checks it."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self.epoch = meta.next_writer_epoch(connection)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of it or none; raises ``WriterFencedError`` or ``StoreError``."""
        with translated(self._path), transaction(self._connection):
            if meta.writer_epoch(self._connection) != self.epoch:
                raise WriterFencedError("a newer writer has taken this store over; this one stops")
            yield

    def renew(self) -> None:
        """Begin another epoch, as a restart would; the generation log tells it by that."""
        with self.transaction():
            epoch = meta.raise_writer_epoch(self._connection)
        self.epoch = epoch
