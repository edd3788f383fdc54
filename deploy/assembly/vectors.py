"""The vector index beside the store, from settings: which one, who follows, what is told of it."""

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from importlib import util
from pathlib import Path

from deploy.errors import UsageError
from deploy.settings import Settings
from index.checks import Check, Progress
from index.errors import IndexingError, VectorIndexBusyError, VectorIndexError
from index.snapshot import Snapshot
from index.vectors.beside import edge_beside
from index.vectors.breaker import Breaker
from index.vectors.compare import compare
from index.vectors.follower import VectorFollower
from index.vectors.protocol import FollowFailure, FollowReport, VectorIndex
from index.vectors.similarity import IndexedSimilarity
from query.service.status import VectorStatus

OWNER_NAME = "vectors.id"
EDGE_NAME = "vectors"
EDGE_PACKAGE = "qdrant_edge"

FOLLOW_EVERY = 0.2
"""Seconds between two looks whether there is a new generation."""

LOOK_EVERY = 5.0
"""Seconds between two looks at an index that has everything: is it still there?"""

Report = FollowReport | FollowFailure


def kind(settings: Settings) -> str:
    """``qdrant``, ``edge`` or ``exact``. Raises ``UsageError`` for what cannot be had."""
    if settings.vectors == "qdrant" and not settings.qdrant_url:
        raise UsageError("vectors = qdrant needs the server's address: --qdrant URL")
    if settings.vectors == "edge" and util.find_spec(EDGE_PACKAGE) is None:
        raise UsageError('vectors = edge needs the extra "edge": pip install "tidegraph[edge]"')
    if settings.vectors != "auto":
        return settings.vectors
    if settings.qdrant_url:
        return "qdrant"
    return "edge" if util.find_spec(EDGE_PACKAGE) is not None else "exact"


def collection(settings: Settings) -> str:
    """Name of the collection in Qdrant."""
    return settings.qdrant_collection or f"tidegraph_{settings.collection}"


def opened(settings: Settings) -> VectorIndex | None:
    """The index of the settings, not asked anything yet; None for exact search alone.

    Raises:
        UsageError: The settings cannot be used.
    """
    which = kind(settings)
    if which == "edge":
        return edge_beside(settings.data / EDGE_NAME)
    if which == "exact":
        return None
    # The client's import takes a second that nobody else should pay.
    from index.vectors.qdrant import QdrantSettings, connected  # noqa: PLC0415

    try:
        return connected(
            QdrantSettings(
                url=settings.qdrant_url,
                collection=collection(settings),
                api_key=settings.qdrant_api_key.get_secret_value(),
                ca_file=settings.qdrant_ca_file,
                timeout=settings.qdrant_timeout,
            )
        )
    except VectorIndexError as error:
        raise UsageError(str(error)) from error


