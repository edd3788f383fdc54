"""The arrays of counts and communities beside the store, so that a large index starts at once.

Written when the writer is closed, and beside it while the stream is quiet; good for the very
generation that it was written at. A start that finds none, or one that is not, counts from the
stored chunks and lets everybody settle anew: slower, and never wrong.
"""

import shutil
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from index.communities.arrays import LAYOUT
from index.communities.dynamic import DynamicSettings
from index.communities.epoch import Epoch
from index.communities.hierarchy import Hierarchy
from index.communities.live import LiveCommunities
from index.counts.graph import Counts
from index.errors import ArrayFileError
from index.store.array_file import begun_path, read_arrays, read_note, write_arrays
from index.store.beside import checkpoint_path
from index.store.generations import Generation

LEAST_EDGES = 1_000_000
"""Edges from which a checkpoint is written. Measured, processor seconds of a start with and
without: .1 and .6 at a million edges, 1.6 and 7.8 at ten; below, it is not worth a file."""
QUIET = 60.0
"""Seconds without a new generation after which one is written."""
_SHARE = 0.01  # of the time that may be spent on writing while the stream is quiet
_SPARE = 1 << 28  # bytes that a checkpoint must leave free on its volume


class Outcome(StrEnum):
    """What became of a checkpoint."""

    WRITTEN = "written"
    RESUMED = "resumed"
    UNUSABLE = "unusable"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class CheckpointReport:
    """One look at a checkpoint. ``unusable``: found, and why the counts are made anew instead.

    ``failed``: it could not be written, and why. ``seconds``: how long it took.
    """

    path: Path
    outcome: Outcome
    generation: int
    detail: str = ""
    bytes: int = 0
    seconds: float = 0.0


Told = Callable[[CheckpointReport], None]


class _GivenUpError(Exception):
    """The arrays are about to change."""


