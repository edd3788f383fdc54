"""An index in memory: a ``View`` over documents given as text, for tests of the search.

Full text is SQLite's own FTS5, as in the store; everything else is lists.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from index.change_log import columns_of
from index.communities.hierarchy import Hierarchy
from index.communities.leaves import Leaves
from index.segment import Segment
from index.snapshot import Head, Labels, Snapshot, Totals
from index.types import Analysis, Facet, Millis, Scalar
from index.view import DocumentChange, StoredChunk, StoredDocument
from index.vocabulary import Vocabulary


@dataclass(frozen=True)
class Given:
    """A document as a test gives it."""

    id: str
    title: str
    text: str
    analysis: Analysis
    source: str = "wire"
    event_at: int = 1_000
    observed_at: int = 1_000
    metadata: Mapping[str, Scalar] = field(default_factory=dict)


class MemoryView:
    """See ``index.view.View``."""

    def __init__(self, documents: Sequence[Given], dimensions: int, *, retracted=()) -> None:
        self.stored: dict[int, StoredDocument] = {}
        self.stored_chunks: dict[int, StoredChunk] = {}
        self.stored_facets: dict[int, list[Facet]] = {}
        self.forms: dict[int, str] = {}
        self.recorded: list[DocumentChange] = []
        self.tombstones: set[str] = set()
        self._fts = sqlite3.connect(":memory:", check_same_thread=False)
        self._fts.execute(
            "CREATE VIRTUAL TABLE t USING fts5 (title, text, content='',"
            " tokenize='porter unicode61 remove_diacritics 2')"
        )
        self.vocabulary = Vocabulary()
        self.snapshot = self._build(documents, dimensions, set(retracted))

    def _number(self, mention) -> int:
        number = self.vocabulary.number(mention.key)
        if number is None:
            number = self.vocabulary.append(mention.key, mention.kind)
            self.forms[number] = mention.form
        return number

    def _build(self, documents, dimensions, retracted) -> Snapshot:
        sources, langs = [], []
        columns = {
            name: [] for name in ("slots", "chunk_document", "vectors", "concepts", "titles")
        }
        rows = {name: [] for name in ("event_at", "observed_at", "source", "lang")}
        for number, given in enumerate(documents):
            analysis = given.analysis
            self.stored[number] = StoredDocument(
                number=number,
                id=given.id,
                title=given.title,
                text=given.text,
                source=given.source,
                url=f"https://example.org/{given.id}",
                lang=analysis.lang,
                published_at=Millis(given.event_at),
                observed_at=Millis(given.observed_at),
                event_at=Millis(given.event_at),
                version=None,
                metadata=given.metadata,
                derived=frozenset(),
                generation=1,
            )
            for label, names in ((given.source, sources), (analysis.lang, langs)):
                if label not in names:
                    names.append(label)
            rows["event_at"].append(given.event_at)
            rows["observed_at"].append(given.observed_at)
            rows["source"].append(sources.index(given.source))
            rows["lang"].append(langs.index(analysis.lang))
            columns["titles"].append(sorted({self._number(m) for m in analysis.title_mentions}))
            named = set()
            for ordinal, chunk in enumerate(analysis.chunks):
                slot = len(columns["slots"])
                columns["slots"].append(slot)
                columns["chunk_document"].append(number)
                columns["vectors"].append(np.frombuffer(chunk.vector, np.float16))
                columns["concepts"].append(sorted({self._number(m) for m in chunk.mentions}))
                named.update(columns["concepts"][-1])
                self.stored_facets[slot] = list(chunk.facets)
                text = given.text[chunk.start : chunk.end]
                self.stored_chunks[slot] = StoredChunk(
                    slot, f"{slot:032x}", number, ordinal, chunk.start, chunk.end, text
                )
                if slot not in retracted:
                    self._fts.execute(
                        "INSERT INTO t (rowid, title, text) VALUES (?, ?, ?)",
                        (slot, given.title, text),
                    )
            self.recorded.append(
                DocumentChange(
                    1,
                    given.id,
                    "insert",
                    Millis(given.observed_at),
                    Millis(given.event_at),
                    given.source,
                    np.array(sorted(named), np.int32),
                )
            )
        return self._snapshot(columns, rows, Labels(sources, langs), dimensions, retracted)

    def _snapshot(self, columns, rows, labels, dimensions, retracted) -> Snapshot:
        def compressed(lists):
            offsets = np.cumsum([0, *map(len, lists)]).astype(np.int64)
            return offsets, np.array([x for row in lists for x in row], np.int32)

        offsets, concepts = compressed(columns["concepts"])
        title_offsets, titles = compressed(columns["titles"])
        count = len(columns["slots"])
        vectors = np.array(columns["vectors"], np.float32).reshape(count, dimensions)
        segment = Segment(
            slots=np.arange(count, dtype=np.int64),
            chunk_document=np.array(columns["chunk_document"], np.int32),
            concept_offsets=offsets,
            concepts=concepts,
            vectors=vectors,
            documents=np.arange(len(rows["event_at"]), dtype=np.int64),
            event_at=np.array(rows["event_at"], np.int64),
            observed_at=np.array(rows["observed_at"], np.int64),
            source=np.array(rows["source"], np.int32),
            lang=np.array(rows["lang"], np.int32),
            title_offsets=title_offsets,
            title_concepts=titles,
        )
        alive = np.array([slot not in retracted for slot in range(count)], np.bool_)
        living = np.repeat(alive, np.diff(offsets))
        frequency = np.bincount(concepts[living], minlength=len(self.vocabulary)).astype(np.int32)
        empty = Snapshot.empty(self.vocabulary, labels, dimensions)
        newest = Millis(max(rows["observed_at"], default=0))
        return replace(
            empty,
            head=Head(
                generation=1,
                watermark=newest,
                newest_arrival=newest,
                totals=Totals(
                    documents=len(rows["event_at"]),
                    chunks=int(alive.sum()),
                    frequency_sum=int(frequency.sum()),
                    weight_sum=_pairs(columns, retracted),
                ),
            ),
            segments=(segment,) if count else (),
            segments_alive=(alive,) if count else (),
            concept_count=len(self.vocabulary),
            frequency=frequency,
            hierarchy=Hierarchy.empty(len(self.vocabulary)),
        )

    def grouped(self, groups: Mapping[int, tuple[int, int, Sequence[str]]]) -> "MemoryView":
        """Give it communities: id -> (level, parent, keys of a leaf's members)."""
        leaf = np.full(len(self.vocabulary), -1, np.int64)
        for community, (_, _, keys) in groups.items():
            for key in keys:
                leaf[self.vocabulary.number(key)] = community
        ids = np.array(sorted(groups), np.int64)
        sizes = np.array([self._size(int(i), groups) for i in ids], np.int32)
        hierarchy = Hierarchy(
            epoch=1,
            ids=ids,
            level=np.array([groups[int(i)][0] for i in ids], np.int16),
            parent=np.array([groups[int(i)][1] for i in ids], np.int64),
            sizes=sizes,
            leaves=Leaves(leaf),
        )
        self.snapshot = replace(self.snapshot, hierarchy=hierarchy)
        return self

    def _size(self, community, groups) -> int:
        inside = [c for c, (_, parent, _) in groups.items() if parent == community]
        return len(groups[community][2]) + sum(self._size(c, groups) for c in inside)

    def chunks(self, slots):
        return [self.stored_chunks[int(slot)] for slot in slots]

    def documents(self, numbers):
        return {int(n): self.stored[int(n)] for n in numbers if int(n) in self.stored}

    def document(self, document_id):
        return next((d for d in self.stored.values() if d.id == document_id), None)

    def documents_named(self, ids):
        return {d.id: d for d in self.stored.values() if d.id in set(ids)}

    def document_chunks(self, number):
        return [c for c in self.stored_chunks.values() if c.document == number]

    def list_documents(self, *, before, limit, source=None):
        found = sorted(self.stored.values(), key=lambda d: -d.number)
        return [d for d in found if before is None or d.number < before][:limit]

    def full_text(self, words, limit):
        terms = [word.replace('"', '""') for word in words if any(c.isalnum() for c in word)]
        if not terms:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        found = self._fts.execute(
            "SELECT rowid, bm25(t, 2.0, 1.0) AS s FROM t WHERE t MATCH ? ORDER BY s LIMIT ?",
            (" OR ".join(f'"{term}"' for term in terms), limit or -1),
        ).fetchall()
        return np.array([r[0] for r in found], np.int64), np.array(
            [-r[1] for r in found], np.float32
        )

    def with_metadata(self, where):
        return np.array(
            [
                d.number
                for d in self.stored.values()
                if all(d.metadata.get(k) == v for k, v in where.items())
            ],
            np.int64,
        )

    def facets(self, slots):
        return {int(slot): self.stored_facets.get(int(slot), []) for slot in slots}

    def with_facet(self, kind, low, high, unit):
        return np.array(
            [
                slot
                for slot, facets in sorted(self.stored_facets.items())
                if any(
                    f.kind == kind and f.low <= high and f.high >= low and unit in (None, f.unit)
                    for f in facets
                )
            ],
            np.int64,
        )

    def displays(self, concepts):
        return {int(c): self.forms[int(c)] for c in concepts}

    def changes(self, since, until=None) -> Iterator[DocumentChange]:
        for change in sorted(self.recorded, key=lambda c: c.observed_at):
            if change.observed_at >= since and (until is None or change.observed_at < until):
                yield change

    def change_parts(self, asked):
        yield self.change_columns(asked)

    def change_columns(self, asked):
        del asked
        return columns_of(
            (c.generation, c.document_id, c.kind, c.observed_at, c.event_at, c.source, c.concepts)
            for c in self.recorded
        )

    def lineage(self, community, limit):
        return None

    def has_expired(self, document_id):
        del document_id
        return False

    def was_deleted(self, document_id):
        return document_id in self.tombstones


class MemorySource:
    """A ``SnapshotSource`` over one view."""

    def __init__(self, view: MemoryView) -> None:
        self.view = view
        self.pins = 0

    @contextmanager
    def pin(self) -> Iterator[MemoryView]:
        self.pins += 1
        try:
            yield self.view
        finally:
            self.pins -= 1

    def latest(self) -> Snapshot:
        return self.view.snapshot


def _pairs(columns, retracted) -> int:
    sizes = [
        len(c)
        for s, c in zip(columns["slots"], columns["concepts"], strict=True)
        if s not in retracted
    ]
    return sum(n * (n - 1) // 2 for n in sizes)
