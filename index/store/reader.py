"""The stored half of a view: texts, full-text search, facets and changes of one moment."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import Any

import numpy as np
import orjson

from index.analysis.scripts import spread
from index.change_log import ChangeColumns, ChangesAsked
from index.snapshot import Snapshot
from index.store import lineage
from index.store.change_log import ChangeLog, ChangeReader
from index.store.displays import Displays
from index.store.rows import chunk_id, int32_array
from index.store.statements import Statements
from index.types import (
    Facet,
    FacetKind,
    Float32Array,
    Int64Array,
    Millis,
    Scalar,
)
from index.view import CommunityLineage, DocumentChange, StoredChunk, StoredDocument

TITLE_WEIGHT = 2.0
"""BM25 weight of a match in the title against one in the text; ours, see the search benchmark."""

COMMON = 0.08
"""Share of all chunks from which on a word is left out of a ranked search that has rarer ones.

Ours; over 35,000 newswire chunks it halves the time of the full-text search.
"""

_MANY = 500
_ALWAYS = -(1 << 62)
_DOCUMENT = (
    "SELECT number, id, title, text, source, url, lang, published_at, observed_at, event_at,"
    " version, metadata, derived, generation FROM documents"
)
_CHUNK = (
    "SELECT c.slot, d.id, d.content_hash, c.ordinal, c.document, c.start, c.end, d.text"
    " FROM chunks c JOIN documents d ON d.number = c.document"
)


class StoreView:
    """A ``View`` over one read transaction of a SQLite store."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        snapshot: Snapshot,
        changes: ChangeLog | None = None,
        displays: Displays | None = None,
        *,
        seconds: float = inf,
    ) -> None:
        """The view answers for ``seconds``, and no statement runs on for long after them."""
        self.snapshot = snapshot
        self._displays = displays or Displays()
        self._connection = connection
        statements = Statements(connection, snapshot.generation, seconds)
        self._rows = statements.rows
        self._changes = ChangeReader(changes or ChangeLog(), statements)

    def close(self) -> None:
        """Nothing of the view is in use any more: others may read the whole change log."""
        self._changes.close()

    @property
    def _horizon(self) -> int:
        """Documents with an older event time are not shown."""
        horizon = self.snapshot.head.horizon
        return _ALWAYS if horizon is None else horizon

    def _by_number(self, sql: str, numbers: Iterable[int]) -> Iterator[tuple[Any, ...]]:
        yield from self._among(sql, [int(n) for n in numbers])

    def _among(self, sql: str, wanted: Sequence[object]) -> Iterator[tuple[Any, ...]]:
        for start in range(0, len(wanted), _MANY):
            part = wanted[start : start + _MANY]
            yield from self._rows(f"{sql} ({', '.join('?' * len(part))})", part)

    def chunks(self, slots: Sequence[int]) -> list[StoredChunk]:
        """See ``View.chunks``."""
        found = {row[0]: _chunk(row) for row in self._by_number(f"{_CHUNK} WHERE c.slot IN", slots)}
        return [found[int(slot)] for slot in slots]

    def documents(self, numbers: Sequence[int]) -> dict[int, StoredDocument]:
        """See ``View.documents``."""
        rows = self._by_number(f"{_DOCUMENT} WHERE number IN", numbers)
        return {row[0]: _document(row) for row in rows if row[9] >= self._horizon}

    def document(self, document_id: str) -> StoredDocument | None:
        """See ``View.document``."""
        return self.documents_named([document_id]).get(document_id)

    def documents_named(self, ids: Sequence[str]) -> dict[str, StoredDocument]:
        """See ``View.documents_named``."""
        rows = self._among(f"{_DOCUMENT} WHERE id IN", list(ids))
        return {row[1]: _document(row) for row in rows if row[9] >= self._horizon}

    def document_chunks(self, number: int) -> list[StoredChunk]:
        """See ``View.document_chunks``."""
        rows = self._rows(f"{_CHUNK} WHERE c.document = ? ORDER BY c.ordinal", (number,))
        return [_chunk(row) for row in rows]

    def list_documents(
        self, *, before: int | None, limit: int, source: str | None = None
    ) -> list[StoredDocument]:
        """See ``View.list_documents``."""
        # The sign keeps SQLite from going by event time, which this order has no use for.
        conditions = ["number < ?", "+event_at >= ?"]
        parameters: list[object] = [before if before is not None else 1 << 62, self._horizon]
        if source is not None:
            conditions.append("source = ?")
            parameters.append(source)
        rows = self._rows(
            f"{_DOCUMENT} WHERE {' AND '.join(conditions)} ORDER BY number DESC LIMIT ?",
            (*parameters, limit),
        )
        return [_document(row) for row in rows]

    def full_text(self, words: Sequence[str], limit: int) -> tuple[Int64Array, Float32Array]:
        """See ``View.full_text``."""
        terms = list(dict.fromkeys(word for word in words if any(c.isalnum() for c in word)))
        if not terms:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        phrases = [_quoted(term) for term in terms]
        match = " OR ".join(self._telling(phrases) if limit else phrases)
        rows = self._rows(
            f"SELECT rowid, bm25(full_text, {TITLE_WEIGHT}, 1.0) AS score FROM full_text"
            " WHERE full_text MATCH ? ORDER BY score LIMIT ?",
            (match, limit or -1),
        )
        slots = np.array([row[0] for row in rows], np.int64)
        return slots, np.array([-row[1] for row in rows], np.float32)

    def _telling(self, phrases: list[str]) -> list[str]:
        """The phrases that fewer chunks hold than ``COMMON`` of all; all where there are none.

        A common word is worth little to BM25 and costs a row for every chunk that holds it.
        """
        most = COMMON * self.snapshot.head.totals.chunks
        sql = "SELECT count(*) FROM full_text WHERE full_text MATCH ?"
        rare = [phrase for phrase in phrases if 0 < self._rows(sql, (phrase,))[0][0] < most]
        return rare or phrases

    def with_metadata(self, where: Mapping[str, Scalar]) -> Int64Array:
        """See ``View.with_metadata``."""
        conditions: list[str] = []
        parameters: list[object] = []
        for name, value in where.items():
            path = '$."' + name.replace('"', "") + '"'
            if value is None:
                conditions.append("json_type(metadata, ?) = 'null'")
                parameters.append(path)
            else:
                conditions.append("json_extract(metadata, ?) = ?")
                parameters += [path, value]
        rows = self._rows(
            f"SELECT number FROM documents WHERE {' AND '.join(conditions) or '1'} ORDER BY number",
            parameters,
        )
        return np.array([row[0] for row in rows], np.int64)

    def facets(self, slots: Sequence[int]) -> dict[int, list[Facet]]:
        """See ``View.facets``."""
        found: dict[int, list[Facet]] = {}
        sql = "SELECT slot, kind, low, high, unit, start, end FROM facets WHERE slot IN"
        for slot, kind, low, high, unit, start, end in self._by_number(sql, slots):
            found.setdefault(slot, []).append(Facet(FacetKind(kind), low, high, unit, start, end))
        return found

    def with_facet(self, kind: str, low: float, high: float, unit: str | None) -> Int64Array:
        """See ``View.with_facet``."""
        sql = "SELECT DISTINCT slot FROM facets WHERE kind = ? AND low <= ? AND high >= ?"
        parameters: list[object] = [kind, high, low]
        if unit is not None:
            sql += " AND unit = ?"
            parameters.append(unit)
        return np.array(
            [row[0] for row in self._rows(sql + " ORDER BY slot", parameters)], np.int64
        )

    def displays(self, concepts: Sequence[int]) -> dict[int, str]:
        """See ``View.displays``."""
        wanted = [int(concept) for concept in concepts]
        names = self._displays.known(self.snapshot.generation, wanted)
        absent = [concept for concept in wanted if concept not in names]
        if absent:
            read = self._read_displays(absent)
            self._displays.keep(self.snapshot.generation, read)
            names |= read
        return {concept: names[concept] for concept in wanted}

    def _read_displays(self, concepts: Sequence[int]) -> dict[int, str]:
        best: dict[int, tuple[int, str]] = {}
        for concept, text, n in self._by_number(
            "SELECT concept, text, n FROM forms WHERE concept IN", concepts
        ):
            # The alphabet breaks ties, so that a display does not depend on the order of arrival.
            if concept not in best or (-n, text) < (-best[concept][0], best[concept][1]):
                best[concept] = (n, text)
        key = self.snapshot.vocabulary.key
        return {c: best[c][1] if c in best else key(c) for c in concepts}

    def changes(self, since: Millis, until: Millis | None = None) -> Iterator[DocumentChange]:
        """See ``View.changes``."""
        rows = self._rows(
            "SELECT generation, document_id, kind, observed_at, event_at, source, concepts"
            " FROM changes WHERE observed_at >= ? AND observed_at < ? ORDER BY observed_at, rowid",
            (since, until if until is not None else 1 << 62),
        )
        for row in rows:
            values = (*row[:6], int32_array(row[6]))
            yield DocumentChange(*values)

    def change_columns(self, asked: ChangesAsked) -> ChangeColumns:
        """See ``View.change_columns``."""
        return self._changes.columns(asked)

    def change_parts(self, asked: ChangesAsked) -> Iterator[ChangeColumns]:
        """See ``View.change_parts``."""
        return self._changes.parts(asked)

    def lineage(self, community: int, limit: int) -> CommunityLineage | None:
        """See ``View.lineage``."""
        self._rows("SELECT 1")  # refuses where the view was retired
        return lineage.read(self._connection, community, limit)

    def was_deleted(self, document_id: str) -> bool:
        """See ``View.was_deleted``."""
        return bool(self._rows("SELECT 1 FROM tombstones WHERE id = ?", (document_id,)))

    def has_expired(self, document_id: str) -> bool:
        """See ``View.has_expired``."""
        sql = (
            "SELECT 1 FROM tombstones WHERE id = ? AND expired"
            " UNION ALL SELECT 1 FROM documents WHERE id = ? AND event_at < ?"
        )
        return bool(self._rows(sql, (document_id, document_id, self._horizon)))

    def checksum(self, generation: int) -> str | None:
        """See ``View.checksum``."""
        if generation == 0:
            return ""
        rows = self._rows("SELECT checksum FROM generations WHERE id = ?", (generation,))
        return rows[0][0].hex() if rows else None


def _quoted(term: str) -> str:
    """A word in FTS5's string syntax, where a doubled quote is a quote: words stay words."""
    return '"' + spread(term).replace('"', '""') + '"'


def _document(row: tuple[Any, ...]) -> StoredDocument:
    derived = frozenset(filter(None, row[12].split(",")))
    values = (*row[:11], orjson.loads(row[11]), derived, row[13])
    return StoredDocument(*values)


def _chunk(row: tuple[Any, ...]) -> StoredChunk:
    slot, document_id, content_hash, ordinal, document, start, end, text = row
    name = chunk_id(document_id, content_hash, ordinal).hex()
    return StoredChunk(slot, name, document, ordinal, start, end, text[start:end])
