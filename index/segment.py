"""Segments: immutable runs of rows that snapshots share.

A generation adds one small segment; neighbours of like size are merged, so that a snapshot of n
chunks has about log2(n) of them and publishing costs, amortised, in proportion to the change.
The design is that of log-structured indexes (Lucene, tantivy): rows never change, only the
bitmap of those that are alive does, and that belongs to the snapshot; segments that are mostly
dead are written anew.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from index.types import BoolArray, Float32Array, Int32Array, Int64Array

MERGE_LIMIT = 16_384
"""Rows beyond which segments are not merged: bounds the longest pause of a publication."""
WASTE = 1_024
"""Dead rows from which a segment is written anew without them, once they are half of it."""


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """Rows of m chunks and of the k documents that they belong to.

    Per chunk: ``slots`` int64[m] ascending; ``chunk_document`` int32[m], the row of its document
    in this segment; ``concepts`` int32 in compressed rows by ``concept_offsets`` int64[m+1],
    sorted within a row; ``vectors`` float32[m, d], unit rows.
    Per document: ``documents`` int64[k], its number in the store; ``event_at`` and
    ``observed_at`` int64[k] in milliseconds; ``source`` and ``lang`` int32[k], codes of the
    snapshot's label tables; ``title_concepts`` int32 in compressed rows by ``title_offsets``.
    """

    slots: Int64Array
    chunk_document: Int32Array
    concept_offsets: Int64Array
    concepts: Int32Array
    vectors: Float32Array
    documents: Int64Array
    event_at: Int64Array
    observed_at: Int64Array
    source: Int32Array
    lang: Int32Array
    title_offsets: Int64Array
    title_concepts: Int32Array

    @property
    def rows(self) -> int:
        """Number of chunks, the dead ones included."""
        return len(self.slots)

    def rows_of(self, slots: Int64Array) -> Int64Array:
        """int64[k <= n]: the rows of those of some slots that this segment holds, dead or alive."""
        rows = np.searchsorted(self.slots, slots)
        inside = rows < self.rows
        found: Int64Array = rows[inside][self.slots[rows[inside]] == slots[inside]]
        return found


def merge(parts: Sequence[Segment]) -> Segment:
    """One segment with the rows of several, in their order."""
    columns: dict[str, np.ndarray] = {}
    for field in fields(Segment):
        columns[field.name] = np.concatenate([getattr(part, field.name) for part in parts])
    shift = np.cumsum([0, *(len(part.documents) for part in parts)])
    columns["chunk_document"] = np.concatenate(
        [part.chunk_document + np.int32(by) for part, by in zip(parts, shift, strict=False)]
    )
    columns["concept_offsets"] = joined_offsets([part.concept_offsets for part in parts])
    columns["title_offsets"] = joined_offsets([part.title_offsets for part in parts])
    return Segment(**columns)


def living(segment: Segment, alive: BoolArray) -> Segment:
    """A segment with its living rows alone, and the documents that they belong to."""
    if alive.all():
        return segment
    rows = np.flatnonzero(alive)
    named, chunk_document = np.unique(segment.chunk_document[rows], return_inverse=True)
    documents = named.astype(np.int64)
    concept_offsets, concepts = _rows_of(segment.concept_offsets, segment.concepts, rows)
    title_offsets, titles = _rows_of(segment.title_offsets, segment.title_concepts, documents)
    return Segment(
        slots=segment.slots[rows],
        chunk_document=chunk_document.astype(np.int32),
        concept_offsets=concept_offsets,
        concepts=concepts,
        vectors=segment.vectors[rows],
        documents=segment.documents[documents],
        event_at=segment.event_at[documents],
        observed_at=segment.observed_at[documents],
        source=segment.source[documents],
        lang=segment.lang[documents],
        title_offsets=title_offsets,
        title_concepts=titles,
    )


def _rows_of(
    offsets: Int64Array, columns: Int32Array, rows: Int64Array
) -> tuple[Int64Array, Int32Array]:
    """Some of many compressed rows."""
    lengths = np.diff(offsets)
    chosen = np.zeros(len(lengths), np.bool_)
    chosen[rows] = True
    return np.cumsum([0, *lengths[rows]], dtype=np.int64), columns[np.repeat(chosen, lengths)]


def joined_offsets(parts: Sequence[Int64Array]) -> Int64Array:
    """Offsets of concatenated compressed rows."""
    joined = [np.zeros(1, np.int64)]
    end = 0
    for part in parts:
        joined.append(part[1:] + end)
        end += int(part[-1])
    return np.concatenate(joined)


def merge_small(
    segments: tuple[Segment, ...], alive: tuple[BoolArray, ...]
) -> tuple[tuple[Segment, ...], tuple[BoolArray, ...]]:
    """Drop segments without a living row and merge the newest while they are of like size.

    The newest segment takes its neighbour in while that is at most twice as large and the result
    stays within ``MERGE_LIMIT``. What is merged loses its dead rows; one that is mostly dead, see
    ``WASTE``, is written anew, and takes its neighbours in where they fit. So in the end there are
    at most some twice as many rows as live.
    """
    kept = [(s, a) for s, a in zip(segments, alive, strict=True) if a.any()]
    while len(kept) > 1:
        left, right = kept[-2][0].rows, kept[-1][0].rows
        if left > 2 * right or left + right > MERGE_LIMIT:
            break
        kept[-2:] = [_living(kept[-2:])]
    _renew(kept)
    return tuple(s for s, _ in kept), tuple(a for _, a in kept)


def _renew(kept: list[tuple[Segment, BoolArray]]) -> None:
    """Write the first segment anew that is mostly dead: one at a time bounds the pause."""
    for place, (segment, alive) in enumerate(kept):
        dead = segment.rows - int(np.count_nonzero(alive))
        if dead >= WASTE and 2 * dead >= segment.rows:
            first, end, rows = place, place + 1, segment.rows - dead
            if place and kept[place - 1][0].rows + rows <= MERGE_LIMIT:
                first, rows = place - 1, rows + kept[place - 1][0].rows
            if end < len(kept) and kept[end][0].rows + rows <= MERGE_LIMIT:
                end += 1
            kept[first:end] = [_living(kept[first:end])]
            return


def _living(parts: Sequence[tuple[Segment, BoolArray]]) -> tuple[Segment, BoolArray]:
    """One segment with the living rows of several."""
    merged = merge([living(segment, alive) for segment, alive in parts])
    return merged, np.ones(merged.rows, np.bool_)
