"""Where a store stands, in a form that another store's answer can be held against."""

import sqlite3
from dataclasses import dataclass
from hashlib import blake2b

from index.store import meta
from index.store.connection import SCHEMA_VERSION


@dataclass(frozen=True, slots=True)
class Mark:
    """A generation of one history: ``digest`` is over schema, analyzer and all rows up to it.

    The checksum of a generation's row goes over that of its parent, so two stores with one mark
    have come the same way. A restored backup that went on, an index built anew or another store
    has other marks.
    """

    generation: int
    digest: str


def mark_of(connection: sqlite3.Connection, generation: int) -> Mark | None:
    """The mark of a generation; None where the store does not hold it (any more)."""
    row = connection.execute(
        "SELECT checksum FROM generations WHERE id = ?", (generation,)
    ).fetchone()
    if row is None and (generation or newest(connection)):
        return None
    digest = blake2b(digest_size=16)
    for part in (SCHEMA_VERSION, meta.get(connection, meta.FINGERPRINT)):
        digest.update(f"{part}\0".encode())
    digest.update(b"" if row is None else row[0])
    return Mark(generation, digest.hexdigest())


def newest(connection: sqlite3.Connection) -> int:
    """The newest generation; 0 before the first."""
    return int(connection.execute("SELECT max(id) FROM generations").fetchone()[0] or 0)
