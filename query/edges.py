"""The edges that a walk goes along: chunks and the concepts that they and their titles name."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from index.types import Float32Array, Int32Array, Int64Array

_LEAST = 2  # living chunks that a concept must tie together to have a column


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """The weighted edges of a snapshot's living chunks, split by what they are good for.

    Two thirds of all concepts are named by one chunk alone: what a walk sends there comes back to
    the same chunk, so they need no column. That keeps a walk's vectors short.

    ``shared`` int64[k]: the concepts that tie chunks together, ascending; the columns. ``order``
    int64[rows]: the chunk rows by the number of their edges; rows of one length after each other
    are walked a quarter faster, for the processor foresees where each ends. The edges of
    ``order[r]`` are ``columns[offsets[r] : offsets[r + 1]]``, with ``weights``: 1 for a chunk
    that names the concept, more under a title that does. ``offsets`` int32[rows + 1], ``columns``
    uint32[edges], ``weights`` float32[edges]. ``degree`` float32[k]: the weights of each column
    together. ``alone_row`` int64[concepts]: for every other concept the one row that names it, -1
    for none; ``alone_weight`` float32[concepts].
    """

    shared: Int64Array
    order: Int64Array
    offsets: Int32Array
    columns: NDArray[np.uint32]
    weights: Float32Array
    degree: Float32Array
    alone_row: Int64Array
    alone_weight: Float32Array

    def passing(self, hub: float) -> Float32Array:
        """float32[k]: what a concept passes on of what reaches it, over its edges."""
        return _shared_out(self.degree, hub)

    def staying(self, idf: Float32Array, hub: float) -> Float32Array:
        """float32[rows]: what a chunk gets back from the concepts that it alone names."""
        held = np.flatnonzero(self.alone_row >= 0)
        worth = idf[held] * self.alone_weight[held] ** (2 - hub)
        rows = np.bincount(self.alone_row[held], worth, len(self.offsets) - 1)
        return rows.astype(np.float32)

    def reached(
        self, concepts: Int64Array, share: Float32Array, hub: float
    ) -> tuple[Int64Array, Float32Array]:
        """Columns of those concepts that have one, and what each passes on of its share."""
        place = np.searchsorted(self.shared, concepts)
        tied = np.flatnonzero(place < len(self.shared))
        tied = tied[self.shared[place[tied]] == concepts[tied]]
        columns = place[tied]
        return columns, share[tied] * _shared_out(self.degree[columns], hub)

    def given(
        self, concepts: Int64Array, share: Float32Array, hub: float
    ) -> tuple[Int64Array, Float32Array]:
        """Rows of those concepts that one chunk alone names, and what it gets of their share."""
        held = np.flatnonzero(self.alone_row[concepts] >= 0)
        alone = concepts[held]
        return self.alone_row[alone], share[held] * self.alone_weight[alone] ** (1 - hub)


def _shared_out(degree: Float32Array, hub: float) -> Float32Array:
    passed: Float32Array = np.divide(1, degree) ** np.float32(hub)  # every column has edges
    return passed


def edges(chunks: csr_matrix, titles: csr_matrix, of: Int32Array, alive: Float32Array) -> Edges:
    """Edges from what chunks name and, already weighed, what their documents' titles name.

    ``chunks`` float32[rows, concepts], ``titles`` float32[document_rows, concepts], ``of`` the
    document row of each chunk row, ``alive`` float32[rows], 0 for chunks that are no more.
    """
    whole = (chunks + titles[of]).tocsr()
    whole.data *= np.repeat(alive, np.diff(whole.indptr))
    whole.eliminate_zeros()
    count = np.bincount(whole.indices, minlength=whole.shape[1])
    shared = np.flatnonzero(count >= _LEAST)
    alone_row = np.full(whole.shape[1], -1, np.int64)
    alone_weight = np.zeros(whole.shape[1], np.float32)
    once = count[whole.indices] == 1
    rows = np.repeat(np.arange(whole.shape[0]), np.diff(whole.indptr))
    alone_row[whole.indices[once]] = rows[once]
    alone_weight[whole.indices[once]] = whole.data[once]
    matrix = whole[:, shared].tocsr()
    order = np.argsort(np.diff(matrix.indptr), kind="stable")
    matrix = matrix[order]
    degree = np.bincount(matrix.indices, matrix.data, len(shared)).astype(np.float32)
    columns = matrix.indices.astype(np.int32, copy=False).view(np.uint32)
    offsets = matrix.indptr.astype(np.int32, copy=False)
    return Edges(shared, order, offsets, columns, matrix.data, degree, alone_row, alone_weight)