class Vectors:
    """The index of a process, its search and its state; ``status`` may be called by any thread."""

    def __init__(self, settings: Settings, index: VectorIndex, kind_: str) -> None:
        self._settings = settings
        self._index = index
        self._kind = kind_
        self._breaker = Breaker(time.monotonic)
        self._last: FollowReport | None = None
        self._building = False
        self.similar = IndexedSimilarity(
            index, self._breaker, settings.vectors_exact, time.monotonic
        )

    def status(self, generation: int) -> VectorStatus:
        """What is known of the index, beside the newest generation; nothing is asked."""
        last, mark = self._last, self.similar.known
        at = last.generation if last is not None else mark.generation if mark is not None else None
        return VectorStatus(
            index=self._kind,
            generation=at,
            lag=None if at is None else max(0, generation - at),
            points=None if last is None else last.points,
            problem=self._breaker.problem,
            building=self._building,
        )

    def follow(
        self,
        stop: threading.Event,
        latest: Callable[[], Snapshot],
        observe: Callable[[Report], None],
    ) -> None:
        """Keep the index at the newest generation until it is to stop; failures are told."""
        follower = VectorFollower(self._index, self._settings.data, owner(self._settings.data))
        looked = -LOOK_EVERY
        while not stop.wait(self._pause()):
            generation = latest().generation
            idle = self._last is not None and self._last.generation == generation
            if not self._wanted(latest()) or (idle and time.monotonic() - looked < LOOK_EVERY):
                continue
            self._step(follower, observe)
            looked = time.monotonic()

    def _pause(self) -> float:
        if self._last is not None and not self._last.done and self._breaker.closed:
            return 0.0
        return max(FOLLOW_EVERY, self._breaker.wait)

    def _wanted(self, snapshot: Snapshot) -> bool:
        """Whether it is time to keep an index: the embedded engine is for large stores."""
        by_choice = self._kind == "qdrant" or self._settings.vectors == "edge"
        return by_choice or snapshot.head.totals.chunks > self._settings.vectors_exact

    def _step(self, follower: VectorFollower, observe: Callable[[Report], None]) -> None:
        try:
            report = follower.step()
            self._building = report.done and self._index.settle()
        except VectorIndexBusyError:
            self._building = True
            return
        except Exception as error:  # noqa: BLE001  an index is never a reason to stop indexing
            problem = str(error) or type(error).__name__
            self._breaker.failed(problem)
            observe(FollowFailure(self._kind, problem, round(self._breaker.wait, 1)))
            return
        self._breaker.succeeded()
        self._last = report
        if report.upserted or report.deleted or report.reset:
            observe(report)

    def reached(self, snapshot: Snapshot, stop: threading.Event) -> None:
        """Wait until the index holds a snapshot's generation, fails, or it is to stop."""
        while self._wanted(snapshot) and not self._breaker.problem:
            last = self._last
            done = last is not None and last.done and last.generation >= snapshot.generation
            if (done and not self._busy()) or stop.wait(FOLLOW_EVERY):
                return

    def _busy(self) -> bool:
        """Whether the index still puts itself in order."""
        try:
            self._index.mark()
        except VectorIndexBusyError:
            return True
        except VectorIndexError:
            return False
        return False

    def watch(self, stop: threading.Event) -> None:
        """Know whether the index is there, in a process that only asks it."""
        while not stop.wait(LOOK_EVERY):
            self.similar.mark()


@contextmanager
def beside(settings: Settings, *, follows: bool) -> Iterator[Vectors | None]:
    """The vectors of a process; None where the snapshot alone is searched.

    The embedded engine belongs to the process that writes; others search exactly.
    """
    which = kind(settings)
    index = None if which == "edge" and not follows else opened(settings)
    if index is None:
        yield None
        return
    with closing(index):
        yield Vectors(settings, index, which)


@contextmanager
def kept(
    settings: Settings, latest: Callable[[], Snapshot], observe: Callable[[Report], None]
) -> Iterator[Vectors | None]:
    """The vectors of the process that writes, followed in a thread of their own."""
    with beside(settings, follows=True) as vectors:
        if vectors is None:
            yield None
            return
        with _thread(lambda stop: vectors.follow(stop, latest, observe)):
            yield vectors


@contextmanager
def watched(settings: Settings) -> Iterator[Vectors | None]:
    """The vectors of a process that only asks, looked at in a thread of their own."""
    with beside(settings, follows=False) as vectors:
        if vectors is None:
            yield None
            return
        with _thread(vectors.watch):
            yield vectors


@contextmanager
def _thread(work: Callable[[threading.Event], None]) -> Iterator[None]:
    stop = threading.Event()
    thread = threading.Thread(target=work, args=(stop,), name="vectors")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def owner(directory: Path) -> str:
    """The lasting id of a data directory, made at first use; an index says whose it is by it."""
    path = directory / OWNER_NAME
    try:
        return path.read_text("utf-8").strip()
    except FileNotFoundError:
        path.write_text(uuid.uuid4().hex, "utf-8")
        return owner(directory)


def checks(settings: Settings, progress: Progress) -> list[Check]:
    """The index compared with the store; one check that fails where it cannot be reached."""
    index = opened(settings)
    if index is None:
        return [Check("vector index", ok=True, detail="none; the snapshot is searched exactly")]
    with closing(index):
        try:
            return compare(index, settings.data, owner(settings.data), progress)
        except VectorIndexError as error:
            return [Check("vector index", ok=False, detail=str(error))]


def told(settings: Settings) -> tuple[bool, str]:
    """Whether the index can be used, and what it holds, for ``doctor``."""
    index = opened(settings)
    if index is None:
        return True, "none; the snapshot is searched exactly"
    with closing(index):
        try:
            mark, points = index.mark(), index.count()
        except IndexingError as error:
            return False, str(error)
    if mark is None:
        return True, f"{index.name}: reached; holds no index yet"
    return True, f"{index.name}: generation {mark.generation}, {points:,} points"
