"""A plain analysis for tests: a chunk for each line, a concept for each word, no model."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from index.analysis.fingerprint import Fingerprint
from index.report import GenerationReport
from index.types import (
    Analysis,
    AnalyzedChunk,
    Arrival,
    ConceptKey,
    ConceptKind,
    Deletion,
    Document,
    DocumentId,
    Mention,
    Millis,
    Position,
    Record,
    Rejected,
    Upsert,
)
from index.writer import Writer

FINGERPRINT = Fingerprint("simple", "1", "lines", 1, "hash", 8)
START = datetime(2026, 11, 2, tzinfo=UTC)


def document(key: str, text: str, *, version: int | None = None, **more) -> Document:
    """A document observed a minute after START for each letter of its id."""
    values = {
        "title": key.upper(),
        "source": "wire",
        "url": "",
        "lang": "en",
        "published_at": START,
        "observed_at": START + timedelta(minutes=len(key)),
    } | more
    return Document(id=DocumentId(key), text=text, version=version, **values)


def analysis(of: Document) -> Analysis:
    """Lines are chunks, words are concepts, vectors depend on the text alone."""
    chunks, at = [], 0
    for line in of.text.split("\n"):
        words = sorted(set(line.lower().split()))
        mentions = tuple(Mention(ConceptKey(w), w, ConceptKind.OTHER) for w in words)
        seed = np.frombuffer(line.encode()[:32].ljust(32, b"x"), np.uint32).astype(np.float64)
        vector = (seed / np.linalg.norm(seed)).astype(np.float16)
        chunks.append(AnalyzedChunk(at, at + len(line), len(words), mentions, (), vector.tobytes()))
        at += len(line) + 1
    title = Mention(ConceptKey(of.title.lower()), of.title, ConceptKind.OTHER)
    return Analysis(of.id, of.lang, tuple(chunks), (title,))


class Feed:
    """Numbers arrivals of one partition, like a source would."""

    def __init__(self, topic: str = "news", partition: int = 0, first: int = 0) -> None:
        self._topic, self._partition, self.next = topic, partition, first

    def _arrival(self, content, value: bytes | None = b"{}") -> Arrival:
        position = Position(self._topic, self._partition, self.next)
        self.next += 1
        return Arrival(Record(position, b"k", value, Millis(0)), content)

    def upsert(self, key: str, text: str, **more) -> Arrival:
        return self._arrival(Upsert(document(key, text, **more)))

    def delete(self, key: str, version: int | None = None) -> Arrival:
        return self._arrival(Deletion(DocumentId(key), version, START + timedelta(hours=1)), None)

    def reject(self, why: Rejected, value: bytes = b"broken") -> Arrival:
        return self._arrival(why, value)


def open_writer(directory: Path) -> Writer:
    return Writer.open(directory, fingerprint=FINGERPRINT)


def commit(writer: Writer, arrivals: Sequence[Arrival]) -> GenerationReport:
    """Plan, analyse and commit a batch."""
    plan = writer.plan(arrivals)
    return writer.commit(plan, {d.id: analysis(d) for d in plan.documents})
