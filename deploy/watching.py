"""The watchdog: ends a process that has stopped working, so that its supervisor starts it anew.

Everything is in the store, in transactions: a process that ends at any moment loses nothing.
"""

import faulthandler
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from deploy.settings import Settings
from deploy.telemetry.observe import Telemetry
from stream.watchdog import Activity, WatchLimits, fault

EVERY = 5.0
"""Seconds between two looks."""
FROZEN = 120.0
"""Seconds without a look after which the whole process hangs, its watchdog with it."""
EXIT_CODE = 70
"""How a process ends that its watchdog has ended (EX_SOFTWARE)."""

End = Callable[[str], None]


@contextmanager
def watched(
    settings: Settings,
    activity: Callable[[], Activity],
    telemetry: Telemetry,
    *,
    end: End | None = None,
    every: float = EVERY,
    frozen: float = FROZEN,
) -> Iterator[None]:
    """Watch a consumer while it is entered; ``end`` ends the process, and is given the reason.

    Should no thread of the process get to run for ``frozen`` seconds, the C runtime ends it with
    code 1, once it has written to standard error where every thread stands.
    """
    if not settings.watchdog:
        yield
        return
    stop = threading.Event()
    ending = end or (lambda reason: _end(reason, telemetry))
    arguments = (limits(settings), activity, stop, ending, every, frozen)
    thread = threading.Thread(target=_watch, args=arguments, name="watchdog", daemon=True)
    # Whoever holds the interpreter and never lets go holds up that thread too.
    faulthandler.dump_traceback_later(frozen, exit=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        faulthandler.cancel_dump_traceback_later()


def limits(settings: Settings) -> WatchLimits:
    """How long each phase may take."""
    return WatchLimits(
        read=settings.watchdog_read,
        analyze=settings.watchdog_analyze,
        commit=settings.watchdog_commit,
        group=settings.watchdog_commit,
        stall=settings.watchdog_stall,
    )


def _watch(
    limits: WatchLimits,
    activity: Callable[[], Activity],
    stop: threading.Event,
    end: End,
    every: float,
    frozen: float,
) -> None:
    while not stop.wait(every):
        faulthandler.dump_traceback_later(frozen, exit=True)
        reason = fault(activity(), limits)
        if reason is not None:
            end(reason)
            return


def _end(reason: str, telemetry: Telemetry) -> None:
    """End at once: a thread that hangs cannot be asked to."""
    telemetry.warned("watchdog", f"{reason}; the process ends, to be started anew")
    sys.stderr.write(f"tidegraph: watchdog: {reason}\n")
    sys.stderr.flush()
    sys.stdout.flush()
    os._exit(EXIT_CODE)
