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


def summed(deltas: Sequence[Delta]) -> Delta:
    """What several deltas change together; what cancels out is left out."""
    concepts = [delta.concepts.astype(np.int64) for delta in deltas]
    pairs = [delta.u.astype(np.int64) << 32 | delta.v for delta in deltas]
    touched, df = _summed(_joined(concepts, np.int64), _joined([d.df for d in deltas], np.int32))
    keys, dw = _summed(_joined(pairs, np.int64), _joined([d.dw for d in deltas], np.int32))
    u, v = (keys >> 32).astype(np.int32), (keys & 0xFFFFFFFF).astype(np.int32)
    return Delta(concepts=touched.astype(np.int32), df=df, u=u, v=v, dw=dw)


def _joined(parts: list[np.ndarray], dtype: type) -> np.ndarray:
    return np.concatenate([np.zeros(0, dtype), *parts])


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
