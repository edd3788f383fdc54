"""What the store knows of documents, and their removal, inside a transaction.

What is new is written by ``index.store.insertion``.
"""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from index.admission import Admitted, DocumentOutcome, Known, document_id, tombstone_version
from index.analysis.scripts import spread
from index.expiry import TRACES
from index.store.forms import FormCounts
from index.store.rows import int32_array
from index.types import Int32Array, Millis

TOMBSTONE_MILLIS = 30 * 24 * 3600 * 1000
"""How long a withdrawn document's version is remembered: 30 days."""

_MANY = 500  # parameters in one IN (...) list


@dataclass(frozen=True, slots=True)
class StoredConcepts:
    """A stored chunk's slot and its concept numbers."""

    slot: int
    concepts: Int32Array


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """A revision that was taken out, with what the counts and the change log need of it."""

    document_id: str
    source: str
    event_at: int
    chunks: tuple[StoredConcepts, ...]

    @property
    def concepts(self) -> Int32Array:
        """The concepts of all its chunks, sorted and distinct."""
        parts = [chunk.concepts for chunk in self.chunks]
        return np.unique(np.concatenate(parts)) if parts else np.zeros(0, np.int32)


def known(connection: sqlite3.Connection, ids: Iterable[str]) -> dict[str, Known]:
    """What the store knows of some ids, living or withdrawn."""
    found: dict[str, Known] = {}
    wanted = list(dict.fromkeys(ids))
    for start in range(0, len(wanted), _MANY):
        part = wanted[start : start + _MANY]
        marks = ", ".join("?" * len(part))
        for key, version, topic, partition in connection.execute(
            f"SELECT id, version, topic, partition FROM tombstones WHERE id IN ({marks})", part
        ):
            found[key] = Known(None, b"", version, topic, partition)
        for key, *values in connection.execute(
            "SELECT id, number, content_hash, version, topic, partition, event_at FROM documents"
            f" WHERE id IN ({marks})",
            part,
        ):
            found[key] = Known(*values)
    return found


def withdraw(connection: sqlite3.Connection, document_id: str, forms: FormCounts) -> Withdrawn:
    """Remove a document's rows everywhere; the id must be alive."""
    number, title, text, source, event_at = connection.execute(
        "SELECT number, title, text, source, event_at FROM documents WHERE id = ?", (document_id,)
    ).fetchone()
    rows = connection.execute(
        "SELECT slot, start, end, concepts, forms FROM chunks WHERE document = ? ORDER BY ordinal",
        (number,),
    ).fetchall()
    for slot, start, end, _, used in rows:
        # A contentless FTS5 table wants the old values to take an entry out.
        connection.execute(
            "INSERT INTO full_text (full_text, rowid, title, text) VALUES ('delete', ?, ?, ?)",
            (slot, spread(title), spread(text[start:end])),
        )
        connection.execute("DELETE FROM facets WHERE slot = ?", (slot,))
        forms.withdraw(int32_array(used).tolist())
    connection.execute("DELETE FROM chunks WHERE document = ?", (number,))
    connection.execute("DELETE FROM documents WHERE number = ?", (number,))
    chunks = tuple(StoredConcepts(slot, int32_array(concepts)) for slot, _, _, concepts, _ in rows)
    return Withdrawn(document_id, source, event_at, chunks)


def bury(
    connection: sqlite3.Connection,
    buried: Iterable[tuple[Admitted, Known | None]],
    now: Millis,
) -> None:
    """Leave tombstones for documents that were withdrawn, or came too late.

    ``buried``: what was decided, and what was known of the document before.
    """
    rows = []
    for admitted, before in buried:
        arrival, position = admitted.arrival, admitted.arrival.record.position
        version = tombstone_version(arrival, before)
        late = admitted.outcome is DocumentOutcome.LATE
        rows.append((document_id(arrival), version, position.topic, position.partition, now, late))
    connection.executemany("INSERT OR REPLACE INTO tombstones VALUES (?, ?, ?, ?, ?, ?)", rows)


def unbury(connection: sqlite3.Connection, ids: Iterable[str]) -> None:
    """Take away the tombstones of documents that are to live again."""
    connection.executemany("DELETE FROM tombstones WHERE id = ?", [(one,) for one in ids])


def count_due(connection: sqlite3.Connection, horizon: Millis | None) -> int:
    """How many documents lie before the horizon."""
    if horizon is None:
        return 0
    row = connection.execute("SELECT count(*) FROM documents WHERE event_at < ?", (horizon,))
    count: int = row.fetchone()[0]
    return count


def bury_due(
    connection: sqlite3.Connection, horizon: Millis, before: int, limit: int, now: Millis
) -> list[str]:
    """Leave tombstones for the oldest documents before the horizon, and name them.

    They are still to be withdrawn. Documents that generation ``before`` wrote are left for later
    ones: a slot must not come and go in one generation.
    """
    rows = connection.execute(
        "SELECT id, version, topic, partition FROM documents"
        " WHERE event_at < ? AND generation < ? ORDER BY event_at, number LIMIT ?",
        (horizon, before, limit),
    ).fetchall()
    connection.executemany(
        "INSERT OR REPLACE INTO tombstones VALUES (?, ?, ?, ?, ?, 1)", [(*row, now) for row in rows]
    )
    return [row[0] for row in rows]


def forget_tombstones(
    connection: sqlite3.Connection, window: Millis | None = None, traces: int = TRACES
) -> None:
    """Forget old tombstones.

    Those left longer than 30 days, or the window where that is longer, before the newest one; and
    of expired documents all but the newest, ``traces`` at most.
    """
    connection.execute(
        "DELETE FROM tombstones WHERE deleted_at < (SELECT max(deleted_at) FROM tombstones) - ?",
        (max(TOMBSTONE_MILLIS, window or 0),),
    )
    connection.execute(
        "DELETE FROM tombstones WHERE expired AND deleted_at <= (SELECT deleted_at FROM tombstones"
        " WHERE expired ORDER BY deleted_at DESC LIMIT 1 OFFSET ?)",
        (traces,),
    )
