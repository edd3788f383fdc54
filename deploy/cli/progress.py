"""Progress on long work: a bar on a terminal, now and then a line elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from deploy.cli.session import console

EVERY = 10.0
"""Seconds between two lines where there is no terminal."""

Told = Callable[[str, int, int | None], None]
"""What work tells of itself: what it does, how many are done, of how many (None: not known)."""


@contextmanager
def counting(unit: str) -> Iterator[Told]:
    """Give a function that shows how far some work has come; ``unit`` names what is counted."""
    out = console(error=True)
    if not out.is_terminal:
        yield _Lines(unit, out.print, time.monotonic)
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[count]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=out, transient=True) as bar:
        task = bar.add_task("starting", total=None, count="")

        def told(what: str, done: int, total: int | None) -> None:
            of = "" if total is None else f" of {total:,}"
            bar.update(
                task,
                description=what,
                completed=done,
                total=total,
                count=f"{done:,}{of} {unit}" if done or total else "",
            )

        yield told


@contextmanager
def indexing(wanted: bool) -> Iterator[Told | None]:
    """Progress of a bounded run; None for one without an end, which logs instead."""
    if not wanted:
        yield None
        return
    with counting("records") as told:
        yield told


class _Lines:
    """A line for each new kind of work, and one every few seconds."""

    def __init__(self, unit: str, write: Callable[[str], None], clock: Callable[[], float]) -> None:
        self._unit = unit
        self._write = write
        self._clock = clock
        self._what = ""
        self._at = float("-inf")

    def __call__(self, what: str, done: int, total: int | None) -> None:
        now = self._clock()
        if what == self._what and now - self._at < EVERY and done != total:
            return
        self._what, self._at = what, now
        of = "" if total is None else f" of {total:,}"
        self._write(f"{what}: {done:,}{of} {self._unit}" if done or total else f"{what} ...")
