"""The file of the embedded log: one SQLite database, opened, created and measured.

A partition of a topic is a *stream* with a number. A record's row id is its stream's number and
its offset in one integer, so that one B-tree holds every stream in order and reading from a
position is one range scan without a second index.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from stream.errors import LogError, LogTooNewError

APPLICATION = 0x54474C47
"""Stands in the file's header, so that another database is not taken for a log ("TGLG")."""
SCHEMA_VERSION = 1
OFFSET_BITS = 40
"""A stream holds at most 2^40 records."""
MAX_PARTITIONS = 1024

_SCHEMA = """
CREATE TABLE topics (
    name TEXT PRIMARY KEY,
    partitions INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE streams (
    number INTEGER PRIMARY KEY,
    topic TEXT NOT NULL REFERENCES topics(name),
    partition INTEGER NOT NULL,
    first INTEGER NOT NULL DEFAULT 0,
    next INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0,
    UNIQUE (topic, partition)
);
CREATE TABLE records (
    id INTEGER PRIMARY KEY,
    time INTEGER NOT NULL,
    key BLOB,
    value BLOB,
    headers BLOB
);
"""


@dataclass(frozen=True, slots=True)
class StreamState:
    """One partition of a topic: ``[first, next)`` are the offsets that it holds."""

    number: int
    topic: str
    partition: int
    first: int
    next: int
    bytes: int

    def row(self, offset: int) -> int:
        """The row id of a record."""
        return (self.number << OFFSET_BITS) | offset


def offset_of(row: int) -> int:
    """The offset within its stream of a record's row id."""
    return row & ((1 << OFFSET_BITS) - 1)


def connect(path: Path, *, busy: float = 30.0) -> sqlite3.Connection:
    """A connection to the log, created where there is none.

    Args:
        path: the file.
        busy: seconds to wait for another process that writes.

    Raises:
        LogError: if the folder is not writable or the file is no log.
        LogTooNewError: if a newer release has written it.
    """
    with _translated(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(
            path, timeout=busy, isolation_level=None, check_same_thread=False
        )
    try:
        with _translated(path):
            _prepare(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def writing(connection: sqlite3.Connection) -> Iterator[None]:
    """One transaction that writes; undone whole where it fails."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def streams(connection: sqlite3.Connection, topic: str | None = None) -> list[StreamState]:
    """The partitions of a topic, or of all, in order."""
    where = "" if topic is None else " WHERE topic = ?"
    rows = connection.execute(
        "SELECT number, topic, partition, first, next, bytes FROM streams"
        f"{where} ORDER BY topic, partition",
        () if topic is None else (topic,),
    )
    return [StreamState(*row) for row in rows]


def create_topic(connection: sqlite3.Connection, topic: str, partitions: int) -> None:
    """Make a topic; one that is there already keeps the partitions that it has."""
    if not topic or not 1 <= partitions <= MAX_PARTITIONS:
        raise LogError(f"a topic needs a name and 1 to {MAX_PARTITIONS} partitions")
    if connection.execute("SELECT 1 FROM topics WHERE name = ?", (topic,)).fetchone():
        return
    with writing(connection):
        made = connection.execute("INSERT OR IGNORE INTO topics VALUES (?, ?)", (topic, partitions))
        if made.rowcount:
            connection.executemany(
                "INSERT INTO streams (topic, partition) VALUES (?, ?)",
                [(topic, partition) for partition in range(partitions)],
            )


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION:
        tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        if application or version or tables:
            raise LogError(f"{path} is a database, but not Tidegraph's log; name another file")
        _create(connection)
    elif version > SCHEMA_VERSION:
        raise LogTooNewError(
            f"{path} has schema {version}, this release reads up to {SCHEMA_VERSION}; "
            "use the newer release"
        )
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA journal_size_limit = 16777216")


def _create(connection: sqlite3.Connection) -> None:
    # Both must be set while the file is empty, and outside of a transaction.
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("PRAGMA journal_mode = WAL")
    with writing(connection):
        # Two processes may get here at once; the second finds the work done.
        if connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION:
            return
        for statement in _SCHEMA.split(";"):
            if statement.strip():
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """SQLite's and the system's errors as the log's own."""
    try:
        yield
    except OSError as error:
        raise LogError(
            f"cannot use {path} as the log: {error.strerror}; name a folder that can be written"
        ) from error
    except sqlite3.DatabaseError as error:
        if "not a database" in str(error):
            raise LogError(f"{path} is no log (it is not a database); name another file") from error
        raise LogError(
            f"cannot use {path} as the log: {error}; the folder must be there and writable"
        ) from error
