"""The edges that a walk goes along: chunks and the concepts that they and their titles name."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from index.types import Float32Array, Int32Array, Int64Array

_LEAST = 2  # living chunks that a concept must tie together to have a column


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """The weighted edges of a snapshot's living chunks, split by what they are good for.

    Two thirds of all concepts are named by one chunk alone: what a walk sends there comes back to
    the same chunk, so they need no column. That keeps a walk's vectors short.

    ``shared`` int64[k]: the concepts that tie chunks together, ascending. ``matrix``
    float32[rows, k]: their edges, 1 for a chunk that names one, more under a title that does.
    ``degree`` float32[k]: the edges of each together. ``alone_row`` int64[concepts]: for every
    other concept the one row that names it, -1 for none; ``alone_weight`` float32[concepts].
    """

    shared: Int64Array
    matrix: csr_matrix
    degree: Float32Array
    alone_row: Int64Array
    alone_weight: Float32Array

    def passing(self, hub: float) -> Float32Array:
        """float32[k]: what a concept passes on of what reaches it, over its edges."""
        inverse: Float32Array = np.divide(1, self.degree)  # a shared concept has edges
        passed: Float32Array = inverse ** np.float32(hub)
        return passed

    def staying(self, idf: Float32Array, hub: float) -> Float32Array:
        """float32[rows]: what a chunk gets back from the concepts that it alone names."""
        held = np.flatnonzero(self.alone_row >= 0)
        worth = idf[held] * self.alone_weight[held] ** (2 - hub)
        rows = np.bincount(self.alone_row[held], worth, self.matrix.shape[0])
        return rows.astype(np.float32)

    def given(self, below: Float32Array, hub: float) -> Float32Array:
        """float32[rows]: what restarts at concepts that one chunk alone names."""
        found = np.zeros(self.matrix.shape[0], np.float32)
        held = np.flatnonzero((below > 0) & (self.alone_row >= 0))
        worth = below[held] * self.alone_weight[held] ** (1 - hub)
        np.add.at(found, self.alone_row[held], worth)
        return found


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
    degree = np.bincount(matrix.indices, matrix.data, len(shared)).astype(np.float32)
    return Edges(shared, matrix, degree, alone_row, alone_weight)
