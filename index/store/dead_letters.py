"""Rejected records, kept with their original bytes until somebody deals with them."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from index.store.rows import headers_json, headers_of
from index.types import Millis, Position, Record, Rejected

KEPT = 100_000
"""Dead letters kept; the oldest go first."""

_COLUMNS = (
    "id, topic, partition, offset, key, value, headers, timestamp, reason, detail, rejected_at"
)


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A rejected record: why, when, and the bytes as they came."""

    id: int
    record: Record
    reason: str
    detail: str
    rejected_at: Millis


def insert(
    connection: sqlite3.Connection, rejected: Sequence[tuple[Record, Rejected]], now: Millis
) -> None:
    """Write rejected records; one that is already there (a replayed batch) stays as it is."""
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
    connection.executemany(
        f"INSERT OR IGNORE INTO dead_letters ({_COLUMNS.removeprefix('id, ')})"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        rows,
    )
    connection.execute(
        "DELETE FROM dead_letters WHERE id <= (SELECT max(id) FROM dead_letters) - ?", (KEPT,)
    )


def read(
    connection: sqlite3.Connection, *, after: int = 0, limit: int = 100, reason: str | None = None
) -> list[DeadLetter]:
    """Dead letters with ids above ``after``, oldest first."""
    condition = "" if reason is None else " AND reason = :reason"
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM dead_letters WHERE id > :after{condition}"
        " ORDER BY id LIMIT :limit",
        {"after": after, "limit": limit, "reason": reason},
    )
    return [_letter(row) for row in rows]


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
    """Number of dead letters by reason."""
    return dict(
        connection.execute("SELECT reason, count(*) FROM dead_letters GROUP BY reason").fetchall()
    )


def _letter(row: tuple[Any, ...]) -> DeadLetter:
    position = Position(row[1], row[2], row[3])
    record = Record(position, row[4], row[5], Millis(row[7]), headers_of(row[6]))
    return DeadLetter(row[0], record, row[8], row[9], Millis(row[10]))
