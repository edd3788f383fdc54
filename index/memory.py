"""Memory of a process that takes and frees all day.

Left to itself it grows for hours, though it holds no more: what is freed stays with the C library.
"""

import ctypes
from contextlib import suppress

GIVEN_BACK_EVERY = 60.0
"""Seconds between two times that free memory is given to the system."""
_ARENAS, _ARENA_MAX = 2, -8
"""Pools that memory is taken from, and the number by which malloc.h of glibc calls that setting."""


def share_memory() -> None:
    """Let all threads take memory from two pools, and not each from one of its own.

    What a thread frees stays in its pool, so that each pool grows to the most its threads ever
    held at once. Does something with glibc alone, and only before the threads are there.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_ARENA_MAX, _ARENAS)


def give_memory_back() -> None:
    """Give the system what lies free between things that are held; some 10 ms a gigabyte.

    Does something with glibc alone.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
