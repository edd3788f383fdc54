"""A pinned view: one snapshot and the stored texts of the same moment.

Whoever answers a question takes a view from a ``SnapshotSource``, uses nothing else, and closes
it. Text, full-text search and snapshot are of one generation.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from index.change_log import ChangeColumns, ChangesAsked
from index.snapshot import Snapshot
from index.types import BoolArray, Facet, Float32Array, Int32Array, Int64Array, Millis, Scalar


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document as it stands in the store. ``number`` is its row number there."""

    number: int
    id: str
    title: str
    text: str
    source: str
    url: str
    lang: str
    published_at: Millis | None
    observed_at: Millis
    event_at: Millis
    version: int | None
    metadata: Mapping[str, Scalar]
    derived: frozenset[str]
    generation: int


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk: ``text`` is ``document.text[start:end]``; ``id`` 32 hexadecimal digits."""

    slot: int
    id: str
    document: int
    ordinal: int
    start: int
    end: int
    text: str


class ChangeKind:
    """What a document's arrival did; the closed list of ``DocumentChange.kind``."""

    INSERT = "insert"
    EDIT = "edit"
    DELETE = "delete"
    EXPIRY = "expiry"


@dataclass(frozen=True, slots=True)
class DocumentChange:
    """One document inserted, edited, withdrawn or expired; no text is kept of it.

    ``concepts`` are those of its chunks (of the former revision where it is gone).
    """

    generation: int
    document_id: str
    kind: str
    observed_at: Millis
    event_at: Millis
    source: str
    concepts: Int32Array


@dataclass(frozen=True, slots=True)
class LineageRow:
    """One event: birth, death, split (``community`` came out of ``related``), merge (into it)...

    Growth: at least twice as large as last told; decline: at most half as large.

    ``shared`` counts concepts in common; for all but a split or a merge those of the community.
    """

    generation: int
    kind: str
    community: int
    related: int
    shared: int


@dataclass(frozen=True, slots=True)
class CommunityLineage:
    """A community's line of descent. ``size``: concepts now, or when last counted before it died.

    ``born`` and ``died`` are generations, ``died`` None while it lives. ``came_from``: the
    communities that it was split from, nearest first; ``became``: those that it went into.
    ``events``: those that name it, newest first; ``more``: there are older ones.
    """

    id: int
    level: int
    parent: int
    size: int
    born: int
    died: int | None
    came_from: tuple[int, ...]
    became: tuple[int, ...]
    events: tuple[LineageRow, ...]
    more: bool


class View(Protocol):
    """What a query reads. All results are of ``snapshot.generation``.

    Documents that are due to expire are left out as if they were no more.

    Raises ``SnapshotRetiredError`` from any method once it was held longer than its limit.
    """

    snapshot: Snapshot

    def chunks(self, slots: Sequence[int]) -> list[StoredChunk]:
        """Chunks with their text, in the order asked for; every slot must be alive."""

    def documents(self, numbers: Sequence[int]) -> dict[int, StoredDocument]:
        """Documents by number; numbers of documents that are no more are left out."""

    def document(self, document_id: str) -> StoredDocument | None:
        """A document by its id."""

    def documents_named(self, ids: Sequence[str]) -> dict[str, StoredDocument]:
        """Documents by id; ids of documents that are no more are left out."""

    def document_chunks(self, number: int) -> list[StoredChunk]:
        """All chunks of a document, by ordinal."""

    def list_documents(
        self, *, before: int | None, limit: int, source: str | None = None
    ) -> list[StoredDocument]:
        """Newest first by number, those below ``before``; for listings with a cursor."""

    def full_text(self, words: Sequence[str], limit: int) -> tuple[Int64Array, Float32Array]:
        """Slots and BM25 scores (larger is better), best first, of chunks with any of the words.

        Words are plain text, never query syntax; one with spaces is a phrase. Title and text are
        both searched, the title's matches count for more. ``limit`` 0 means all; with a limit,
        words that a great part of all chunks hold may be left out where there are rarer ones.
        """

    def with_metadata(self, where: Mapping[str, Scalar]) -> Int64Array:
        """Numbers of the documents whose metadata has all these values (sorted)."""

    def facets(self, slots: Sequence[int]) -> dict[int, list[Facet]]:
        """Facets by slot; offsets are into the document's text."""

    def with_facet(self, kind: str, low: float, high: float, unit: str | None) -> Int64Array:
        """Slots (sorted) with a facet of that kind that meets ``[low, high]``."""

    def displays(self, concepts: Sequence[int]) -> dict[int, str]:
        """The most frequent surface form of each concept; its key where it has none."""

    def changes(self, since: Millis, until: Millis | None = None) -> Iterator[DocumentChange]:
        """Changes observed in ``[since, until)``, oldest first."""

    def change_columns(self, asked: ChangesAsked) -> ChangeColumns:
        """All changes that are asked for (and perhaps others), as they were committed.

        Cheap for the newest ones: shared by all views of a store and read on as generations come.
        Older ones are read for this view alone, and by one view at a time.
        """

    def change_parts(self, asked: ChangesAsked) -> Iterator[ChangeColumns]:
        """The same in parts, each with codes of its own, so that few are in memory at a time."""

    def was_deleted(self, document_id: str) -> bool:
        """Whether a tombstone stands for the id: withdrawn, or expired."""

    def has_expired(self, document_id: str) -> bool:
        """Whether it was the window that took the document, or is due to."""

    def lineage(self, community: int, limit: int) -> CommunityLineage | None:
        """What became of a community, dead or alive; None where no such id was ever given."""

    def checksum(self, generation: int) -> str | None:
        """Checksum of a generation's row in hexadecimal; None where it is not kept, "" for 0."""


class SnapshotSource(Protocol):
    """Where views come from: the writer in its own process, a follower in another."""

    def pin(self) -> AbstractContextManager[View]:
        """Pin the newest generation for at most the store's limit (120 s)."""

    def latest(self) -> Snapshot:
        """The newest snapshot without a read transaction; for status and metrics."""


def mask_rows(snapshot: Snapshot, documents: BoolArray) -> BoolArray:
    """bool[rows]: the chunk rows shown of the document rows that a mask allows."""
    return snapshot.shown & documents[snapshot.chunk_document]
