"""Documents: what arrived, newest first, and one document whole."""

from typing import Annotated, Any

from fastapi import Path, Query

from index.analysis.sentences import sentence_spans
from index.view import StoredDocument, View
from query.service.models import JsonScalar, Model, Moment, when
from query.service.problems import ProblemError
from query.service.reading import TAGGED, ReaderGiven, ServiceGiven
from query.service.routing import Router

router = Router(prefix="/v1/documents", tags=["documents"], responses=TAGGED)

OPENING = 240
"""Characters of a text that a list shows."""
LONGEST_CURSOR = 18
"""Digits that a number of the store can have."""
CURSOR_SCHEMA: dict[str, Any] = {
    "anyOf": [{"type": "string", "pattern": f"^[0-9]{{1,{LONGEST_CURSOR}}}$"}]
}


class DocumentItem(Model):
    """A document in a list; ``opening`` is how its text begins."""

    document_id: str
    title: str
    opening: str
    source: str
    url: str
    lang: str
    published_at: Moment | None
    observed_at: Moment
    event_at: Moment
    generation: int


class DocumentList(Model):
    """Documents, newest first; ``next`` is the cursor of the following page, null at the end."""

    documents: list[DocumentItem]
    next: str | None
    generation: int


class Span(Model):
    """A part of a text, by character offsets; ``end`` is the first character after it."""

    start: int
    end: int


class ChunkItem(Model):
    """A chunk of a document, with its sentences; offsets are into the document's text."""

    chunk_id: str
    ordinal: int
    start: int
    end: int
    sentences: list[Span]


class DocumentWhole(Model):
    """A document with its text and chunks; ``derived`` names fields that its message lacked."""

    document_id: str
    title: str
    text: str
    source: str
    url: str
    lang: str
    published_at: Moment | None
    observed_at: Moment
    event_at: Moment
    version: int | None
    metadata: dict[str, JsonScalar]
    derived: list[str]
    chunks: list[ChunkItem]
    generation: int


@router.get("")
def list_documents(
    reader: ReaderGiven,
    service: ServiceGiven,
    cursor: Annotated[
        str | None,
        Query(description="`next` of the page before", json_schema_extra=CURSOR_SCHEMA),
    ] = None,
    limit: Annotated[int, Query(ge=1, description="How many; bounded by the service")] = 20,
    source: Annotated[str | None, Query(description="Only this source")] = None,
) -> DocumentList:
    """List the documents, those stored last first."""
    before = _number(cursor)
    limit = min(limit, service.limits.page_size)
    with reader.pinned() as view:
        found = view.list_documents(before=before, limit=limit + 1, source=source)
        page = found[:limit]
        following = str(page[-1].number) if len(found) > limit else None
        return DocumentList(
            documents=[_item(document) for document in page],
            next=following,
            generation=view.snapshot.generation,
        )


@router.get("/{document_id:path}")
def get_document(
    reader: ReaderGiven,
    document_id: Annotated[str, Path(description="The id; it may hold slashes")],
) -> DocumentWhole:
    """Give one document whole, with the offsets of its chunks and sentences."""
    with reader.pinned() as view:
        document = view.document(document_id)
        if document is None:
            raise _missing(view, document_id)
        return _whole(view, document)


def _number(cursor: str | None) -> int | None:
    if cursor is None:
        return None
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) <= LONGEST_CURSOR):
        detail = "The cursor is not one that this service gave; leave it out to start again."
        raise ProblemError(422, "bad_cursor", detail)
    return int(cursor)


def _missing(view: View, document_id: str) -> ProblemError:
    if view.has_expired(document_id):
        detail = "The document is older than what the index keeps."
        return ProblemError(404, "document_expired", detail)
    if view.was_deleted(document_id):
        return ProblemError(404, "document_withdrawn", "The document was withdrawn.")
    return ProblemError(404, "unknown_document", "The index holds no document of that id.")


def _item(document: StoredDocument) -> DocumentItem:
    return DocumentItem(
        document_id=document.id,
        title=document.title,
        opening=" ".join(document.text[:OPENING].split()),
        source=document.source,
        url=document.url,
        lang=document.lang,
        published_at=when(document.published_at),
        observed_at=when(document.observed_at),
        event_at=when(document.event_at),
        generation=document.generation,
    )


def _whole(view: View, document: StoredDocument) -> DocumentWhole:
    chunks = [
        ChunkItem(
            chunk_id=chunk.id,
            ordinal=chunk.ordinal,
            start=chunk.start,
            end=chunk.end,
            sentences=[
                Span(start=chunk.start + start, end=chunk.start + end)
                for start, end in sentence_spans(chunk.text)
            ],
        )
        for chunk in view.document_chunks(document.number)
    ]
    return DocumentWhole(
        document_id=document.id,
        title=document.title,
        text=document.text,
        source=document.source,
        url=document.url,
        lang=document.lang,
        published_at=when(document.published_at),
        observed_at=when(document.observed_at),
        event_at=when(document.event_at),
        version=document.version,
        metadata=dict(document.metadata),
        derived=sorted(document.derived),
        chunks=chunks,
        generation=document.generation,
    )
