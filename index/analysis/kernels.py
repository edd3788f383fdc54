"""Numba kernels of the tagger's window encoder; they round as numpy does."""

import numpy as np
from numba import njit

_ROWS = "float32[:, ::1]"
_COLUMN = "float32[::1]"


@njit("float32(float32[::1])", cache=True, nogil=True)
def _sum(values):
    """The sum as numpy forms it: eight partial sums, then those in pairs."""
    a = b = c = d = e = f = g = h = np.float32(0)
    for at in range(0, len(values), 8):
        a += values[at]
        b += values[at + 1]
        c += values[at + 2]
        d += values[at + 3]
        e += values[at + 4]
        f += values[at + 5]
        g += values[at + 6]
        h += values[at + 7]
    return ((a + b) + (c + d)) + ((e + f) + (g + h))


@njit(f"void({_ROWS}, {_COLUMN}, {_ROWS}, {_COLUMN}, {_COLUMN})", cache=True, nogil=True)
def best_of_pieces(scores, bias, best, mean, variance):
    """Maxout: the best piece of each unit, and mean and variance of each row.

    ``scores`` float32[n, 3 * width], the first piece of all units first; ``best`` [n, width].
    """
    width = best.shape[1]
    squares = np.empty(width, np.float32)
    for row in range(best.shape[0]):
        for unit in range(width):
            first = scores[row, unit] + bias[unit]
            second = scores[row, width + unit] + bias[width + unit]
            third = scores[row, 2 * width + unit] + bias[2 * width + unit]
            best[row, unit] = max(first, second, third)
        middle = _sum(best[row]) / np.float32(width)
        for unit in range(width):
            away = best[row, unit] - middle
            squares[unit] = away * away
        mean[row] = middle
        variance[row] = _sum(squares) / np.float32(width)


@njit(f"void({_ROWS}, {_COLUMN}, {_COLUMN}, {_COLUMN}, {_COLUMN}, {_ROWS})", cache=True, nogil=True)
def add_normalised(best, mean, scale, gain, bias, rows):
    """Layer norm of ``best``, added to ``rows``; ``scale`` is one by the standard deviation."""
    for row in range(best.shape[0]):
        for unit in range(best.shape[1]):
            even = (best[row, unit] - mean[row]) * scale[row]
            rows[row, unit] += even * gain[unit] + bias[unit]


@njit(f"void({_ROWS}, {_ROWS})", cache=True, nogil=True)
def widen(rows, windows):
    """Each row between its neighbours: float32[n, 3 * width]; zeros beyond the ends."""
    count, width = rows.shape
    for row in range(count):
        for unit in range(width):
            windows[row, unit] = rows[row - 1, unit] if row else np.float32(0)
            windows[row, width + unit] = rows[row, unit]
            windows[row, 2 * width + unit] = rows[row + 1, unit] if row + 1 < count else 0