class Checkpoint:
    """The checkpoint of one store file; for the writer's thread.

    ``least``: edges from which one is written. ``quiet``: seconds without a new generation after
    which ``rest`` writes one; 0: never.
    """

    def __init__(
        self,
        store: Path,
        *,
        least: int = LEAST_EDGES,
        quiet: float = QUIET,
        told: Told,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = checkpoint_path(store)
        self._least = least
        self._quiet = quiet
        self._told = told
        self._clock = clock
        self._stands_for: bytes | None = None
        self._seen: bytes | None = None  # the generation that ``rest`` saw last, and since when
        self._since = self._next = 0.0
        self._beside: threading.Thread | None = None
        self._given_up = threading.Event()
        self.problem = ""
        begun_path(self._path).unlink(missing_ok=True)

    def resume(
        self,
        hierarchy: Hierarchy,
        generation: Generation,
        epoch: Epoch | None,
        dynamic: DynamicSettings,
    ) -> LiveCommunities | None:
        """Counts and communities where they stood; None, and told why, where they are not there.

        ``hierarchy``: the stored one, of ``generation``.
        """
        started = time.perf_counter()
        number = generation.head.generation
        try:
            check(read_note(self._path), generation, dynamic)
            live = _live(read_arrays(self._path), hierarchy, generation, epoch, dynamic)
        except FileNotFoundError:
            return None
        except (ArrayFileError, OSError) as error:
            self._tell(Outcome.UNUSABLE, number, started, str(error))
            return None
        self._stands_for = generation.checksum
        self._tell(Outcome.RESUMED, number, started)
        return live

    def write(
        self, live: LiveCommunities, generation: Generation, dynamic: DynamicSettings
    ) -> None:
        """Write one for a generation, where the graph is large and the file not yet there."""
        self.hold()
        arrays = self._due(live, generation)
        if arrays is not None:
            self._write(arrays, generation, dynamic)

    def rest(self, live: LiveCommunities, generation: Generation, dynamic: DynamicSettings) -> None:
        """Called while nothing comes: writes one beside once it has been quiet; never waits.

        The arrays are written as they lie there, without a copy: they must not change until
        ``hold``. At most ``_SHARE`` of the time is spent on it.
        """
        now = self._clock()
        if generation.checksum != self._seen:
            self._seen, self._since = generation.checksum, now
        quiet = self._quiet and now >= max(self._since + self._quiet, self._next)
        if not quiet or (self._beside is not None and self._beside.is_alive()):
            return
        arrays = self._due(live, generation)
        if arrays is not None:
            self._given_up.clear()
            self._beside = threading.Thread(
                target=self._write, args=(arrays, generation, dynamic), daemon=True
            )
            self._beside.start()

    def hold(self) -> None:
        """Before the arrays change: what ``rest`` began is given up, within one block."""
        if self._beside is not None:
            self._given_up.set()
            self._beside.join()
            self._beside = None
        self._given_up.clear()

    def _due(self, live: LiveCommunities, generation: Generation) -> dict[str, np.ndarray] | None:
        """What is to be written; None where the graph is small or the file there already."""
        if live.counts.edge_count < self._least or self._stands_for == generation.checksum:
            return None
        return live.saved()

    def _write(
        self,
        arrays: Mapping[str, np.ndarray],
        generation: Generation,
        dynamic: DynamicSettings,
    ) -> None:
        started, number = time.perf_counter(), generation.head.generation
        try:
            _check_room(self._path.parent, sum(array.nbytes for array in arrays.values()))
            write_arrays(self._path, _note(generation, dynamic), arrays, self._look)
        except _GivenUpError:
            return
        except (ArrayFileError, OSError) as error:
            self._tell(Outcome.FAILED, number, started, str(error))
        else:
            self._stands_for = generation.checksum
            self._tell(Outcome.WRITTEN, number, started)
        self._next = self._clock() + (time.perf_counter() - started) / _SHARE

    def _look(self) -> None:
        if self._given_up.is_set():
            raise _GivenUpError

    def _tell(self, outcome: Outcome, generation: int, started: float, detail: str = "") -> None:
        size = self._path.stat().st_size if self._path.exists() else 0
        seconds = time.perf_counter() - started
        self.problem = detail
        self._told(CheckpointReport(self._path, outcome, generation, detail, size, seconds))


def check(note: Mapping[str, Any], now: Generation, dynamic: DynamicSettings | None = None) -> None:
    """Raise ``ArrayFileError`` where a checkpoint does not stand for a generation.

    The generation's checksum goes over all before it, so that another history is noticed, too.
    ``dynamic``: the settings in force; None where they do not matter.
    """
    wanted = _note(now, dynamic or DynamicSettings())
    if note["layout"] != wanted["layout"]:
        raise ArrayFileError("another release wrote it")
    if note["checksum"] != wanted["checksum"]:
        raise ArrayFileError(
            f"it is of generation {note['generation']}, the store of {wanted['generation']}"
        )
    if dynamic is not None and note["dynamic"] != wanted["dynamic"]:
        raise ArrayFileError("the settings of the communities are others now")


def _check_room(directory: Path, size: int) -> None:
    if shutil.disk_usage(directory).free < size + _SPARE:
        raise ArrayFileError(f"the volume has no room for {size:,} bytes")


def _note(generation: Generation, dynamic: DynamicSettings) -> dict[str, Any]:
    return {
        "layout": list(LAYOUT),
        "generation": generation.head.generation,
        "checksum": generation.checksum.hex(),
        "dynamic": asdict(dynamic),
    }


def _live(
    arrays: Mapping[str, np.ndarray],
    hierarchy: Hierarchy,
    generation: Generation,
    epoch: Epoch | None,
    dynamic: DynamicSettings,
) -> LiveCommunities:
    """Raises ``ArrayFileError`` where the arrays and the store do not say the same."""
    ids, totals = arrays["ids"][arrays["order"]], generation.head.totals
    if epoch is None or not np.array_equal(ids, hierarchy.ids):
        raise ArrayFileError("it holds other communities than the store")
    if arrays["totals"].tolist() != [totals.frequency_sum, totals.weight_sum, 2 * totals.edges]:
        raise ArrayFileError("it holds other counts than the store")
    counts = Counts.restored(arrays)
    next_id = generation.next_numbers.community
    return LiveCommunities(counts, hierarchy, epoch, next_id, dynamic, arrays)
