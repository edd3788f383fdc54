"""The change log: what arrived when, without a text, for `new`, trends and stories."""

import sqlite3
from collections.abc import Mapping, Sequence

from index.admission import DocumentOutcome, Plan, document_id, observed_at
from index.store import meta
from index.store.documents import Withdrawn
from index.store.generations import TIDIED_EVERY
from index.store.insertion import Named
from index.store.rows import int32_blob
from index.types import Millis, Rejected, Upsert, to_millis
from index.view import ChangeKind

KEPT_MILLIS = 90 * 24 * 3600 * 1000
"""Changes are kept for 90 days behind the newest one."""

FORGOTTEN = "changes_forgotten"
"""In ``meta``: up to which generation changes observed before which moment were dropped."""


_KINDS = {
    DocumentOutcome.INSERTED: ChangeKind.INSERT,
    DocumentOutcome.EDITED: ChangeKind.EDIT,
    DocumentOutcome.DELETED: ChangeKind.DELETE,
    DocumentOutcome.LATE: ChangeKind.EXPIRY,
}


def record_changes(
    connection: sqlite3.Connection,
    plan: Plan,
    failed: Mapping[str, Rejected],
    withdrawn: Mapping[str, Withdrawn],
    inserted: Mapping[str, Named],
    generation: int,
) -> None:
    """Write a row for every arrival that was applied.

    A document that came and went within the batch leaves its rows too, without concepts.
    """
    rows = []
    for admitted in plan.admitted:
        key = document_id(admitted.arrival)
        kind = _KINDS.get(admitted.outcome)
        if key is None or kind is None or key in failed:
            continue
        if kind == ChangeKind.EXPIRY and not admitted.replaces:
            continue  # it came too late, and nothing stood for it
        content = admitted.arrival.content
        gone, written = withdrawn.get(key), inserted.get(key)
        observed = observed_at(admitted.arrival)
        if isinstance(content, Upsert):
            source, event_at = content.document.source, to_millis(content.document.event_at)
        else:
            source = "" if gone is None else gone.source
            event_at = observed if gone is None else Millis(gone.event_at)
        if written is not None:
            concepts = written.concepts
        else:
            concepts = b"" if gone is None else int32_blob(gone.concepts)
        rows.append((generation, key, kind, observed, event_at, source, concepts))
    _write(connection, rows, generation)


def record_expiry(
    connection: sqlite3.Connection, expired: Sequence[Withdrawn], observed: Millis, generation: int
) -> None:
    """Write a row for every document that expired; ``observed``: the newest arrival's time."""
    rows = [
        (
            generation,
            gone.document_id,
            ChangeKind.EXPIRY,
            observed,
            gone.event_at,
            gone.source,
            int32_blob(gone.concepts),
        )
        for gone in expired
    ]
    _write(connection, rows, generation)


def _write(
    connection: sqlite3.Connection, rows: Sequence[tuple[object, ...]], generation: int
) -> None:
    connection.executemany("INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    if rows and generation % TIDIED_EVERY == 0:
        newest = connection.execute("SELECT max(observed_at) FROM changes").fetchone()[0]
        meta.put(connection, FORGOTTEN, f"{generation} {newest - KEPT_MILLIS}")
        forget(connection)


def forget(connection: sqlite3.Connection, schema: str = "main") -> None:
    """Drop old changes, as the ``meta`` of a schema says: who copies them drops the same.

    Nothing is done where the store's own ``meta`` says the same: it was done when that was written.
    """
    said = _forgotten(connection, schema)
    if said is not None and (schema == "main" or said != _forgotten(connection, "main")):
        generation, before = map(int, said.split(" "))
        # Nearly every row is of such a generation, few are so old: the plus keeps SQLite from
        # looking them up by the generation.
        connection.execute(
            "DELETE FROM main.changes WHERE +generation <= ? AND observed_at < ?",
            (generation, before),
        )


def _forgotten(connection: sqlite3.Connection, schema: str) -> str | None:
    row = connection.execute(
        f"SELECT value FROM {schema}.meta WHERE name = ?", (FORGOTTEN,)
    ).fetchone()
    return None if row is None else row[0]
