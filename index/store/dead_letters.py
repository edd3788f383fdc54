"""Rejected records, kept with their original bytes until somebody deals with them.

Whatever the reason, the bytes stay whole: a record that was too large is taken once the limit is
raised and it is replayed. What bounds them is how many bytes all letters may have together.
"""

import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from index.store import meta
from index.store.rows import headers_json, headers_of
from index.types import Millis, Position, Record, Rejected

KEPT = 100_000
"""Dead letters kept; the oldest go first."""

KEPT_BYTES = 1 << 30
"""Bytes that the letters kept may have together; the oldest go first."""

STOCK = "dead_letters_stock"
"""In ``meta``: how many letters there are of each reason, and their bytes, as of two ids."""

_COLUMNS = (
    "id, topic, partition, offset, key, value, headers, timestamp, reason, detail, rejected_at"
)
_BYTES = (
    "coalesce(length(key), 0) + coalesce(length(value), 0)"
    " + length(CAST(headers AS BLOB)) + length(CAST(detail AS BLOB))"
)


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A rejected record: why, when, and the bytes as they came."""

    id: int
    record: Record
    reason: str
    detail: str
    rejected_at: Millis


@dataclass(frozen=True, slots=True)
class Stock:
    """What is there from the oldest id up to the newest one; both are 0 where nothing is."""

    oldest: int
    newest: int
    bytes: int
    counts: Mapping[str, int]


_NOTHING = Stock(0, 0, 0, {})


def insert(
    connection: sqlite3.Connection, rejected: Sequence[tuple[Record, Rejected]], now: Millis
) -> None:
    """Write rejected records; one that is already there (a replayed batch) stays as it is.

    The oldest go once there are more than ``KEPT``, or more bytes than ``KEPT_BYTES``. What that
    costs is in proportion to what comes and goes, not to what is there.
    """
    rows = [
        (
            record.position.topic,
            record.position.partition,
            record.position.offset,
            record.key,
            record.value,
            headers_json(record.headers),
            record.timestamp,
            why.reason.value,
            why.detail,
            now,
        )
        for record, why in rejected
    ]
    if not rows:
        return
    before = stock(connection)
    # Not "or ignore": that uses up an id, which would look like a letter that was given up.
    connection.executemany(
        f"INSERT INTO dead_letters ({_COLUMNS.removeprefix('id, ')})"
        " SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10 WHERE NOT EXISTS"
        " (SELECT 1 FROM dead_letters WHERE topic = ?1 AND partition = ?2 AND offset = ?3)",
        rows,
    )
    _write(connection, _trimmed(connection, _with_those_after(connection, before)))


def stock(connection: sqlite3.Connection) -> Stock:
    """What is there: as it was noted, or counted where the notes are not of these letters.

    They are not where an older release or a reindex wrote the letters last.
    """
    return _noted(connection) or _with_those_after(connection, _NOTHING)


def take_stock(connection: sqlite3.Connection) -> None:
    """Note what is there, where the notes are not of these letters, so that nobody counts again."""
    if _noted(connection) is None:
        _write(connection, _with_those_after(connection, _NOTHING))


def _noted(connection: sqlite3.Connection) -> Stock | None:
    noted, oldest, newest = connection.execute(
        "SELECT (SELECT value FROM meta WHERE name = ?),"
        " (SELECT min(id) FROM dead_letters), (SELECT max(id) FROM dead_letters)",
        (STOCK,),
    ).fetchone()
    if newest is None:
        return _NOTHING
    found = _NOTHING if noted is None else Stock(**orjson.loads(noted))
    return found if (found.oldest, found.newest) == (oldest, newest) else None


def _with_those_after(connection: sqlite3.Connection, before: Stock) -> Stock:
    """A stock with the letters that came after its newest one."""
    counts, total = Counter(before.counts), before.bytes
    oldest, newest = before.oldest, before.newest
    groups = connection.execute(
        f"SELECT reason, count(*), sum({_BYTES}), min(id), max(id) FROM dead_letters"
        " WHERE id > ? GROUP BY reason",
        (before.newest,),
    )
    for reason, count, size, first, last in groups:
        counts[reason] += count
        total += size
        oldest, newest = min(oldest or first, first), max(newest, last)
    return Stock(oldest, newest, total, counts)


def _trimmed(connection: sqlite3.Connection, full: Stock) -> Stock:
    """Drop the oldest letters while there are too many or too large ones; what is left."""
    counts, total, oldest = Counter(full.counts), full.bytes, 0
    rows = connection.execute(f"SELECT id, reason, {_BYTES} FROM dead_letters ORDER BY id")
    for number, reason, size in rows:
        if total <= KEPT_BYTES and number > full.newest - KEPT:
            oldest = number
            break
        counts[reason] -= 1
        total -= size
    rows.close()
    if oldest != full.oldest:
        connection.execute("DELETE FROM dead_letters WHERE id < ?", (oldest or full.newest + 1,))
    return Stock(oldest, full.newest if oldest else 0, total, +counts)


def _write(connection: sqlite3.Connection, noted: Stock) -> None:
    meta.put(connection, STOCK, orjson.dumps(noted).decode())


def read(
    connection: sqlite3.Connection,
    *,
    after: int = 0,
    limit: int = 100,
    reason: str | None = None,
    most_bytes: int | None = None,
) -> list[DeadLetter]:
    """Dead letters with ids above ``after``, oldest first.

    ``most_bytes``: no more are read once keys, values and headers have so many bytes together.
    """
    condition = "" if reason is None else " AND reason = :reason"
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM dead_letters WHERE id > :after{condition}"
        " ORDER BY id LIMIT :limit",
        {"after": after, "limit": limit, "reason": reason},
    )
    found: list[DeadLetter] = []
    left = most_bytes
    for row in rows:
        found.append(_letter(row))
        if left is not None:
            left -= len(row[4] or b"") + len(row[5] or b"") + len(row[6])
            if left <= 0:
                break
    return found


def by_ids(connection: sqlite3.Connection, ids: Sequence[int]) -> list[DeadLetter]:
    """The dead letters of some ids, those that exist."""
    found: list[DeadLetter] = []
    for wanted in ids:
        row = connection.execute(
            f"SELECT {_COLUMNS} FROM dead_letters WHERE id = ?", (wanted,)
        ).fetchone()
        if row is not None:
            found.append(_letter(row))
    return found


def counts(connection: sqlite3.Connection) -> dict[str, int]:
    """Number of dead letters by reason, for the asking: no letter is looked at."""
    return dict(stock(connection).counts)


def _letter(row: tuple[Any, ...]) -> DeadLetter:
    position = Position(row[1], row[2], row[3])
    record = Record(position, row[4], row[5], Millis(row[7]), headers_of(row[6]))
    return DeadLetter(row[0], record, row[8], row[9], Millis(row[10]))
