"""What the embedded log keeps, and what it holds."""

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from stream.log_file import StreamState, connect, offset_of, streams, writing

_SIZE = "coalesce(length(key), 0) + coalesce(length(value), 0) + coalesce(length(headers), 0)"


@dataclass(frozen=True, slots=True)
class Retention:
    """What a partition keeps: records older than ``seconds`` go, and the oldest beyond ``bytes``.

    It is looked at by producers, at the first publication and after every ``every_bytes``. The
    newest record stays in any case. A reader that is so late that its next record is gone is told
    (``PositionLostError``).
    """

    seconds: float = 7 * 86_400.0
    bytes: int = 8 * 1024**3
    every_bytes: int = 16 * 1024**2


@dataclass(frozen=True, slots=True)
class TopicState:
    """A topic of the log: ``records`` are held now, ``published`` counts all that ever were."""

    topic: str
    partitions: int
    records: int
    published: int
    bytes: int


def list_topics(path: Path) -> list[TopicState]:
    """The topics of a log in order of their names; none where there is no log yet."""
    if not path.exists():
        return []
    connection = connect(path)
    try:
        found: dict[str, list[StreamState]] = {}
        for state in streams(connection):
            found.setdefault(state.topic, []).append(state)
    finally:
        connection.close()
    return [
        TopicState(
            topic,
            len(states),
            sum(state.next - state.first for state in states),
            sum(state.next for state in states),
            sum(state.bytes for state in states),
        )
        for topic, states in found.items()
    ]


def drop_expired(connection: sqlite3.Connection, retention: Retention, now: int) -> int:
    """Delete what the bounds no longer allow and give the disk back.

    Args:
        connection: the log's.
        retention: the bounds.
        now: milliseconds since 1970.

    Returns:
        How many records went.
    """
    dropped = 0
    with writing(connection):
        for state in streams(connection):
            first = max(
                _by_age(connection, state, retention, now), _by_bytes(connection, state, retention)
            )
            if first > state.first:
                _drop(connection, state, first)
                dropped += first - state.first
    if dropped:
        connection.execute("PRAGMA incremental_vacuum").fetchall()
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
    return dropped


def _by_age(
    connection: sqlite3.Connection, state: StreamState, retention: Retention, now: int
) -> int:
    """The first offset that is young enough."""
    row = connection.execute(
        "SELECT id FROM records WHERE id >= ? AND id < ? AND time >= ? ORDER BY id LIMIT 1",
        (state.row(state.first), state.row(state.next), now - int(retention.seconds * 1000)),
    ).fetchone()
    return max(state.first, state.next - 1) if row is None else offset_of(row[0])


def _by_bytes(connection: sqlite3.Connection, state: StreamState, retention: Retention) -> int:
    """The first offset from which on the stream is small enough."""
    excess = state.bytes - retention.bytes
    first = state.first
    if excess <= 0:
        return first
    rows = connection.execute(
        f"SELECT id, {_SIZE} FROM records WHERE id >= ? AND id < ? ORDER BY id",
        (state.row(state.first), state.row(state.next - 1)),
    )
    for row, size in rows:
        if excess <= 0:
            break
        excess -= size
        first = offset_of(row) + 1
    return first


def _drop(connection: sqlite3.Connection, state: StreamState, first: int) -> None:
    gone = (state.row(state.first), state.row(first))
    freed = connection.execute(
        f"SELECT coalesce(sum({_SIZE}), 0) FROM records WHERE id >= ? AND id < ?", gone
    ).fetchone()[0]
    connection.execute("DELETE FROM records WHERE id >= ? AND id < ?", gone)
    connection.execute(
        "UPDATE streams SET first = ?, bytes = bytes - ? WHERE number = ?",
        (first, freed, state.number),
    )
