"""The records of an ``analyses`` topic: what extraction made of a stretch of a source partition.

A record's value is, in this order:

- four bytes: ``TGA`` and the version of this form, one byte, now 1;
- four bytes: the length of the head, an unsigned integer, most significant byte first;
- the head, a JSON object: ``topic``, ``partition``, ``since``, ``until`` (the stretch of source
  offsets, the end not in it), ``analyzer`` (the fingerprint, as its own JSON), ``record`` (null
  where the stretch holds none, else ``timestamp``, the lengths of ``key`` and ``value``, null for
  what is null, and the names and lengths of the ``headers``), ``rejected`` (null, or reason and
  detail), ``analysis`` (null, or the length of the analysis);
- the bytes of the source record's key, value and headers, as they came;
- the analysis, a JSON array: document id, language, mentions in the title, and of each chunk
  start, end, words, mentions, facets and the length of its vector. A mention is key, form ("" where
  it is the key) and the number of its kind; a facet is the number of its kind, low, high, unit,
  start and end;
- the vectors of the chunks, float16, one after the other.

So who only looks for a position reads the head alone. Numbers of kinds are their places in
``KINDS`` and ``FACETS``; a new kind goes to the end. A form that is read differently has another
version, and a reader refuses those that it does not know.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import orjson

from index.types import (
    Analysis,
    AnalyzedChunk,
    ConceptKind,
    DocumentId,
    Facet,
    FacetKind,
    Mention,
    Millis,
    Position,
    Reason,
    Record,
    Rejected,
)
from stream.source import Partition

MAGIC = b"TGA\x01"
KINDS = tuple(ConceptKind)
FACETS = tuple(FacetKind)
_KIND_OF = dict(enumerate(KINDS))
_PREFIX = struct.Struct(">4sI")
_FLOAT16 = 2
_EXPONENT = 0x7C00  # all of its bits are set in what is infinite or no number
_LARGEST = 2**31

T = TypeVar("T")


class MalformedError(ValueError):
    """Bytes that are no record of analyses."""


class UnknownVersionError(MalformedError):
    """A record of analyses in a form that another release writes."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """What extraction made of ``[since, until)``, a stretch of offsets of a source partition.

    ``record`` is the last one of the stretch, at ``until - 1``; the offsets before it hold none.
    None where the whole stretch holds none. ``analyzer`` is the fingerprint that analysed.
    ``analysis`` is None where the record holds no document, or where it was left out: then whoever
    reads must analyse.
    """

    topic: str
    partition: int
    since: int
    until: int
    analyzer: str
    record: Record | None = None
    analysis: Analysis | Rejected | None = None


def encode(extracted: Extracted) -> bytes:
    """The value of a record of analyses."""
    record, analysis = extracted.record, extracted.analysis
    body = b"" if not isinstance(analysis, Analysis) else orjson.dumps(_analysis(analysis))
    parts = [] if record is None else [record.key or b"", record.value or b""]
    parts += [] if record is None else [value for _, value in record.headers]
    parts.append(body)
    if isinstance(analysis, Analysis):
        parts += [chunk.vector for chunk in analysis.chunks]
    rejected = [analysis.reason, analysis.detail] if isinstance(analysis, Rejected) else None
    head = orjson.dumps(
        {
            "topic": extracted.topic,
            "partition": extracted.partition,
            "since": extracted.since,
            "until": extracted.until,
            "analyzer": extracted.analyzer,
            "record": None if record is None else _lengths(record),
            "rejected": rejected,
            "analysis": len(body) if body else None,
        }
    )
    return b"".join([_PREFIX.pack(MAGIC, len(head)), head, *parts])


class Opened:
    """A record of analyses whose head was read; the rest is read when it is asked for."""

    def __init__(self, value: bytes | None, at: Partition) -> None:
        """Read the head of a record that stands for a partition of the source.

        Raises:
            MalformedError: if it is none, or stands for another partition.
            UnknownVersionError: if its form is not known here.
        """
        self._value = value or b""
        head, self._at = _head(self._value)
        try:
            self.topic = _is(head["topic"], str)
            self.partition = _count(head["partition"])
            self.since = _is(head["since"], int)
            self.until = _is(head["until"], int)
            self.analyzer = _is(head["analyzer"], str)
            self._record = head["record"]
            self._rejected = head["rejected"]
            self._length = head["analysis"]
        except (KeyError, TypeError, ValueError) as error:
            raise MalformedError(f"its head is not complete: {error!r}") from None
        if (self.topic, self.partition) != at:
            raise MalformedError(f"it stands for {self.topic}/{self.partition}")
        if not 0 <= self.since < self.until < 2**63:
            raise MalformedError(f"its stretch is {self.since} to {self.until}")

    def extracted(self, dimensions: int) -> Extracted:
        """All of it; an analysis that cannot be read is a rejection that says so.

        Args:
            dimensions: of the vectors.

        Raises:
            MalformedError: if the source record cannot be read.
        """
        record, at = self._source_record()
        analysis: Analysis | Rejected | None
        try:
            analysis = self._result(at, dimensions)
        except (ValueError, TypeError, IndexError, KeyError) as error:
            analysis = Rejected(Reason.ANALYSIS_FAILED, f"the analysis cannot be read: {error}")
        return Extracted(
            self.topic, self.partition, self.since, self.until, self.analyzer, record, analysis
        )

    def _source_record(self) -> tuple[Record | None, int]:
        """The record of the source, and where its bytes end."""
        if self._record is None:
            return None, self._at
        try:
            cut = _Cut(self._value, self._at)
            key, value = cut.take(self._record["key"]), cut.take(self._record["value"])
            headers = []
            for name, length in self._record["headers"]:
                headers.append((_is(name, str), cut.take(_count(length)) or b""))
            timestamp = Millis(_is(self._record["timestamp"], int))
        except (ValueError, TypeError, KeyError) as error:
            raise MalformedError(f"its source record cannot be read: {error!r}") from None
        if not -(2**63) <= timestamp < 2**63:
            raise MalformedError("its source record's time cannot be true")
        at = Position(self.topic, self.partition, self.until - 1)
        return Record(at, key, value, timestamp, tuple(headers)), cut.at

    def _result(self, at: int, dimensions: int) -> Analysis | Rejected | None:
        if self._rejected is not None:
            reason, detail = self._rejected
            return Rejected(Reason(reason), _is(detail, str))
        if self._length is None:
            return None
        cut = _Cut(self._value, at)
        body = orjson.loads(cut.take(_count(self._length)) or b"")
        begin = cut.at
        analysis = _read_analysis(body, cut, dimensions)
        vectors = np.frombuffer(self._value[begin : cut.at], np.uint16)
        if ((vectors & _EXPONENT) == _EXPONENT).any():
            raise ValueError("a vector that is not finite")
        if cut.at != len(self._value):
            raise ValueError("it goes on behind its end")
        return analysis


class _Cut:
    """Cuts one piece after the other from bytes."""

    def __init__(self, value: bytes, at: int) -> None:
        self._value = value
        self.at = at

    def take(self, length: int | None) -> bytes | None:
        """The next piece; None for one that is null."""
        if length is None:
            return None
        end = self.at + _count(length)
        if end > len(self._value):
            raise ValueError("it is cut off")
        piece = self._value[self.at : end]
        self.at = end
        return piece


def _head(value: bytes) -> tuple[dict[str, Any], int]:
    """The head of a value, and where it ends."""
    if len(value) < _PREFIX.size or value[:3] != MAGIC[:3]:
        raise MalformedError("it is no record of analyses")
    magic, length = _PREFIX.unpack_from(value)
    if magic != MAGIC:
        raise UnknownVersionError(f"its form has version {magic[3]}, which is not known here")
    end = _PREFIX.size + length
    try:
        head = orjson.loads(value[_PREFIX.size : end])
    except orjson.JSONDecodeError as error:
        raise MalformedError(f"its head is not JSON: {error}") from None
    if end > len(value) or not isinstance(head, dict):
        raise MalformedError("its head is not complete")
    return head, end


def _lengths(record: Record) -> dict[str, Any]:
    return {
        "timestamp": record.timestamp,
        "key": None if record.key is None else len(record.key),
        "value": None if record.value is None else len(record.value),
        "headers": [[name, len(value)] for name, value in record.headers],
    }


def _analysis(analysis: Analysis) -> list[Any]:
    return [
        analysis.document_id,
        analysis.lang,
        [_mention(one) for one in analysis.title_mentions],
        [
            [
                chunk.start,
                chunk.end,
                chunk.words,
                [_mention(one) for one in chunk.mentions],
                [
                    [FACETS.index(f.kind), f.low, f.high, f.unit, f.start, f.end]
                    for f in chunk.facets
                ],
                len(chunk.vector),
            ]
            for chunk in analysis.chunks
        ],
    ]


def _mention(mention: Mention) -> list[Any]:
    form = "" if mention.form == mention.key else mention.form
    return [mention.key, form, KINDS.index(mention.kind)]


def _read_analysis(body: list[Any], cut: _Cut, dimensions: int) -> Analysis:
    identity, lang, title, chunks = body
    read = tuple(_read_chunk(chunk, cut, dimensions) for chunk in chunks)
    if any(after.end < before.end for before, after in pairwise(read)):
        raise ValueError("its chunks are not in order")
    return Analysis(DocumentId(_is(identity, str)), _is(lang, str), read, _mentions(title))


def _read_chunk(body: list[Any], cut: _Cut, dimensions: int) -> AnalyzedChunk:
    start, end, words, mentions, facets, length = body
    if not 0 <= _count(start) <= _count(end):
        raise ValueError(f"a chunk from {start} to {end}")
    vector = cut.take(length) or b""
    if len(vector) != dimensions * _FLOAT16:
        raise ValueError(f"a vector of {len(vector)} bytes, not {dimensions * _FLOAT16}")
    found = tuple(_facet(one) for one in facets)
    return AnalyzedChunk(start, end, _count(words), _mentions(mentions), found, vector)


def _mentions(body: Sequence[Any]) -> tuple[Mention, ...]:
    # One call for each of some thirty mentions of a document: the dearest part of reading.
    read, before = [], ""
    for key, form, kind in body:
        if type(key) is not str or type(form) is not str or key <= before:
            raise ValueError("mentions that are not texts in order")
        read.append(Mention(key, form or key, _KIND_OF[kind]))  # type: ignore[arg-type]
        before = key
    return tuple(read)


def _facet(body: Sequence[Any]) -> Facet:
    kind, low, high, unit, start, end = body
    if type(low) is not float or type(high) is not float or not low <= high:
        raise ValueError(f"a value from {low!r} to {high!r}")
    return Facet(FACETS[_count(kind)], low, high, _is(unit, str), _count(start), _count(end))


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < _LARGEST:
        raise ValueError(f"{value!r} is no count")
    return value


def _is(value: Any, kind: type[T]) -> T:
    if type(value) is not kind:
        raise ValueError(f"{value!r} is no {kind.__name__}")
    return value
