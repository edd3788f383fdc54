"""Documents in lists: with a title and an address, without their text."""

from collections.abc import Mapping, Sequence

import numpy as np

from index.change_log import KINDS, ChangeColumns
from index.types import Int64Array, Millis
from index.view import ChangeKind, StoredDocument, View
from query.types_news import DocumentBrief


def brief_of_change(
    changes: ChangeColumns, at: int, documents: Mapping[str, StoredDocument]
) -> DocumentBrief:
    """The document of a change as it stands now; without title and address when withdrawn.

    ``documents`` are the living ones among those that changed, by id.
    """
    name = changes.name(at)
    document = documents.get(name)
    return DocumentBrief(
        document_id=name,
        title="" if document is None else document.title,
        source=changes.sources[changes.source[at]],
        url="" if document is None else document.url,
        observed_at=Millis(int(changes.observed_at[at])),
        event_at=Millis(int(changes.event_at[at])),
        change=KINDS[changes.kind[at]],
    )


def newest(view: View, document_rows: Int64Array, count: int) -> tuple[DocumentBrief, ...]:
    """Briefs of the documents that arrived last among some document rows."""
    return newest_of(view, [document_rows], count)[0]


def newest_of(
    view: View, groups: Sequence[Int64Array], count: int
) -> list[tuple[DocumentBrief, ...]]:
    """The same for several groups of document rows, read from the store at once."""
    snapshot = view.snapshot
    chosen = [
        snapshot.documents[_newest(snapshot.observed_at, rows, count)].tolist() for rows in groups
    ]
    documents = view.documents(sorted({number for numbers in chosen for number in numbers}))
    return [
        tuple(_brief(documents[number]) for number in numbers if number in documents)
        for numbers in chosen
    ]


def _newest(observed_at: Int64Array, rows: Int64Array, count: int) -> Int64Array:
    """The rows that arrived last, equal ones the later row first; only those near are sorted."""
    moments = observed_at[rows]
    if len(rows) > count:
        near = moments >= np.partition(moments, -count)[-count]
        rows, moments = rows[near], moments[near]
    return rows[np.lexsort((-rows, -moments))][:count]


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
