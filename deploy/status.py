"""What ``/v1/status`` tells of this process: one look at the snapshot, the stream, the machine."""

import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from deploy import process
from deploy.rates import Rates
from index.errors import IndexingError
from index.snapshot import Head
from index.store import beside, dead_letters
from index.store.connection import open_readonly, store_path
from index.types import Millis
from index.view import SnapshotSource
from query.model.session import NAME as BY_MODEL
from query.service.status import (
    CheckpointStatus,
    ExpiryStatus,
    FollowStatus,
    GroupingStatus,
    Operations,
    StatusReport,
    VectorStatus,
)

if TYPE_CHECKING:  # its import compiles kernels, which a reader does not need
    from stream.consumer import ConsumerStatus

ASSESSOR = "offline"
"""What judges relevance where no model is set."""

Backlog = Callable[[Mapping[tuple[str, int], int]], tuple[int | None, float | None]]

UNKNOWN_AFTER = 10.0
"""Seconds after which a consumer that has not looked at its source does not know its lag."""
LOOKS_LAST = 2.0
"""Seconds for which what costs a look at disk or processes is told again."""


@dataclass(frozen=True, slots=True)
class _Looked:
    """What was seen on disk and of the processes, and when."""

    at: float
    memory: int
    store: int
    wal: int
    free: int | None
    rejects: Mapping[str, int]
    checkpoint: beside.Kept | None


class Status:
    """Makes the ``StatusReport`` of a process; for any thread.

    Args:
        directory: the data directory.
        source: where snapshots come from.
        role: ``run`` or ``serve``.
        collection: name of the collection.
        consumer: the consumer's state, in the process that has one.
        rates: how fast it goes, in the same process.
        backlog: records not yet searchable and the age of the oldest, from the positions, where
            another process reads the stream.
        vectors: the state of the vector index beside a generation, where there is one.
        grouping: how the communities keep up, in the process that writes.
        held: why partitions do not go on, where analyses come from other hosts.
        follows: how the store stands to the writer on another host that it follows.
        problem: why no checkpoint was used or written, in the process that writes.
    """

    def __init__(
        self,
        directory: Path,
        source: SnapshotSource,
        *,
        role: str,
        collection: str,
        model: str = "",
        consumer: "Callable[[], ConsumerStatus] | None" = None,
        rates: Rates | None = None,
        backlog: Backlog = lambda _: (None, None),
        vectors: Callable[[int], VectorStatus] | None = None,
        grouping: Callable[[], GroupingStatus] | None = None,
        held: Callable[[], Mapping[tuple[str, int], str]] = dict,
        follows: Callable[[int, Millis | None], FollowStatus] | None = None,
        problem: Callable[[], str] = str,
    ) -> None:
        self._directory = directory
        self._assessor = BY_MODEL if model else ASSESSOR
        self._source = source
        self._role = role
        self._collection = collection
        self._consumer = consumer
        self._rates = rates
        self._backlog = backlog
        self._vectors = vectors
        self._grouping = grouping
        self._held = held
        self._follows = follows
        self._problem = problem
        self._started = time.monotonic()
        self._looked: _Looked | None = None

    def __call__(self) -> StatusReport:
        """One look."""
        snapshot = self._source.latest()
        head, totals = snapshot.head, snapshot.head.totals
        consumer = None if self._consumer is None else self._consumer()
        lag, freshness = self._lag(consumer, head.positions)
        known = head.generation > 0
        return StatusReport(
            generation=head.generation,
            documents=totals.documents,
            chunks=totals.chunks,
            concepts=totals.concepts,
            edges=totals.edges,
            communities=dict(enumerate(snapshot.hierarchy.levels)),
            modularity=dict(enumerate(totals.modularity)),
            positions=head.positions,
            lag=lag,
            freshness_seconds=freshness,
            committed_at=head.committed_at if known else None,
            watermark=head.watermark if known else None,
            newest_arrival=Millis(head.newest_arrival) if known else None,
            operations=self._operations(consumer, head),
            expiry=ExpiryStatus(head.horizon, totals.due, totals.expired, totals.late),
        )

    def _lag(
        self, consumer: "ConsumerStatus | None", positions: Mapping[tuple[str, int], int]
    ) -> tuple[int | None, float | None]:
        if consumer is not None:
            lag = sum(consumer.lag.values()) + consumer.queue
            busy = consumer.looked > UNKNOWN_AFTER and not consumer.queue
            if consumer.running and (busy or (consumer.away and not lag)):
                # Something long is done, or the source is away: nobody knows what came since.
                return None, None
            return lag, consumer.freshness
        return self._backlog(positions)

    def _operations(self, consumer: "ConsumerStatus | None", head: Head) -> Operations:
        looked = self._look()
        documents, generations = (None, None) if self._rates is None else self._rates.means()
        vectors = None if self._vectors is None else self._vectors(head.generation)
        committed_at = head.committed_at if head.generation else None
        follows = None if self._follows is None else self._follows(head.generation, committed_at)
        away = consumer is not None and consumer.away
        parts = (
            ("source", away),
            ("analyses", bool(self._held())),
            ("vectors", vectors is not None and bool(vectors.problem)),
            ("writer", follows is not None and bool(follows.problem)),
        )
        return Operations(
            version=process.release(),
            collection=self._collection,
            role=self._role,
            assessor=self._assessor,
            uptime_seconds=time.monotonic() - self._started,
            documents_per_second=documents,
            generations_per_minute=generations,
            queue_depth=None if consumer is None else consumer.queue,
            queue_bytes=None if consumer is None else consumer.queue_bytes,
            degraded=tuple(name for name, lost in parts if lost),
            vectors=vectors,
            grouping=None if self._grouping is None else self._grouping(),
            follows=follows,
            checkpoint=self._checkpoint(looked.checkpoint, head.generation),
            rejects=looked.rejects,
            dead_letters_pending=sum(looked.rejects.values()),
            memory_bytes=looked.memory,
            store_bytes=looked.store,
            wal_bytes=looked.wal,
            disk_free_bytes=looked.free,
        )

    def _checkpoint(self, kept: beside.Kept | None, generation: int) -> CheckpointStatus:
        if kept is None:
            return CheckpointStatus(problem=self._problem())
        current = kept.generation == generation
        written = kept.generation, kept.bytes, kept.written_at
        return CheckpointStatus(*written, current=current, problem=self._problem())

    def _look(self) -> _Looked:
        now = time.monotonic()
        looked = self._looked
        if looked is None or now - looked.at > LOOKS_LAST:
            path = store_path(self._directory)
            looked = self._looked = _Looked(
                at=now,
                memory=process.memory_bytes(),
                store=_size(path),
                wal=_size(path.with_name(path.name + "-wal")),
                free=_free(self._directory),
                rejects=_rejects(path),
                checkpoint=beside.kept(path),
            )
        return looked


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _free(directory: Path) -> int | None:
    try:
        return shutil.disk_usage(directory).free
    except OSError:
        return None


def _rejects(path: Path) -> Mapping[str, int]:
    try:
        with closing(open_readonly(path)) as connection:
            return dead_letters.counts(connection)
    except IndexingError:
        return {}
