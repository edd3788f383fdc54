"""Documents in lists: with a title and an address, without their text."""

from collections.abc import Sequence

import numpy as np

from index.types import Int64Array
from index.view import ChangeKind, DocumentChange, View
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
    snapshot = view.snapshot
    order = np.lexsort((-document_rows, -snapshot.observed_at[document_rows]))[:count]
    return briefs(view, snapshot.documents[document_rows[order]].tolist())


def briefs(view: View, numbers: Sequence[int]) -> tuple[DocumentBrief, ...]:
    """Briefs of documents by number, in the order asked for."""
    documents = view.documents(numbers)
    return tuple(
        DocumentBrief(
            document_id=document.id,
            title=document.title,
            source=document.source,
            url=document.url,
            observed_at=document.observed_at,
            event_at=document.event_at,
            change=ChangeKind.INSERT,
            lang=document.lang,
        )
        for document in (documents[number] for number in numbers if number in documents)
    )
