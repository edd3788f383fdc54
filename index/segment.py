"""Segments: immutable runs of rows that snapshots share.

A generation adds one small segment; neighbours of like size are merged, so that a snapshot of n
chunks has about log2(n) of them and publishing costs, amortised, in proportion to the change.
The design is that of log-structured indexes (Lucene, tantivy): rows never change, only the
bitmap of those that are alive does, and that belongs to the snapshot.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from index.types import BoolArray, Float32Array, Int32Array, Int64Array

MERGE_LIMIT = 16_384
"""Rows beyond which segments are not merged: bounds the longest pause of a publication."""


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
    stays within ``MERGE_LIMIT``.
    """
    kept = [(s, a) for s, a in zip(segments, alive, strict=True) if a.any()]
    while len(kept) > 1:
        (left, left_alive), (right, right_alive) = kept[-2], kept[-1]
        if left.rows > 2 * right.rows or left.rows + right.rows > MERGE_LIMIT:
            break
        kept[-2:] = [(merge([left, right]), np.concatenate([left_alive, right_alive]))]
    return tuple(s for s, _ in kept), tuple(a for _, a in kept)
