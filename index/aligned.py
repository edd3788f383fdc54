"""Arrays that begin with a line of cache, so that their rows of 64 bytes lie in one line each."""

from math import prod

import numpy as np

_LINE = 64  # bytes of a line of cache


def aligned(shape: tuple[int, ...], dtype: type | np.dtype) -> np.ndarray:
    """Such an array, not filled."""
    size = prod(shape) * np.dtype(dtype).itemsize
    room = np.empty(size + _LINE, np.uint8)
    skip = -room.ctypes.data % _LINE
    return room[skip : skip + size].view(dtype).reshape(shape)
