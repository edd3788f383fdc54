"""Numba kernels over many short lists of concepts."""

import numpy as np
from numba import njit


@njit(
    "void(int64[::1], int32[::1], int32[::1], float32[::1], int64, int32[::1], float64[::1])",
    cache=True,
)
def strongest_place(offsets, concepts, place_of, weight, places, best, strength):
    """Write for each list the place of the highest summed weight, and that sum.

    List i is ``concepts[offsets[i] : offsets[i + 1]]``. ``place_of`` gives the place of each
    concept, below ``places``, or -1. Equal sums go to the lower place; -1 where there is none.
    """
    total = np.zeros(places, np.float64)
    for i in range(len(offsets) - 1):
        best[i], strength[i] = -1, 0.0
        for at in range(offsets[i], offsets[i + 1]):
            place = place_of[concepts[at]]
            if place >= 0:
                total[place] += weight[concepts[at]]
        for at in range(offsets[i], offsets[i + 1]):
            place = place_of[concepts[at]]
            if place < 0:
                continue
            here = total[place]
            if here > strength[i] or (here == strength[i] and here > 0 and place < best[i]):
                best[i], strength[i] = place, here
        for at in range(offsets[i], offsets[i + 1]):
            place = place_of[concepts[at]]
            if place >= 0:
                total[place] = 0.0
