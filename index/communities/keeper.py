"""Keeps the communities of a writer from drifting: full runs beside it, adopted where better.

The hierarchy follows every delta by itself (``index.communities.dynamic``); what it cannot do is
renew its epoch or undo many small choices. A full run does, in a process of its own on a copy of
the counts, while the stream goes on.
"""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

from index.checksums import Sums
from index.communities.fullrun import FullRun, GroupingSettings, full_run
from index.report import GenerationReport
from index.writer import Writer

_MOST_DEATHS = 3
"""Deaths in a row of the process that finds communities after which something is wrong."""


@dataclass(frozen=True, slots=True)
class KeepUp:
    """How the communities keep up with the stream.

    ``epoch`` counts the full runs adopted; ``refused`` those of this process that were not clearly
    better. ``changed``: share of all co-occurrences that came or went since the last full run.
    ``gain``: modularity of C0 that the last full run had over the hierarchy in force. ``quality``:
    modularity of C0 now. ``seconds``: how long the last run took.
    """

    epoch: int
    running: bool
    adopted: int
    refused: int
    changed: float
    gain: float | None
    quality: float | None
    seconds: float


def due(
    *,
    changed: float,
    fallen: float,
    idle: bool,
    since_last: float,
    last_took: float,
    settings: GroupingSettings,
) -> bool:
    """Whether to start a run. Times in seconds; when idle, only the interval holds it back.

    ``changed``: share of all co-occurrences that changed since the last run; 1 before the first.
    ``fallen``: share of C0's modularity that was lost since then.
    """
    drifted = changed >= settings.drift or fallen >= settings.fall
    if not changed or not drifted or since_last < settings.interval:
        return False
    return idle or since_last >= last_took / settings.share


class CommunityKeeper:
    """Called by the writer's thread, between commits; ``keep_up`` by any."""

    def __init__(
        self,
        writer: Writer,
        settings: GroupingSettings,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._writer = writer
        self._settings = settings
        self._clock = clock
        self._workers: ProcessPoolExecutor | None = None
        self._running: Future[FullRun] | None = None
        self._started = self._finished = clock()
        self._took = 0.0
        self._died = 0
        # The counts that the last run, and the one under way, stand for.
        self._grouped = writer.grouped()
        self._asked = Sums()
        self._live = writer.live
        self._changed_before = 0  # co-occurrences changed when the last run began
        self._asked_changed = 0
        self._adopted = self._refused = 0
        self._gain: float | None = None
        self._quality_before: float | None = None
        self._kept = self._look()

    def step(self, *, idle: bool) -> GenerationReport | None:
        """Adopt a finished run, or start one that is due. Never waits."""
        try:
            return self._step(idle=idle)
        finally:
            self._kept = self._look()

    def _step(self, *, idle: bool) -> GenerationReport | None:
        if self._running is not None:
            return self._end(self._running) if self._running.done() else None
        if due(
            changed=self._changed(),
            fallen=self._fallen(),
            idle=idle,
            since_last=self._clock() - self._finished,
            last_took=self._took,
            settings=self._settings,
        ):
            self._start()
        return None

    def finish(self) -> Iterator[GenerationReport]:
        """Wait for a run in progress, and make one where enough has changed for it."""
        while self._running is not None or self._changed() >= self._settings.drift:
            if self._running is None:
                self._start()
            report = None if self._running is None else self._end(self._running)
            self._kept = self._look()
            if report is not None:
                yield report

    def keep_up(self) -> KeepUp:
        """How the communities kept up when last looked at."""
        return self._kept

    def _look(self) -> KeepUp:
        return KeepUp(
            epoch=self._writer.generation.epoch,
            running=self._running is not None,
            adopted=self._adopted,
            refused=self._refused,
            changed=self._changed(),
            gain=self._gain,
            quality=self._writer.live.quality,
            seconds=self._took,
        )

    def close(self) -> None:
        """Stop the process beside the writer; a run in progress is dropped."""
        if self._workers is not None:
            self._workers.shutdown(wait=False, cancel_futures=True)
            for child in list((self._workers._processes or {}).values()):  # noqa: SLF001
                child.terminate()
            self._workers = None

    def _changed(self) -> float:
        """Share of all co-occurrences that changed since the last run; 1 before the first."""
        if self._writer.generation.sums == (self._grouped or Sums()):
            return 0.0
        live = self._writer.live
        if live.epoch is None:
            return 1.0
        if live is not self._live:  # read anew after a transaction that failed: it counts from 0
            self._changed_before -= self._live.changed
            self._live = live
        return (live.changed - self._changed_before) / max(live.counts.W, 1)

    def _fallen(self) -> float:
        """Share of C0's modularity that was lost since the last run."""
        quality = self._writer.live.quality
        if self._quality_before is None or quality is None:
            self._quality_before = quality
        before = self._quality_before
        return 0.0 if not before or quality is None else 1 - quality / before

    def _start(self) -> None:
        live, settings = self._writer.live, self._settings
        if self._workers is None:
            context = multiprocessing.get_context("spawn")
            self._workers = ProcessPoolExecutor(
                1, mp_context=context, initializer=_belong_to_parent
            )
        self._started = self._clock()
        self._asked = self._writer.generation.sums
        self._asked_changed = live.changed
        asked = live.begin_run(settings.pruning)
        self._running = self._workers.submit(full_run, asked, settings)

    def _end(self, running: "Future[FullRun]") -> GenerationReport | None:
        self._running = None
        self._finished = self._clock()
        try:
            found = running.result()
        except BrokenProcessPool:
            # The process was killed, by the system for its memory perhaps: the stream goes on with
            # the communities it has, and a new process tries again when it is due.
            self._workers = None
            self._writer.live.end_run()
            self._died += 1
            if self._died == _MOST_DEATHS:
                raise
            return None
        self._died = 0
        self._took = self._clock() - self._started
        if not self._writer.live.awaits:  # a transaction failed meanwhile
            return None
        self._grouped, self._changed_before = self._asked, self._asked_changed
        return self._judge(found)

    def _judge(self, found: FullRun) -> GenerationReport | None:
        self._gain = found.gain
        self._quality_before = None
        live = self._writer.live
        if live.epoch is not None and not found.clearly_better(self._settings):
            live.end_run()
            self._refused += 1
            return None
        self._adopted += 1
        return self._writer.adopt(found, self._asked, self._settings.pruning)


def _belong_to_parent() -> None:
    """End with the writer, however it ends; an interrupt at the terminal is for the writer."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)
