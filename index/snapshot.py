"""A frozen snapshot: all that search needs in memory, of one generation.

A snapshot is never changed. ``Snapshot.following`` makes the next one from a ``Change`` and
shares every segment that the change does not touch. The arrays over all rows (``slots``,
``chunk_concepts`` and so on) are put together at first use, once a snapshot.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_matrix

from index.communities.hierarchy import Hierarchy
from index.segment import Segment, joined_offsets, merge_small
from index.types import BoolArray, Float32Array, Int32Array, Int64Array, Millis
from index.vocabulary import Vocabulary

_NEVER = Millis(0)


@dataclass(frozen=True, slots=True)
class Labels:
    """Names behind the codes of ``source`` and ``lang``, by code; append-only, shared."""

    sources: Sequence[str]
    langs: Sequence[str]


@dataclass(frozen=True, slots=True)
class Totals:
    """The sums of one generation, as ``status`` shows them.

    ``frequency_sum`` is F, ``weight_sum`` is W, ``edges`` the distinct pairs with w > 0;
    ``modularity`` by level from C0: C0 as it is, the levels below as of the last full run.
    ``due`` counts those of ``documents`` that wait to expire; ``expired`` and ``late`` all
    documents since the store began that left the window, and that arrived behind it.
    """

    documents: int = 0
    chunks: int = 0
    concepts: int = 0
    edges: int = 0
    frequency_sum: int = 0
    weight_sum: int = 0
    modularity: tuple[float, ...] = ()
    due: int = 0
    expired: int = 0
    late: int = 0


@dataclass(frozen=True, slots=True)
class Head:
    """What a generation says of itself. ``positions``: next offset by (topic, partition).

    ``watermark`` is the largest event time so far. Documents with an event time before
    ``horizon``, the watermark less the window, are hidden until they are taken out; None without
    a window.
    """

    generation: int = 0
    committed_at: Millis = _NEVER
    watermark: Millis = _NEVER
    newest_arrival: Millis = _NEVER
    positions: Mapping[tuple[str, int], int] = field(default_factory=dict)
    totals: Totals = field(default_factory=Totals)
    horizon: Millis | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """What one generation does to a snapshot. ``retracted`` are slots, sorted.

    ``frequency_of`` and ``frequency`` give the concepts whose chunk frequency f changed and its
    new value; ``hierarchy`` is None where membership did not change.
    """

    head: Head
    added: Segment | None
    retracted: Int64Array
    concept_count: int
    frequency_of: Int32Array
    frequency: Int32Array
    hierarchy: Hierarchy | None = None


@dataclass(frozen=True)
class Snapshot:
    """Everything of one generation that is searched in memory.

    Two row spaces: chunk rows 0..rows and document rows 0..document_rows, both over all segments
    in order, dead ones included; ``alive`` tells. Slots and document numbers are the lasting
    names, rows are not: they hold within one snapshot.
    """

    head: Head
    segments: tuple[Segment, ...]
    segments_alive: tuple[BoolArray, ...]
    vocabulary: Vocabulary
    labels: Labels
    concept_count: int
    frequency: Int32Array
    hierarchy: Hierarchy
    dimensions: int

    @classmethod
    def empty(cls, vocabulary: Vocabulary, labels: Labels, dimensions: int) -> "Snapshot":
        """The snapshot of a store without a generation."""
        return cls(
            head=Head(),
            segments=(),
            segments_alive=(),
            vocabulary=vocabulary,
            labels=labels,
            concept_count=0,
            frequency=np.zeros(0, np.int32),
            hierarchy=Hierarchy.empty(0),
            dimensions=dimensions,
        )

    def following(self, change: Change) -> "Snapshot":
        """The next snapshot; this one stays as it is."""
        segments, alive = self.segments, self._without(change.retracted)
        if change.added is not None and change.added.rows:
            segments = (*segments, change.added)
            alive = (*alive, np.ones(change.added.rows, np.bool_))
        segments, alive = merge_small(segments, alive)
        frequency = np.zeros(change.concept_count, np.int32)
        frequency[: len(self.frequency)] = self.frequency
        frequency[change.frequency_of] = change.frequency
        hierarchy = self.hierarchy if change.hierarchy is None else change.hierarchy
        return replace(
            self,
            head=change.head,
            segments=segments,
            segments_alive=alive,
            concept_count=change.concept_count,
            frequency=frequency,
            hierarchy=hierarchy.extended(change.concept_count),
        )

    def _without(self, retracted: Int64Array) -> tuple[BoolArray, ...]:
        """The bitmaps with some slots dead; only those that change are copied."""
        result = []
        for segment, alive in zip(self.segments, self.segments_alive, strict=True):
            rows = segment.rows_of(retracted)
            if len(rows):
                alive = alive.copy()  # noqa: PLW2901  the loop's own name is the clearest
                alive[rows] = False
            result.append(alive)
        return tuple(result)

    @property
    def generation(self) -> int:
        """The generation that this snapshot stands for."""
        return self.head.generation

    @cached_property
    def rows(self) -> int:
        """Chunk rows, the dead included."""
        return sum(segment.rows for segment in self.segments)

    @cached_property
    def alive(self) -> BoolArray:
        """bool[rows]: which chunk rows are part of this generation."""
        return _joined(self.segments_alive, np.bool_)

    @cached_property
    def shown(self) -> BoolArray:
        """bool[rows]: the living chunk rows but for those that are due to expire.

        The counts hold what is ``alive``; what is read, listed or searched must be shown.
        """
        if self.head.horizon is None or not self.head.totals.due:
            return self.alive
        shown: BoolArray = self.alive & (self.event_at >= self.head.horizon)[self.chunk_document]
        return shown

    @cached_property
    def slots(self) -> Int64Array:
        """int64[rows]: the lasting slot of each chunk row, ascending."""
        return _joined([s.slots for s in self.segments], np.int64)

    @cached_property
    def chunk_document(self) -> Int32Array:
        """int32[rows]: the document row of each chunk row."""
        parts, shift = [], 0
        for segment in self.segments:
            parts.append(segment.chunk_document + np.int32(shift))
            shift += len(segment.documents)
        return _joined(parts, np.int32)

    @cached_property
    def documents(self) -> Int64Array:
        """int64[document_rows]: the number in the store of each document row."""
        return _joined([s.documents for s in self.segments], np.int64)

    @cached_property
    def event_at(self) -> Int64Array:
        """int64[document_rows]: event time in milliseconds."""
        return _joined([s.event_at for s in self.segments], np.int64)

    @cached_property
    def observed_at(self) -> Int64Array:
        """int64[document_rows]: time of arrival in milliseconds."""
        return _joined([s.observed_at for s in self.segments], np.int64)

    @cached_property
    def source(self) -> Int32Array:
        """int32[document_rows]: code of the source, an index into ``labels.sources``."""
        return _joined([s.source for s in self.segments], np.int32)

    @cached_property
    def lang(self) -> Int32Array:
        """int32[document_rows]: code of the language, an index into ``labels.langs``."""
        return _joined([s.lang for s in self.segments], np.int32)

    @cached_property
    def chunk_concepts(self) -> csr_matrix:
        """bool-like float32[rows, concept_count]: which concepts a chunk names (dead rows too)."""
        return self._matrix(
            [s.concept_offsets for s in self.segments], [s.concepts for s in self.segments]
        )

    @cached_property
    def concept_chunks(self) -> csr_matrix:
        """float32[concept_count, rows], the transpose: the postings of each concept."""
        return self.chunk_concepts.T.tocsr()

    @cached_property
    def title_concepts(self) -> csr_matrix:
        """float32[document_rows, concept_count]: which concepts a document's title names."""
        return self._matrix(
            [s.title_offsets for s in self.segments], [s.title_concepts for s in self.segments]
        )

    @cached_property
    def concept_titles(self) -> csr_matrix:
        """float32[concept_count, document_rows], the transpose."""
        return self.title_concepts.T.tocsr()

    def _matrix(self, offsets: Sequence[Int64Array], columns: Sequence[Int32Array]) -> csr_matrix:
        indptr = joined_offsets(offsets)
        indices = _joined(columns, np.int32)
        ones = np.ones(len(indices), np.float32)
        return csr_matrix((ones, indices, indptr), shape=(len(indptr) - 1, self.concept_count))

    def similarity(self, vector: Float32Array) -> Float32Array:
        """float32[rows]: cosine of each chunk row (dead rows too) to a unit vector float32[d]."""
        if not self.segments:
            return np.zeros(0, np.float32)
        return np.concatenate([segment.vectors @ vector for segment in self.segments])

    def rows_of(self, slots: Int64Array) -> Int64Array:
        """Chunk rows of slots; -1 where this snapshot does not hold a slot alive."""
        slots = np.asarray(slots, np.int64)
        if not self.rows:
            return np.full(len(slots), -1, np.int64)
        rows = np.minimum(np.searchsorted(self.slots, slots), self.rows - 1)
        return np.where((self.slots[rows] == slots) & self.alive[rows], rows, -1)

    def concept(self, key: str) -> int | None:
        """The number of a key that some living chunk or title of this snapshot may name."""
        number = self.vocabulary.number(key)
        return number if number is not None and number < self.concept_count else None


def _joined(parts: Sequence[np.ndarray], dtype: type) -> np.ndarray:
    return np.concatenate(parts) if parts else np.zeros(0, dtype)
