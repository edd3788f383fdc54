"""Connected parts of what a static Leiden found, in rows of a graph that is no state."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def parts_within(indptr, indices, labels):
    """int32[n]: 0, 1, ... for the connected parts of each label, by their first concept.

    ``indptr`` int64[n + 1] and ``indices`` int32: compressed sparse rows, both directions.
    """
    n = len(labels)
    part, found = np.full(n, -1, np.int32), np.empty(n, np.int32)
    parts = np.int32(0)
    for first in range(n):
        if part[first] >= 0:
            continue
        part[first], found[0] = parts, first
        head, tail = 0, 1
        while head < tail:
            x = found[head]
            head += 1
            for i in range(indptr[x], indptr[x + 1]):
                y = indices[i]
                if part[y] < 0 and labels[y] == labels[x]:
                    part[y], found[tail] = parts, y
                    tail += 1
        parts += 1
    return part
