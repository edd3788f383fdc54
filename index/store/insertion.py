"""The new documents of a batch, written table by table.

A statement for each row of each table in turn costs several times as much: whatever may write more
than one row sets a savepoint of its own, and at every savepoint the full-text index writes out
what it has gathered until then. So that table comes last, in one go.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import orjson

from index.analysis.scripts import spread
from index.store.forms import Form, FormCounts
from index.store.rows import int32_blobs
from index.types import Analysis, Document, Millis, Position, to_millis
from index.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Insertion:
    """A document to be written, under its number and that of its first chunk."""

    document: Document
    analysis: Analysis
    position: Position
    number: int
    first_slot: int


@dataclass(frozen=True, slots=True)
class Inserted:
    """A document that was written: its times, and the concepts that it names as int32 bytes.

    Those of its ``title``, of each of its ``chunks``, and of all chunks; sorted and distinct.
    """

    event_at: Millis
    observed_at: Millis
    title: bytes
    chunks: list[bytes]
    concepts: bytes


@dataclass(frozen=True, slots=True)
class _Named:
    """What a document names by number: in its title, and in each chunk in what form."""

    title: list[int]
    chunks: list[list[Form]]


def insert(
    connection: sqlite3.Connection,
    insertions: Sequence[Insertion],
    generation: int,
    vocabulary: Vocabulary,
    forms: FormCounts,
) -> list[Inserted]:
    """Write documents with their chunks, new concepts and forms; their ids must not be alive."""
    first_new = len(vocabulary)
    named = [_named(one.analysis, vocabulary) for one in insertions]
    connection.executemany(
        "INSERT INTO concepts VALUES (?, ?, ?)",
        [
            (number, vocabulary.key(number), vocabulary.kind(number).value)
            for number in range(first_new, len(vocabulary))
        ],
    )
    chunks = [pairs for one in named for pairs in one.chunks]
    numbers = forms.use(Counter(chain.from_iterable(chunks)), first_new)
    used = int32_blobs([[numbers[pair] for pair in pairs] for pairs in chunks])
    inserted = list(_inserted(insertions, named))
    _write(connection, insertions, inserted, used, generation)
    return inserted


def _named(analysis: Analysis, vocabulary: Vocabulary) -> _Named:
    number = vocabulary.take_in
    title = sorted([number(mention) for mention in analysis.title_mentions])
    chunks = [
        sorted([(number(mention), mention.form) for mention in chunk.mentions])
        for chunk in analysis.chunks
    ]
    return _Named(title, chunks)


def _inserted(insertions: Sequence[Insertion], named: Sequence[_Named]) -> Iterator[Inserted]:
    rows = [[concept for concept, _ in pairs] for one in named for pairs in one.chunks]
    of_chunks = iter(int32_blobs(rows))
    titles = int32_blobs([one.title for one in named])
    unions = [sorted({concept for pairs in one.chunks for concept, _ in pairs}) for one in named]
    for insertion, title, union in zip(insertions, titles, int32_blobs(unions), strict=True):
        document = insertion.document
        yield Inserted(
            event_at=to_millis(document.event_at),
            observed_at=to_millis(document.observed_at),
            title=title,
            chunks=[next(of_chunks) for _ in insertion.analysis.chunks],
            concepts=union,
        )


def _write(
    connection: sqlite3.Connection,
    insertions: Sequence[Insertion],
    inserted: Sequence[Inserted],
    forms: Sequence[bytes],
    generation: int,
) -> None:
    document_rows, chunk_rows, facet_rows, text_rows = [], [], [], []
    form = iter(forms)
    for one, names in zip(insertions, inserted, strict=True):
        document = one.document
        document_rows.append(_document_row(one, names, generation))
        title, slot = spread(document.title), one.first_slot
        for ordinal, (chunk, concepts) in enumerate(
            zip(one.analysis.chunks, names.chunks, strict=True)
        ):
            at = (slot, one.number, ordinal, chunk.start, chunk.end)
            chunk_rows.append((*at, concepts, next(form), chunk.vector))
            text_rows.append((slot, title, spread(document.text[chunk.start : chunk.end])))
            facet_rows += [
                (slot, f.kind.value, f.low, f.high, f.unit, f.start, f.end) for f in chunk.facets
            ]
            slot += 1
    marks = ", ".join("?" * 18)
    connection.executemany(f"INSERT INTO documents VALUES ({marks})", document_rows)
    connection.executemany("INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?)", chunk_rows)
    connection.executemany("INSERT INTO facets VALUES (?, ?, ?, ?, ?, ?, ?)", facet_rows)
    connection.executemany("INSERT INTO full_text (rowid, title, text) VALUES (?, ?, ?)", text_rows)


def _document_row(one: Insertion, names: Inserted, generation: int) -> tuple[object, ...]:
    document = one.document
    return (
        one.number,
        document.id,
        document.content_hash(),
        document.version,
        one.position.topic,
        one.position.partition,
        document.title,
        document.text,
        document.source,
        document.url,
        one.analysis.lang,
        None if document.published_at is None else to_millis(document.published_at),
        names.observed_at,
        names.event_at,
        orjson.dumps(dict(document.metadata), option=orjson.OPT_SORT_KEYS).decode(),
        ",".join(sorted(document.derived)),
        names.title,
        generation,
    )
