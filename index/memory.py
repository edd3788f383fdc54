"""Memory of a process that takes and frees all day.

Left to itself it grows for hours, though it holds no more: what is freed stays with the C library.
"""

import ctypes
from contextlib import suppress

GIVEN_BACK_EVERY = 60.0
"""Seconds between two times that free memory is given to the system."""
_ARENAS, _ARENA_MAX = 2, -8
"""Pools that memory is taken from, and the number by which malloc.h of glibc calls that setting."""
_LARGE, _MMAP_THRESHOLD = 1 << 20, -3
"""Bytes from which an array has pages of its own, which go when it goes. By itself glibc raises
that to 32 MB, and arrays leave holes in the pools: with a writer whose window of 30,000 documents
had turned over four times 41 MB, with this 10, in the same time."""


def share_memory() -> None:
    """Let all threads take memory from two pools, and not each from one of its own.

    What a thread frees stays in its pool, so that each pool grows to the most its threads ever
    held at once. Large arrays are kept out of them. Does something with glibc alone, and only
    before the threads are there.
    """
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        library.mallopt(_ARENA_MAX, _ARENAS)
        library.mallopt(_MMAP_THRESHOLD, _LARGE)


def give_memory_back() -> None:
    """Give the system what lies free between things that are held; some 10 ms a gigabyte.

    Does something with glibc alone.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
