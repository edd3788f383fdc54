"""From chunks that come and go to one signed delta of the counts."""

from collections.abc import Sequence

import numpy as np

from index.counts.kernels import enumerate_pairs
from index.types import Delta, Int32Array, Int64Array

_NO_CONCEPTS = np.zeros(0, np.int32)


def chunk_delta(added: Sequence[Int32Array], removed: Sequence[Int32Array]) -> Delta:
    """The aggregated change of f and w when chunks are added and removed.

    Each array holds the sorted, distinct concept numbers (int32) of one chunk. What is added and
    removed alike cancels out. Memory is 12 bytes for each pair of each chunk.
    """
    chunks = [*added, *removed]
    lengths = np.array([len(chunk) for chunk in chunks], np.int64)
    concepts = np.concatenate(chunks).astype(np.int32) if chunks else _NO_CONCEPTS
    signs = np.ones(len(chunks), np.int32)
    signs[len(added) :] = -1
    touched, df = _summed(concepts.astype(np.int64), np.repeat(signs, lengths))
    offsets = np.zeros(len(chunks) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    pairs, pair_signs = enumerate_pairs(offsets, concepts, signs)
    keys, dw = _summed(pairs, pair_signs)
    return Delta(
        concepts=touched.astype(np.int32),
        df=df,
        u=(keys >> 32).astype(np.int32),
        v=(keys & 0xFFFFFFFF).astype(np.int32),
        dw=dw,
    )


def _summed(keys: Int64Array, signs: Int32Array) -> tuple[Int64Array, Int32Array]:
    """Distinct keys in order with the sum of their signs, zeroes left out."""
    if not len(keys):
        return np.zeros(0, np.int64), np.zeros(0, np.int32)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    sums = np.add.reduceat(signs[order].astype(np.int64), starts).astype(np.int32)
    kept = sums != 0
    return keys[starts][kept], sums[kept]
