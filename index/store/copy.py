"""Whole copies of databases, one state each, taken beside those who write them."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path


def copy_database(connection: sqlite3.Connection, to: Path) -> None:
    """Write what a connection sees into a file of its own.

    Raises ``sqlite3.Error`` or ``OSError``; what was written until then stays.
    """
    with closing(sqlite3.connect(to)) as copy:
        # All pages in one step: one read transaction, which holds up no writer.
        connection.backup(copy)
        # As one file; its next writer chooses the write-ahead log again.
        copy.execute("PRAGMA journal_mode = DELETE")


def size_of(connection: sqlite3.Connection) -> int:
    """Bytes that a copy takes."""
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    return int(pages * connection.execute("PRAGMA page_size").fetchone()[0])


def put_in_place(new: Path, path: Path) -> None:
    """Give a file that is whole its name, so that a power cut leaves it so."""
    new.replace(path)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
