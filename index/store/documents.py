"""Documents and chunks, written into and removed from the store inside a transaction."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import orjson

from index.admission import Admitted, DocumentOutcome, Known, document_id, tombstone_version
from index.analysis.scripts import spread
from index.expiry import TRACES
from index.store.rows import int32_array, int32_blob
from index.types import (
    Analysis,
    Document,
    Int32Array,
    Mention,
    Millis,
    Position,
    to_millis,
)
from index.vocabulary import Vocabulary

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


class FormCounts:
    """How often each surface form names its concept: signed changes, written once a batch."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._changes: Counter[int] = Counter()
        self._numbers: dict[tuple[int, str], int] = {}

    def number(self, concept: int, text: str) -> int:
        """The number of a form, made when it is new; counts one use of it."""
        number = self._numbers.get((concept, text))
        if number is None:
            number = self._numbers[concept, text] = self._stored(concept, text)
        self._changes[number] += 1
        return number

    def _stored(self, concept: int, text: str) -> int:
        row = self._connection.execute(
            "SELECT number FROM forms WHERE concept = ? AND text = ?", (concept, text)
        ).fetchone()
        if row is None:
            row = self._connection.execute(
                "INSERT INTO forms (concept, text, n) VALUES (?, ?, 0) RETURNING number",
                (concept, text),
            ).fetchone()
        number: int = row[0]
        return number

    def withdraw(self, forms: Iterable[int]) -> None:
        """Count one use less of each form."""
        self._changes.subtract(forms)

    def flush(self) -> None:
        """Write the changes; forms that are used no more are removed."""
        rows = [(change, number) for number, change in self._changes.items() if change]
        self._connection.executemany("UPDATE forms SET n = n + ? WHERE number = ?", rows)
        gone = [(number,) for change, number in rows if change < 0]
        self._connection.executemany("DELETE FROM forms WHERE number = ? AND n <= 0", gone)
        self._changes.clear()
        self._numbers.clear()


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
    connection: sqlite3.Connection, admitted: Admitted, before: Known | None, now: Millis
) -> None:
    """Leave a tombstone for a document that was withdrawn, or came too late."""
    arrival, position = admitted.arrival, admitted.arrival.record.position
    version = tombstone_version(arrival, before)
    late = admitted.outcome is DocumentOutcome.LATE
    connection.execute(
        "INSERT OR REPLACE INTO tombstones VALUES (?, ?, ?, ?, ?, ?)",
        (document_id(arrival), version, position.topic, position.partition, now, late),
    )


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


def insert(
    connection: sqlite3.Connection,
    document: Document,
    analysis: Analysis,
    *,
    number: int,
    first_slot: int,
    position: Position,
    generation: int,
    vocabulary: Vocabulary,
    forms: FormCounts,
) -> tuple[tuple[StoredConcepts, ...], Int32Array]:
    """Write a document and its chunks; return the chunks' and the title's concept numbers."""
    title = sorted(_number(connection, vocabulary, m) for m in analysis.title_mentions)
    chunk_rows, facet_rows, text_rows, stored = [], [], [], []
    for ordinal, chunk in enumerate(analysis.chunks):
        slot = first_slot + ordinal
        pairs = sorted(
            (concept, forms.number(concept, mention.form))
            for mention in chunk.mentions
            for concept in (_number(connection, vocabulary, mention),)
        )
        concepts = int32_blob([concept for concept, _ in pairs])
        used = int32_blob([form for _, form in pairs])
        chunk_rows.append(
            (slot, number, ordinal, chunk.start, chunk.end, concepts, used, chunk.vector)
        )
        body = document.text[chunk.start : chunk.end]
        text_rows.append((slot, spread(document.title), spread(body)))
        facet_rows += [
            (slot, f.kind.value, f.low, f.high, f.unit, f.start, f.end) for f in chunk.facets
        ]
        stored.append(StoredConcepts(slot, int32_array(concepts)))
    connection.execute(
        "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        _document_row(document, analysis.lang, number, position, title, generation),
    )
    connection.execute("DELETE FROM tombstones WHERE id = ?", (document.id,))
    connection.executemany("INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?)", chunk_rows)
    connection.executemany("INSERT INTO full_text (rowid, title, text) VALUES (?, ?, ?)", text_rows)
    connection.executemany("INSERT INTO facets VALUES (?, ?, ?, ?, ?, ?, ?)", facet_rows)
    return tuple(stored), int32_array(int32_blob(title))


def _document_row(
    document: Document,
    lang: str,
    number: int,
    position: Position,
    title: Sequence[int],
    generation: int,
) -> tuple[object, ...]:
    return (
        number,
        document.id,
        document.content_hash(),
        document.version,
        position.topic,
        position.partition,
        document.title,
        document.text,
        document.source,
        document.url,
        lang,
        None if document.published_at is None else to_millis(document.published_at),
        to_millis(document.observed_at),
        to_millis(document.event_at),
        orjson.dumps(dict(document.metadata), option=orjson.OPT_SORT_KEYS).decode(),
        ",".join(sorted(document.derived)),
        int32_blob(title),
        generation,
    )


def _number(connection: sqlite3.Connection, vocabulary: Vocabulary, mention: Mention) -> int:
    number = vocabulary.number(mention.key)
    if number is None:
        number = vocabulary.append(mention.key, mention.kind)
        connection.execute(
            "INSERT INTO concepts VALUES (?, ?, ?)", (number, mention.key, mention.kind.value)
        )
    return number
