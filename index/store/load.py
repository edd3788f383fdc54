"""From stored rows to snapshots: one code path for the writer, followers and recovery."""

import sqlite3
from collections.abc import Iterator

import numpy as np

from index.segment import MERGE_LIMIT, Segment
from index.snapshot import Labels, Snapshot
from index.store import communities
from index.store.generations import Generation, latest
from index.store.rows import int32_array
from index.types import ConceptKey, ConceptKind, Int64Array
from index.vocabulary import Vocabulary

_CHUNKS = """
SELECT c.slot, c.document, c.concepts, c.vector,
       d.event_at, d.observed_at, d.source, d.lang, d.title_concepts
FROM chunks c JOIN documents d ON d.number = c.document
WHERE c.slot >= ? AND c.slot < ? ORDER BY c.slot
"""


class Names:
    """What a process shares between its snapshots: concept keys, and codes of short labels."""

    def __init__(self) -> None:
        self.vocabulary = Vocabulary()
        self._sources: list[str] = []
        self._langs: list[str] = []
        self._source_codes: dict[str, int] = {}
        self._lang_codes: dict[str, int] = {}
        self.labels = Labels(self._sources, self._langs)

    def source(self, name: str) -> int:
        """The code of a source."""
        return _code(name, self._sources, self._source_codes)

    def lang(self, name: str) -> int:
        """The code of a language."""
        return _code(name, self._langs, self._lang_codes)

    def read_concepts(self, connection: sqlite3.Connection) -> None:
        """Take in the concepts that the store has gained."""
        rows = connection.execute(
            "SELECT key, kind FROM concepts WHERE number >= ? ORDER BY number",
            (len(self.vocabulary),),
        )
        for key, kind in rows:
            self.vocabulary.append(ConceptKey(key), ConceptKind(kind))


def _code(name: str, names: list[str], codes: dict[str, int]) -> int:
    code = codes.get(name)
    if code is None:
        code = codes[name] = len(names)
        names.append(name)
    return code


class SegmentBuilder:
    """Collects rows in slot order and makes a segment of them."""

    def __init__(self, names: Names, dimensions: int) -> None:
        self._names = names
        self._dimensions = dimensions
        self.slots: list[int] = []
        self._owner: list[int] = []
        self._concepts: list[bytes] = []
        self._vectors: list[bytes] = []
        self._documents: list[tuple[int, int, int, int, int]] = []
        self._titles: list[bytes] = []

    def document(
        self, number: int, event_at: int, observed_at: int, source: str, lang: str, title: bytes
    ) -> None:
        """Begin a document; the chunks that follow are its own. ``title``: int32 bytes."""
        codes = self._names.source(source), self._names.lang(lang)
        self._documents.append((number, event_at, observed_at, *codes))
        self._titles.append(title)

    def chunk(self, slot: int, concepts: bytes, vector: bytes) -> None:
        """Add a chunk to the newest document. ``concepts``: int32 bytes; ``vector``: float16."""
        self.slots.append(slot)
        self._owner.append(len(self._documents) - 1)
        self._concepts.append(concepts)
        self._vectors.append(vector)

    def segment(self) -> Segment:
        """The segment of all rows so far."""
        columns = np.array(self._documents, np.int64).reshape(-1, 5)
        vectors = np.frombuffer(b"".join(self._vectors), np.float16)
        return Segment(
            slots=np.array(self.slots, np.int64),
            chunk_document=np.array(self._owner, np.int32),
            concept_offsets=_offsets(self._concepts),
            concepts=int32_array(b"".join(self._concepts)),
            vectors=vectors.reshape(len(self.slots), self._dimensions).astype(np.float32),
            documents=columns[:, 0].copy(),
            event_at=columns[:, 1].copy(),
            observed_at=columns[:, 2].copy(),
            source=columns[:, 3].astype(np.int32),
            lang=columns[:, 4].astype(np.int32),
            title_offsets=_offsets(self._titles),
            title_concepts=int32_array(b"".join(self._titles)),
        )


def _offsets(rows: list[bytes]) -> Int64Array:
    lengths = np.array([0, *(len(row) // 4 for row in rows)], np.int64)
    return np.cumsum(lengths)


def segments(
    connection: sqlite3.Connection, names: Names, dimensions: int, first: int, end: int
) -> Iterator[Segment]:
    """Segments of the living chunks with slots in [first, end), cut between documents."""
    builder = SegmentBuilder(names, dimensions)
    document = -1
    for (
        slot,
        number,
        concepts,
        vector,
        event_at,
        observed_at,
        source,
        lang,
        title,
    ) in connection.execute(_CHUNKS, (first, end)):
        if number != document:
            if len(builder.slots) >= MERGE_LIMIT // 2:
                yield builder.segment()
                builder = SegmentBuilder(names, dimensions)
            document = number
            builder.document(number, event_at, observed_at, source, lang, title)
        builder.chunk(slot, concepts, vector)
    if builder.slots:
        yield builder.segment()


def whole_snapshot(
    connection: sqlite3.Connection, names: Names, dimensions: int
) -> tuple[Generation, Snapshot]:
    """The snapshot of the newest generation, from nothing."""
    names.read_concepts(connection)
    generation = latest(connection)
    count = generation.next_numbers.concept
    parts = tuple(segments(connection, names, dimensions, 0, generation.next_numbers.chunk))
    frequency = np.zeros(count, np.int32)
    for part in parts:
        frequency += np.bincount(part.concepts, minlength=count).astype(np.int32)
    snapshot = Snapshot(
        head=generation.head,
        segments=parts,
        segments_alive=tuple(np.ones(part.rows, np.bool_) for part in parts),
        vocabulary=names.vocabulary,
        labels=names.labels,
        concept_count=count,
        frequency=frequency,
        hierarchy=communities.read(connection, count, generation.epoch),
        dimensions=dimensions,
    )
    return generation, snapshot
