"""A file of changes taken into a store: one transaction, checked before it is committed.

The rows are the writer's own, so nothing is analysed, numbered or grouped again. What the
generations say of themselves is checked against what was taken in: the checksum of every row, the
numbers of documents and chunks, and the linear checksums of the counts, by another code path than
the writer's.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path

from index.analysis.scripts import spread
from index.checksums import Sums
from index.counts.delta import chunk_delta
from index.replica.changes import FLOORS, TIDIED_FLOORS, table_of
from index.replica.errors import CheckpointNeededError
from index.store import changes, generations, meta
from index.store.connection import give_back, open_writable, transaction, translated
from index.store.folding import Folding
from index.store.generations import TIDIED_EVERY, Generation
from index.store.rows import int32_array, int64_array

_BLOCK = 2_000  # chunks whose pairs are counted at once

_NEW = ("generations", "documents", "chunks", "concepts", "facets")
_OTHER = ("tombstones", "dead_letters", "communities", "membership", "forms")
_COUNTED = ("changes", "lineage")  # with the numbers of their rows, which have no other order
_WHOLE = ("positions", "meta")


def apply(store: Path, path: Path) -> Generation:
    """Bring a store to the generation that a file of changes leads to; return that.

    Raises ``CheckpointNeededError`` where the file does not fit or does not add up, ``StoreError``
    where the disk does not take it; the store is then as it was.
    """
    with translated(store), closing(open_writable(store)) as connection:
        Folding(connection, store).fold()  # before, so that nothing waits for its publication
        connection.create_function("spread", 1, spread, deterministic=True)
        connection.create_function("piece", 3, _piece, deterministic=True)
        connection.execute("ATTACH ? AS given", (str(path),))
        try:
            with transaction(connection):
                return _apply(connection)
        except (sqlite3.Error, ValueError, TypeError, KeyError) as error:
            if isinstance(error, sqlite3.OperationalError) and _is_of_the_disk(error):
                raise
            raise CheckpointNeededError(f"changes do not fit the store: {error}") from error


def _piece(text: str, start: int, end: int) -> str:
    return spread(text[start:end])


def _is_of_the_disk(error: sqlite3.OperationalError) -> bool:
    return error.sqlite_errorcode & 0xFF in {
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
    }


def _apply(connection: sqlite3.Connection) -> Generation:
    before = generations.latest(connection)
    connection.execute("CREATE TEMP TABLE gone (slot INTEGER PRIMARY KEY)")
    connection.executemany(
        "INSERT INTO temp.gone SELECT slot FROM main.chunks WHERE slot = ?",
        ((slot,) for slot in _check_generations(connection, before)),
    )
    sums = _sums(connection, before.sums)
    gone = _withdraw(connection)
    _forget(connection)
    _insert(connection)
    came = [
        connection.execute(f"SELECT count(*) FROM given.{table}").fetchone()[0]
        for table in ("documents", "chunks")
    ]
    after = generations.latest(connection)
    if after.head.generation // TIDIED_EVERY > before.head.generation // TIDIED_EVERY:
        give_back(connection)
    _check_totals(before, after, gone, came)
    if sums != after.sums:
        raise CheckpointNeededError(
            f"the counts of generation {after.head.generation} do not follow from its chunks"
        )
    return after


def _check_totals(
    before: Generation, after: Generation, gone: Sequence[int], came: Sequence[int]
) -> None:
    """Whether as many documents and chunks came and went as the generations say."""
    was, now = before.head.totals, after.head.totals
    found = was.documents - gone[0] + came[0], was.chunks - gone[1] + came[1]
    if found != (now.documents, now.chunks):
        raise CheckpointNeededError(
            f"generation {after.head.generation} does not add up: {found[0]:,} documents and "
            f"{found[1]:,} chunks, {now.documents:,} and {now.chunks:,} at the writer"
        )


def _check_generations(connection: sqlite3.Connection, before: Generation) -> list[int]:
    """The slots that went, once every row is found to follow from the one before it."""
    given = connection.execute("SELECT value FROM given.meta WHERE name = ?", (meta.FINGERPRINT,))
    if given.fetchone() != (meta.get(connection, meta.FINGERPRINT),):
        raise CheckpointNeededError("the changes are of another analyzer")
    retracted: list[int] = []
    number, checksum = before.head.generation, before.checksum
    for row in generations.rows(connection, "given.generations"):
        if row.id != number + 1 or not row.follows(checksum):
            raise CheckpointNeededError(f"generation {row.id} does not follow generation {number}")
        number, checksum = row.id, row.checksum
        retracted += int64_array(row.retracted).tolist()
    if number == before.head.generation:
        raise CheckpointNeededError("the changes hold no generation")
    return retracted


def _sums(connection: sqlite3.Connection, sums: Sums) -> Sums:
    """The checksums of the counts once chunks have gone and come."""
    gone = connection.execute(
        "SELECT concepts FROM main.chunks WHERE slot IN (SELECT slot FROM temp.gone)"
    )
    for block in _blocks(gone):
        sums = sums.after(chunk_delta((), [int32_array(row[0]) for row in block]))
    for block in _blocks(connection.execute("SELECT concepts FROM given.chunks")):
        sums = sums.after(chunk_delta([int32_array(row[0]) for row in block], ()))
    return sums


def _blocks(rows: sqlite3.Cursor) -> Iterator[list[tuple[bytes]]]:
    while block := list(islice(rows, _BLOCK)):
        yield block


def _withdraw(connection: sqlite3.Connection) -> tuple[int, int]:
    """Take out what went; returns how many documents and chunks that were."""
    mine = "slot IN (SELECT slot FROM temp.gone)"
    used: Counter[int] = Counter()
    for (blob,) in connection.execute(f"SELECT forms FROM main.chunks WHERE {mine}"):
        used.update(int32_array(blob).tolist())
    # A contentless FTS5 table wants the old values to take an entry out.
    connection.execute(
        "INSERT INTO full_text (full_text, rowid, title, text)"
        " SELECT 'delete', c.slot, spread(d.title), piece(d.text, c.start, c.end)"
        f" FROM main.chunks c JOIN main.documents d ON d.number = c.document WHERE c.{mine}"
    )
    connection.execute(f"DELETE FROM main.facets WHERE {mine}")
    documents = connection.execute(
        "DELETE FROM main.documents WHERE number IN"
        f" (SELECT document FROM main.chunks WHERE {mine})"
    ).rowcount
    chunks = connection.execute(f"DELETE FROM main.chunks WHERE {mine}").rowcount
    connection.executemany(
        "UPDATE main.forms SET n = n - ? WHERE number = ?", [(n, f) for f, n in used.items()]
    )
    connection.executemany(
        "DELETE FROM main.forms WHERE number = ? AND n <= 0", [(f,) for f in used]
    )
    return documents, chunks


def _insert(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM main.tombstones WHERE id IN (SELECT id FROM given.documents)")
    for table in _WHOLE:
        connection.execute(f"DELETE FROM main.{table}")
    for table in (*_WHOLE, *_NEW, *_OTHER, *_COUNTED):
        columns = _columns(connection, table)
        verb = "INSERT OR REPLACE" if table in _OTHER else "INSERT"
        # A table without a number of its own keeps the numbers of the writer's rows.
        into, given = ("rowid, ", "at, ") if table in _COUNTED else ("", "")
        connection.execute(
            f"{verb} INTO main.{table} ({into}{columns})"
            f" SELECT {given}{columns} FROM given.{table} ORDER BY rowid"
        )
    connection.execute(
        "INSERT INTO full_text (rowid, title, text)"
        " SELECT c.slot, spread(d.title), piece(d.text, c.start, c.end)"
        " FROM given.chunks c JOIN given.documents d ON d.number = c.document ORDER BY c.slot"
    )


def _columns(connection: sqlite3.Connection, table: str) -> str:
    return ", ".join(row[1] for row in connection.execute(f"PRAGMA main.table_info({table})"))


def _forget(connection: sqlite3.Connection) -> None:
    """Drop what the writer has forgotten: all below the smallest that it still holds."""
    changes.forget(connection, "given")
    known = FLOORS | TIDIED_FLOORS
    for name, least in connection.execute("SELECT name, least FROM given.floors").fetchall():
        column, condition = known[name]
        below = "1" if least is None else f"{column} < :least"
        connection.execute(
            f"DELETE FROM main.{table_of(name)} WHERE {condition or 1} AND {below}",
            {"least": least},
        )
