"""Work that waits for a server which is away, and goes on where it was."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from index.errors import EmbedderAwayError

FIRST, LONGEST = 1.0, 30.0
"""Seconds between tries: twice as long each time."""

T = TypeVar("T")


def patiently(
    work: Callable[[], T],
    stop: threading.Event,
    waits: Callable[[EmbedderAwayError, float], None],
    *,
    first: float = FIRST,
    clock: Callable[[], float] = time.monotonic,
) -> T | None:
    """Do work that begins where it left off; begin again while the embedder is away.

    Args:
        work: Returns when it is done, or when ``stop`` is set.
        stop: Ends the waiting; None is returned then.
        waits: Told the error and the seconds until the next try.
        first: Seconds before the second try.
        clock: Seconds that never go backwards.
    """
    pause = first
    while True:
        began = clock()
        try:
            return work()
        except EmbedderAwayError as error:
            if clock() - began > LONGEST:
                pause = first  # it was there in between
            waits(error, pause)
            if stop.wait(pause):
                return None
            pause = min(2 * pause, LONGEST)
