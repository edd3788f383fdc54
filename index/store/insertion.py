"""The new documents of a batch, written table by table.

A statement for each row of each table in turn costs several times as much: whatever may write more
than one row sets a savepoint of its own, and at every savepoint the full-text index writes out
what it has gathered until then. So that table comes last, in one go.
"""

import sqlite3
from collections import Counter
from collections.abc import Sequence
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
class Named:
    """What a document names, as int32 bytes of concept numbers, sorted and distinct.

    In its ``title``, in each of its ``chunks``, and ``concepts`` in all chunks. ``forms``: the
    concepts of each chunk again, with how they are written there. Beside it the document's times.
    """

    event_at: Millis
    observed_at: Millis
    title: bytes
    chunks: list[bytes]
    concepts: bytes
    forms: list[list[Form]]


def name(insertions: Sequence[Insertion], vocabulary: Vocabulary) -> list[Named]:
    """Give the concepts of documents their numbers; new ones are added to the vocabulary."""
    number = vocabulary.take_in
    titles, forms = [], []
    for one in insertions:
        titles.append(sorted([number(mention) for mention in one.analysis.title_mentions]))
        forms.append(
            [
                sorted([(number(mention), mention.form) for mention in chunk.mentions])
                for chunk in one.analysis.chunks
            ]
        )
    chunks = iter(int32_blobs([[c for c, _ in pairs] for chunks in forms for pairs in chunks]))
    unions = [sorted({c for pairs in chunks for c, _ in pairs}) for chunks in forms]
    return [
        Named(
            event_at=to_millis(one.document.event_at),
            observed_at=to_millis(one.document.observed_at),
            title=title,
            chunks=[next(chunks) for _ in used],
            concepts=union,
            forms=used,
        )
        for one, title, union, used in zip(
            insertions, int32_blobs(titles), int32_blobs(unions), forms, strict=True
        )
    ]


def write_concepts(connection: sqlite3.Connection, vocabulary: Vocabulary, first: int) -> None:
    """Write the concepts of a vocabulary from a number on."""
    connection.executemany(
        "INSERT INTO concepts VALUES (?, ?, ?)",
        [
            (number, vocabulary.key(number), vocabulary.kind(number).value)
            for number in range(first, len(vocabulary))
        ],
    )


def insert(
    connection: sqlite3.Connection,
    insertions: Sequence[Insertion],
    named: Sequence[Named],
    generation: int,
    forms: FormCounts,
    first_new: int,
) -> None:
    """Write documents with their chunks; their ids must not be alive.

    ``named``: what ``name`` gave for them, new concepts from ``first_new`` on.
    """
    uses = Counter(chain.from_iterable(chain.from_iterable(one.forms for one in named)))
    numbers = forms.use(uses, first_new)
    used = int32_blobs([[numbers[form] for form in row] for one in named for row in one.forms])
    _write(connection, insertions, named, used, generation)


def _write(
    connection: sqlite3.Connection,
    insertions: Sequence[Insertion],
    named: Sequence[Named],
    forms: Sequence[bytes],
    generation: int,
) -> None:
    document_rows, chunk_rows, facet_rows, text_rows = [], [], [], []
    form = iter(forms)
    for one, names in zip(insertions, named, strict=True):
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


def _document_row(one: Insertion, names: Named, generation: int) -> tuple[object, ...]:
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
