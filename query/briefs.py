"""Documents in lists: with a title and an address, without their text."""

from collections.abc import Sequence

import numpy as np

from index.types import Int64Array
from index.view import ChangeKind, DocumentChange, StoredDocument, View
from query.types_news import DocumentBrief


def brief_of_change(view: View, change: DocumentChange) -> DocumentBrief:
    """The document of a change as it stands now; without title and address when withdrawn."""
    document = view.document(change.document_id)
    return DocumentBrief(
        document_id=change.document_id,
        title="" if document is None else document.title,
        source=change.source,
        url="" if document is None else document.url,
        observed_at=change.observed_at,
        event_at=change.event_at,
        change=change.kind,
        lang="" if document is None else document.lang,
    )


def newest(view: View, document_rows: Int64Array, count: int) -> tuple[DocumentBrief, ...]:
    """Briefs of the documents that arrived last among some document rows."""
    return newest_of(view, [document_rows], count)[0]


def newest_of(
    view: View, groups: Sequence[Int64Array], count: int
) -> list[tuple[DocumentBrief, ...]]:
    """The same for several groups of document rows, read from the store at once."""
    snapshot = view.snapshot
    chosen = []
    for rows in groups:
        order = np.lexsort((-rows, -snapshot.observed_at[rows]))[:count]
        chosen.append(snapshot.documents[rows[order]].tolist())
    documents = view.documents(sorted({number for numbers in chosen for number in numbers}))
    return [
        tuple(_brief(documents[number]) for number in numbers if number in documents)
        for numbers in chosen
    ]


def _brief(document: StoredDocument) -> DocumentBrief:
    return DocumentBrief(
        document_id=document.id,
        title=document.title,
        source=document.source,
        url=document.url,
        observed_at=document.observed_at,
        event_at=document.event_at,
        change=ChangeKind.INSERT,
    )
