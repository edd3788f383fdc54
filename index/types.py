"""The shared types: what flows from a record to a generation.

All are frozen and slotted. Times are timezone-aware UTC datetimes at the edges and integer
milliseconds since 1970 (``Millis``) inside. Intervals are half open: start included, end not.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import blake2b
from typing import NewType

import numpy as np
import orjson
from numpy.typing import NDArray

DocumentId = NewType("DocumentId", str)
ConceptKey = NewType("ConceptKey", str)
Millis = NewType("Millis", int)
ChunkSlot = NewType("ChunkSlot", int)
"""Row number of a chunk in the store and in snapshots; given once, never reused."""
ConceptNumber = NewType("ConceptNumber", int)
"""Row number of a concept in one store; comparisons between stores go by key."""
CommunityId = NewType("CommunityId", int)
"""Lasting id of a community; never reused. 0 is the root, the whole corpus (level -1)."""
GenerationId = NewType("GenerationId", int)

Int32Array = NDArray[np.int32]
Int64Array = NDArray[np.int64]
Float32Array = NDArray[np.float32]
Float64Array = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

Scalar = str | int | float | bool | None
"""A value of a document's metadata."""


class Reason(StrEnum):
    """Why a record was rejected; the closed list that metrics and dead letters use."""

    NOT_JSON = "not_json"
    NOT_UTF8 = "not_utf8"
    NOT_AN_OBJECT = "not_an_object"
    NO_ID = "no_id"
    BAD_ID = "bad_id"
    BAD_FIELD = "bad_field"
    BAD_TIME = "bad_time"
    BAD_OP = "bad_op"
    BAD_VERSION = "bad_version"
    BAD_ENVELOPE = "bad_envelope"
    EMPTY_TEXT = "empty_text"
    TOO_LARGE = "too_large"
    KEY_MISMATCH = "key_mismatch"
    INCOMPLETE = "incomplete"
    UNREADABLE = "unreadable"
    VERSION_CONFLICT = "version_conflict"
    WRONG_PARTITION = "wrong_partition"
    ANALYSIS_FAILED = "analysis_failed"


@dataclass(frozen=True, slots=True)
class Position:
    """Where a record stands: ``offset`` is the record's own, not the next one's."""

    topic: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class Record:
    """One message of a topic as it arrived, bytes untouched."""

    position: Position
    key: bytes | None
    value: bytes | None
    timestamp: Millis
    headers: tuple[tuple[str, bytes], ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A document as its message told it, times made whole.

    ``derived`` names the fields that the message lacked and that were derived (``observed_at``
    from the record's time, ``lang`` from the text). ``lang`` is "" until it is detected.
    """

    id: DocumentId
    title: str
    text: str
    source: str
    url: str
    lang: str
    published_at: datetime | None
    observed_at: datetime
    version: int | None = None
    metadata: Mapping[str, Scalar] = field(default_factory=dict)
    derived: frozenset[str] = frozenset()

    @property
    def event_at(self) -> datetime:
        """Event time: the earlier of published and observed, so that no date lies ahead."""
        if self.published_at is None:
            return self.observed_at
        return min(self.published_at, self.observed_at)

    def content_hash(self) -> bytes:
        """Sixteen bytes over all that makes two revisions differ; not the time of arrival."""
        body = [
            self.title,
            self.text,
            self.source,
            self.url,
            "" if "lang" in self.derived else self.lang,
            None if self.published_at is None else to_millis(self.published_at),
            dict(self.metadata),
        ]
        return blake2b(orjson.dumps(body, option=orjson.OPT_SORT_KEYS), digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class Upsert:
    """A document that is new or replaces its former revision whole."""

    document: Document


@dataclass(frozen=True, slots=True)
class Deletion:
    """A document withdrawn; leaves a tombstone (id, version)."""

    id: DocumentId
    version: int | None
    observed_at: datetime


@dataclass(frozen=True, slots=True)
class Rejected:
    """A record that cannot be applied: a value, not an exception. ``detail`` is for people."""

    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True)
class Arrival:
    """A record with what it decoded to; a batch of them, in order, makes a generation."""

    record: Record
    content: Upsert | Deletion | Rejected


class ConceptKind(StrEnum):
    """The type of a concept, by rules."""

    PERSON = "person"
    PLACE = "place"
    ORGANISATION = "organisation"
    IDENTIFIER = "identifier"
    OTHER = "other"


class FacetKind(StrEnum):
    """The type of a value read from a text."""

    MONEY = "money"
    COUNT = "count"
    PERCENT = "percent"
    DATE = "date"


@dataclass(frozen=True, slots=True)
class Facet:
    """A value in a chunk: ``low <= value <= high`` (equal unless the text gives a range).

    ``unit`` is an ISO 4217 code for money where known, "" for a bare count, "%" for a
    percentage, and for a date "" with low and high in milliseconds since 1970: its first and last
    moment. ``start`` and ``end`` are character offsets into the document's text.
    """

    kind: FacetKind
    low: float
    high: float
    unit: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Mention:
    """A concept in a chunk, once however often it is named there; ``form`` as written."""

    key: ConceptKey
    form: str
    kind: ConceptKind


@dataclass(frozen=True, slots=True)
class AnalyzedChunk:
    """A chunk: ``text[start:end]`` of its document, with what was found in it.

    ``mentions`` are sorted by key, keys distinct. ``vector`` is float16 bytes, unit length.
    ``words`` counts white-space separated words.
    """

    start: int
    end: int
    words: int
    mentions: tuple[Mention, ...]
    facets: tuple[Facet, ...]
    vector: bytes


@dataclass(frozen=True, slots=True)
class Analysis:
    """What a document's text gives: a pure function of (document, analyzer fingerprint).

    ``title_mentions`` tie the document's chunks in the walk and in look-ups by name; they count
    in no frequency and no co-occurrence.
    """

    document_id: DocumentId
    lang: str
    chunks: tuple[AnalyzedChunk, ...]
    title_mentions: tuple[Mention, ...]


@dataclass(frozen=True, slots=True)
class Delta:
    """A signed change of the exact counts, aggregated, zeroes left out.

    ``concepts`` (int32, sorted, distinct) change their chunk frequency f by ``df`` (int32).
    ``u < v`` (int32, sorted by (u, v), distinct pairs) change their co-occurrence w by ``dw``.
    F changes by the sum of df and W by the sum of dw.
    """

    concepts: Int32Array
    df: Int32Array
    u: Int32Array
    v: Int32Array
    dw: Int32Array


def to_millis(moment: datetime) -> Millis:
    """Milliseconds since 1970 of an aware datetime."""
    return Millis(round(moment.timestamp() * 1000))


def from_millis(millis: int) -> datetime:
    """Aware UTC datetime of milliseconds since 1970."""
    return datetime.fromtimestamp(millis / 1000, UTC)
