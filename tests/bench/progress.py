"""What a benchmark is at, on standard error: figures come at the end, and some take minutes."""

import sys
import time
from collections.abc import Callable

STEPS = 5
"""Lines for one thing that is counted: a replay says each fifth of its documents."""

_BEGUN = time.monotonic()


def told(what: str) -> None:
    """One line, with the minutes since the beginning."""
    minutes, seconds = divmod(int(time.monotonic() - _BEGUN), 60)
    sys.stderr.write(f"{minutes:3}:{seconds:02} {what}\n")
    sys.stderr.flush()


def counted(name: str) -> Callable[[str, int, int | None], None]:
    """Takes the steps of one thing as they are done; see ``deploy.assembly.streams.Told``."""
    last = -1

    def step(what: str, done: int, total: int | None) -> None:
        nonlocal last
        at = done * STEPS // total if total else -1
        if at != last:
            last = at
            told(f"{name}: {what}" + (f" {done:,} of {total:,}" if total else ""))

    return step
