"""Filters: which documents may be searched at all, decided before anything is ranked."""

from collections.abc import Sequence

import numpy as np

from index.types import BoolArray, Int32Array, Int64Array, Millis
from index.vectors.protocol import Condition, wanted_tokens
from index.view import View, mask_rows
from query.errors import BadFilterError
from query.types import Filters, Searched, TimeAxis


def document_mask(view: View, filters: Filters) -> BoolArray:
    """bool[document_rows]: the documents that the filters allow, dead rows included.

    Raises:
        BadFilterError: The window is empty or turned round.
    """
    if filters.since is not None and filters.until is not None and filters.since >= filters.until:
        raise BadFilterError("the window is empty: since must be before until")
    snapshot = view.snapshot
    mask = np.ones(len(snapshot.documents), np.bool_)
    moments = snapshot.observed_at if filters.time is TimeAxis.OBSERVED else snapshot.event_at
    if filters.since is not None:
        mask &= moments >= filters.since
    if filters.until is not None:
        mask &= moments < filters.until
    if filters.source:
        mask &= _coded(snapshot.source, snapshot.labels.sources, filters.source)
    if filters.lang:
        mask &= _coded(snapshot.lang, snapshot.labels.langs, filters.lang)
    if filters.where:
        mask &= np.isin(snapshot.documents, view.with_metadata(filters.where))
    return mask


def _coded(codes: Int32Array, labels: Sequence[str], wanted: tuple[str, ...]) -> BoolArray:
    names = list(labels)
    allowed = np.array([name in wanted for name in names], np.bool_)
    return allowed[codes] if names else np.zeros(len(codes), np.bool_)


def row_mask(view: View, filters: Filters) -> BoolArray:
    """bool[rows]: the living chunks that the filters allow."""
    return mask_rows(view.snapshot, document_mask(view, filters))


def condition(filters: Filters, horizon: Millis | None = None) -> Condition:
    """The same limits as a vector index understands them; nothing from before the horizon."""
    window = filters.since, filters.until
    observed = filters.time is TimeAxis.OBSERVED
    since, until = (None, None) if observed else window
    bounds = [moment for moment in (since, horizon) if moment is not None]
    return Condition(
        event_at=(max(bounds, default=None), until),
        observed_at=window if observed else (None, None),
        source=filters.source,
        lang=filters.lang,
        where=wanted_tokens(filters.where),
    )


def searched(view: View, rows: BoolArray, filters: Filters) -> Searched:
    """What stood to be searched: documents and chunks behind a row mask, and their period."""
    snapshot = view.snapshot
    held = np.zeros(len(snapshot.documents), np.bool_)
    held[snapshot.chunk_document[rows]] = True
    documents = np.flatnonzero(held)
    moments = snapshot.observed_at if filters.time is TimeAxis.OBSERVED else snapshot.event_at
    times: Int64Array = moments[documents]
    arrivals = snapshot.observed_at[documents]
    return Searched(
        documents=len(documents),
        chunks=int(np.count_nonzero(rows)),
        since=_millis(times.min()) if len(times) else filters.since,
        until=_millis(times.max()) if len(times) else filters.until,
        newest_arrival=_millis(arrivals.max()) if len(arrivals) else None,
    )


def _millis(value: np.int64) -> Millis:
    return Millis(int(value))
