"""What changed in a store since a generation, as a SQLite file of the rows themselves.

A file holds every row that is new or other since then, copied in one read transaction, so that it
leads from one whole generation to another, however many lie between. What went is told by the
generations' own lists of slots, and what was forgotten for its age by the smallest key that is
left. Nothing is written for it while documents come in: a store without twins pays nothing.
"""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from index.expiry import TRACES
from index.replica.errors import CheckpointNeededError
from index.replica.mark import Mark, mark_of, newest
from index.store.connection import BUSY_MILLIS, check_version, translated
from index.store.generations import TIDIED_EVERY
from index.store.rows import int32_array, totals_of

_PAGE = 4096

ROWS = {
    "generations": "SELECT * FROM store.generations WHERE id > :generation",
    "documents": "SELECT * FROM store.documents WHERE number >= :next_document",
    "chunks": "SELECT * FROM store.chunks WHERE slot >= :next_chunk",
    "concepts": "SELECT * FROM store.concepts WHERE number >= :next_concept",
    "facets": "SELECT * FROM store.facets WHERE slot >= :next_chunk ORDER BY slot, rowid",
    "positions": "SELECT * FROM store.positions",
    # Times of commits never go back (see ``Writer``), so this holds all that came since.
    "tombstones": "SELECT * FROM store.tombstones WHERE deleted_at >= :committed_at",
    "dead_letters": "SELECT * FROM store.dead_letters WHERE id >= :dead_letter",
    "changes": "SELECT rowid AS at, * FROM store.changes WHERE generation > :generation",
    "communities": "SELECT * FROM store.communities WHERE changed > :generation",
    "membership": "SELECT * FROM store.membership WHERE changed > :generation",
    "lineage": "SELECT rowid AS at, * FROM store.lineage WHERE rowid >= :lineage",
    "meta": "SELECT * FROM store.meta",
}
"""The rows of each table that may be new or other, by what the twin's generation says."""

FLOORS = {"generations": ("id", ""), "dead_letters": ("id", ""), "lineage": ("rowid", "")}
"""What a table forgets by: all below the smallest that is left. Read from an index, at no cost."""

TIDIED_FLOORS = {
    "communities": ("died", "died IS NOT NULL"),
    "tombstones of deletes": ("deleted_at", "NOT expired"),
    "tombstones of expiry": ("deleted_at", "expired"),
}
"""The same where that looks through many rows; asked only once the writer may have forgotten."""


@dataclass(frozen=True, slots=True)
class Changes:
    """A file of changes that leads from one generation to another."""

    path: Path
    since: int
    generation: int


def write_changes(store: Path, since: Mark, path: Path, *, largest: int) -> Changes | None:
    """Write what changed since a mark into a file that is not there yet; None where nothing did.

    ``largest``: bytes that the file may have. Raises ``CheckpointNeededError`` where the mark is of
    another history or too old, or the file would be larger; ``StoreError``.
    """
    with translated(store), closing(_opened(path)) as connection:
        connection.execute("ATTACH ? AS store", (f"{store.resolve().as_uri()}?mode=ro",))
        check_version(store, connection.execute("PRAGMA store.user_version").fetchone()[0])
        # The file is made anew if need be; nothing of it has to survive a crash.
        connection.execute(f"PRAGMA main.page_size = {_PAGE}")
        connection.execute("PRAGMA main.journal_mode = OFF")
        connection.execute("PRAGMA main.synchronous = OFF")
        connection.execute(f"PRAGMA main.max_page_count = {max(1, largest // _PAGE)}")
        connection.execute("BEGIN")
        if mark_of(connection, since.generation) != since:
            raise CheckpointNeededError(
                f"generation {since.generation} of the follower is none that this index holds"
            )
        generation = newest(connection)
        if generation == since.generation:
            return None
        try:
            _copy(connection, since.generation, generation)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_FULL:
                raise
            raise CheckpointNeededError(
                f"what changed since generation {since.generation} exceeds {largest:,} bytes"
            ) from error
        connection.execute("COMMIT")
        return Changes(path, since.generation, generation)


def _opened(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path.resolve().as_uri(), uri=True, isolation_level=None)
    connection.execute(f"PRAGMA busy_timeout = {BUSY_MILLIS}")
    return connection


def _copy(connection: sqlite3.Connection, since: int, generation: int) -> None:
    _check_traces(connection, since, generation)
    first = _first_rows(connection, since)
    for table, select in ROWS.items():
        connection.execute(f"CREATE TABLE main.{table} AS {select}", first)
    _copy_forms(connection)
    tidied = generation // TIDIED_EVERY > since // TIDIED_EVERY
    connection.execute("CREATE TABLE main.floors (name TEXT, least INTEGER)")
    for name, (column, condition) in (FLOORS | (TIDIED_FLOORS if tidied else {})).items():
        where = f" WHERE {condition}" if condition else ""
        connection.execute(
            f"INSERT INTO main.floors SELECT ?, min({column}) FROM store.{table_of(name)}{where}",
            (name,),
        )


def table_of(floor: str) -> str:
    """The table of a floor's name."""
    return floor.partition(" ")[0]


def _first_rows(connection: sqlite3.Connection, generation: int) -> dict[str, int]:
    """The first key of each table that may be newer than a generation."""
    document, chunk, concept, committed_at = connection.execute(
        "SELECT next_document, next_chunk, next_concept, committed_at FROM store.generations"
        " WHERE id = ?",
        (generation,),
    ).fetchone()
    lineage = connection.execute("SELECT rowid, generation FROM store.lineage ORDER BY rowid DESC")
    letters = connection.execute("SELECT id, rejected_at FROM store.dead_letters ORDER BY id DESC")
    return {
        "generation": generation,
        "next_document": document,
        "next_chunk": chunk,
        "next_concept": concept,
        "committed_at": committed_at,
        "lineage": _first_from(lineage, generation + 1),
        "dead_letter": _first_from(letters, committed_at),
    }


def _first_from(rows: sqlite3.Cursor, least: int) -> int:
    """The key after the newest row whose value is below ``least``; rows come newest first."""
    for key, value in rows:
        if value < least:
            return int(key) + 1
    return 0


def _check_traces(connection: sqlite3.Connection, since: int, generation: int) -> None:
    """Whether a tombstone may have come and been forgotten since, which no row would tell."""
    rows = connection.execute(
        "SELECT totals FROM store.generations WHERE id IN (?, ?) ORDER BY id", (since, generation)
    ).fetchall()
    before, now = (totals_of(row[0]) for row in rows)
    if now.expired + now.late - before.expired - before.late >= TRACES:
        raise CheckpointNeededError(f"too many documents expired since generation {since}")


def _copy_forms(connection: sqlite3.Connection) -> None:
    """The surface forms that the new chunks use, with their counts as of now."""
    used: set[int] = set()
    for (blob,) in connection.execute("SELECT forms FROM main.chunks"):
        used.update(np.unique(int32_array(blob)).tolist())
    connection.execute("CREATE TABLE main.forms AS SELECT * FROM store.forms WHERE 0")
    connection.executemany(
        "INSERT INTO main.forms SELECT * FROM store.forms WHERE number = ?",
        ((number,) for number in sorted(used)),
    )
