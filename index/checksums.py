"""Linear checksums of the exact counts: how a rebuild is compared with what was streamed.

``f_sum`` is the sum over concepts of f(x) h(x), ``w_sum`` the sum over pairs of w(x,y) h(x,y), both
modulo 2**64 with h the finaliser of splitmix64. Being linear they follow a signed delta exactly
and at the cost of the delta, so every generation can state the checksum of the live counts, and a
recount from the stored chunks must give the same numbers.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from index.types import Delta, Int32Array

MODULUS = 1 << 64


@dataclass(frozen=True, slots=True)
class Sums:
    """The two checksums, each in [0, 2**64)."""

    f_sum: int = 0
    w_sum: int = 0

    def after(self, delta: Delta) -> "Sums":
        """The checksums once a delta was applied."""
        change = sums_of(delta.concepts, delta.df, delta.u, delta.v, delta.dw)
        return Sums(
            (self.f_sum + change.f_sum) % MODULUS,
            (self.w_sum + change.w_sum) % MODULUS,
        )


def sums_of(
    concepts: Int32Array, f: Int32Array, u: Int32Array, v: Int32Array, w: Int32Array
) -> Sums:
    """The checksums of counts given as int32 columns, with ``u < v``."""
    pair = (u.astype(np.uint64) << np.uint64(32)) | v.astype(np.uint64)
    return Sums(_dot(_hash(concepts.astype(np.uint64)), f), _dot(_hash(pair), w))


def _dot(hashes: NDArray[np.uint64], counts: Int32Array) -> int:
    signed = counts.astype(np.int64).view(np.uint64)
    return int(np.sum(hashes * signed, dtype=np.uint64))


def _hash(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The splitmix64 finaliser (Steele, Lea, Flood 2014)."""
    z = x + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
