"""Keeps the communities of a writer: runs the static partition beside it, adopts the results.

The partition runs in a process of its own on a copy of the counts. When it is due is decided by
what changed and by how long the last run took, so that grouping takes a bounded share of the time.
"""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace

import numpy as np

from index.checksums import Sums
from index.communities.adopt import adopt
from index.communities.partition import MAX_SIZE, Partition, partition
from index.communities.pruning import CountArrays, PruningSettings, pruned
from index.report import GenerationReport
from index.types import Int32Array
from index.writer import Writer

_MOST_DEATHS = 3
"""Deaths in a row of the process that finds communities after which something is wrong."""


@dataclass(frozen=True, slots=True)
class GroupingSettings:
    """When and how communities are computed.

    ``interval``: seconds between two runs at the least. ``share``: of the time that runs may take
    while documents are arriving. ``seed``: of the partition's random choices.
    """

    interval: float = 2.0
    share: float = 0.04
    max_size: int = MAX_SIZE
    seed: int = 0
    pruning: PruningSettings = field(default_factory=PruningSettings)


def due(
    *, changed: bool, idle: bool, since_last: float, last_took: float, settings: GroupingSettings
) -> bool:
    """Whether to start a run. Times in seconds; when idle, only the interval holds it back."""
    if not changed or since_last < settings.interval:
        return False
    return idle or since_last >= last_took / settings.share


def group(counts: CountArrays, settings: GroupingSettings) -> Partition:
    """Prune and partition: what the process beside the writer does."""
    graph = pruned(counts, settings.pruning)
    return partition(
        graph.u,
        graph.v,
        graph.weight,
        graph.concept_count,
        max_size=settings.max_size,
        seed=settings.seed,
    )


class CommunityKeeper:
    """Called by the writer's thread, between commits."""

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
        self._running: Future[Partition] | None = None
        self._started = self._finished = clock()
        self._took = 0.0
        self._died = 0
        # The counts that the partition in force, and the one being computed, stand for.
        self._grouped = writer.grouped()
        self._asked = Sums()

    def step(self, *, idle: bool) -> GenerationReport | None:
        """Adopt a finished run, or start one that is due. Never waits."""
        if self._running is not None:
            return self._adopt(self._running) if self._running.done() else None
        since = self._clock() - self._finished
        changed = self._state() != self._grouped
        if due(
            changed=changed,
            idle=idle,
            since_last=since,
            last_took=self._took,
            settings=self._settings,
        ):
            self._start()
        return None

    def finish(self) -> Iterator[GenerationReport]:
        """Wait for a run in progress and bring the communities up to date with the counts."""
        while self._running is not None or self._state() != self._grouped:
            if self._running is None:
                self._start()
            report = None if self._running is None else self._adopt(self._running)
            if report is not None:
                yield report

    def close(self) -> None:
        """Stop the process beside the writer; a run in progress is dropped."""
        if self._workers is not None:
            self._workers.shutdown(wait=False, cancel_futures=True)
            for child in list((self._workers._processes or {}).values()):  # noqa: SLF001
                child.terminate()
            self._workers = None

    def _state(self) -> Sums:
        return self._writer.generation.sums

    def _start(self) -> None:
        counts = self._writer.counts
        arrays = CountArrays.of(counts, self._writer.latest().concept_count, self._settings.pruning)
        if self._workers is None:
            context = multiprocessing.get_context("spawn")
            self._workers = ProcessPoolExecutor(
                1, mp_context=context, initializer=_belong_to_parent
            )
        self._started = self._clock()
        self._asked = self._state()
        self._running = self._workers.submit(group, arrays, self._settings)

    def _adopt(self, running: "Future[Partition]") -> GenerationReport | None:
        self._running = None
        self._finished = self._clock()
        try:
            found = running.result()
        except BrokenProcessPool:
            # The process was killed, by the system for its memory perhaps: the stream goes on with
            # the communities it has, and a new process tries again when it is due.
            self._workers = None
            self._died += 1
            if self._died == _MOST_DEATHS:
                raise
            return None
        self._died = 0
        writer = self._writer
        count = writer.latest().concept_count
        living = np.zeros(count, np.bool_)
        living[: len(writer.counts.f)] = writer.counts.f[:count] > 0
        found = replace(found, labels=tuple(_living(row, living) for row in found.labels))
        adoption = adopt(
            writer.latest().hierarchy, found, count, writer.generation.next_numbers.community
        )
        report = writer.adopt(adoption, found.modularity, self._asked, self._settings.pruning)
        self._took = self._clock() - self._started
        self._grouped = self._asked
        return report


def _belong_to_parent() -> None:
    """End with the writer, however it ends; an interrupt at the terminal is for the writer."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)


def _living(labels: Int32Array, living: np.ndarray) -> Int32Array:
    """Labels without concepts that have vanished meanwhile, renumbered without gaps."""
    kept = labels.copy()
    kept[~living[: len(labels)]] = -1
    placed = kept >= 0
    if placed.any():
        kept[placed] = np.unique(kept[placed], return_inverse=True)[1].astype(np.int32)
    return kept
