"""What a follower of vectors reads in the store: chunks as points, and which chunks went when."""

import sqlite3
import uuid
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson

from index.store.rows import chunk_id, int64_array
from index.types import Int64Array
from index.vectors.protocol import Mark, Points, tokens

_POINTS = """
SELECT c.slot, c.ordinal, c.vector, d.id, d.content_hash, d.source, d.lang, d.published_at,
       d.observed_at, d.event_at, d.metadata, d.generation
FROM chunks c JOIN documents d ON d.number = c.document
WHERE c.slot >= ? AND c.slot < ? ORDER BY c.slot LIMIT ?
"""


def points_from(
    connection: sqlite3.Connection, first: int, end: int, limit: int, dimensions: int
) -> Points:
    """The points of at most ``limit`` living chunks with slots in [first, end), ascending."""
    rows = connection.execute(_POINTS, (first, end, limit)).fetchall()
    return _points(rows, dimensions)


def points_of(connection: sqlite3.Connection, slots: list[int], dimensions: int) -> Points:
    """The points of some living chunks."""
    rows = [row for slot in slots for row in connection.execute(_POINTS, (slot, slot + 1, 1))]
    return _points(rows, dimensions)


def _points(rows: list[tuple[Any, ...]], dimensions: int) -> Points:
    vectors = np.frombuffer(b"".join(row[2] for row in rows), np.float16)
    return Points(
        slots=np.array([row[0] for row in rows], np.int64),
        vectors=vectors.reshape(len(rows), dimensions).astype(np.float32),
        payloads=[_payload(row) for row in rows],
    )


def _payload(row: tuple[Any, ...]) -> dict[str, object]:
    slot, ordinal, _, document, content_hash, source, lang, published, observed, event = row[:10]
    payload: dict[str, object] = {
        "slot": slot,
        "chunk": str(uuid.UUID(bytes=chunk_id(document, content_hash, ordinal))),
        "document": document,
        "source": source,
        "lang": lang,
        "observed_at": observed,
        "event_at": event,
        "where": tokens(orjson.loads(row[10])),
        "generation": row[11],
    }
    if published is not None:
        payload["published_at"] = published
    return payload


def checksum_of(connection: sqlite3.Connection, generation: int) -> str | None:
    """The checksum of a generation's row in hexadecimal; None where it is not kept.

    "" for generation 0, which stands before the first one.
    """
    if generation == 0:
        return ""
    row = connection.execute(
        "SELECT checksum FROM generations WHERE id = ?", (generation,)
    ).fetchone()
    return None if row is None else row[0].hex()


def continues(connection: sqlite3.Connection, mark: Mark, fingerprint: str) -> bool:
    """Whether a mark belongs to this store's history, and nothing since it is forgotten."""
    if mark.fingerprint != fingerprint:
        return False
    oldest = connection.execute("SELECT min(id) FROM generations").fetchone()[0]
    if oldest is not None and oldest > mark.swept + 1:
        return False
    return (
        checksum_of(connection, mark.since) == mark.since_checksum
        and checksum_of(connection, mark.generation) == mark.checksum
    )


@dataclass(frozen=True, slots=True)
class Retracted:
    """Slots that the generations up to ``generation`` retracted, and its checksum."""

    generation: int
    checksum: str
    slots: Int64Array


def retracted(connection: sqlite3.Connection, after: int, before: int) -> Retracted | None:
    """What the generations later than ``after`` retracted, of those committed before a moment.

    ``before`` is in milliseconds. None where there is no such generation.
    """
    rows = connection.execute(
        "SELECT id, checksum, retracted FROM generations WHERE id > ? AND committed_at <= ?"
        " ORDER BY id",
        (after, before),
    ).fetchall()
    if not rows:
        return None
    return Retracted(rows[-1][0], rows[-1][1].hex(), int64_array(b"".join(r[2] for r in rows)))


def pending(connection: sqlite3.Connection, after: int) -> Int64Array:
    """Slots that the generations later than ``after`` retracted."""
    rows = connection.execute("SELECT retracted FROM generations WHERE id > ?", (after,))
    return int64_array(b"".join(row[0] for row in rows))


def living(connection: sqlite3.Connection, end: int) -> Int64Array:
    """The slots of the living chunks below ``end``, ascending."""
    rows = connection.execute("SELECT slot FROM chunks WHERE slot < ? ORDER BY slot", (end,))
    return np.array([row[0] for row in rows], np.int64)
