"""The generations of one store as its writer adds them: a transaction, a row, a publication each.

One thread owns a ``GenerationLog``; only ``pin`` and ``latest`` may be called from others.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from index.checksums import Sums
from index.communities.live import LiveCommunities
from index.snapshot import Change, Head, Snapshot
from index.store import generations
from index.store.fence import Fence
from index.store.folding import Folding
from index.store.generations import Generation
from index.store.pins import Pins
from index.store.reader import StoreView
from index.store.rows import NextNumbers
from index.types import Int64Array, Millis

Clock = Callable[[], float]
"""Seconds since 1970."""

_NO_SLOTS = np.zeros(0, np.int64)


class GenerationLog:
    """Begins at ``newest``, whose snapshot is published at once."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        newest: Generation,
        snapshot: Snapshot,
        clock: Clock,
    ) -> None:
        self.newest = newest
        self._connection = connection
        self._clock = clock
        self._failed = False
        self._fence = Fence(connection, path)
        self._folding = Folding(connection, path)
        self._pins = Pins(path)
        self._pins.publish(snapshot)

    def latest(self) -> Snapshot:
        """See ``SnapshotSource.latest``."""
        return self._pins.latest()

    def pin(self) -> AbstractContextManager[StoreView]:
        """See ``SnapshotSource.pin``."""
        return self._pins.pin()

    @contextmanager
    def transaction(self) -> Iterator[int]:
        """The transaction of the next generation, whose number it gives.

        After one that failed it begins as a restart would: under a writer epoch of its own, by
        which the store tells where every concept was queued. Raises ``WriterFencedError``.
        """
        if self._failed:
            self._fence.renew()
            self._failed = False
        try:
            with self._fence.transaction():
                yield self.newest.head.generation + 1
        except BaseException:
            self._failed = True
            raise

    def next_head(self) -> Head:
        """The head of a generation without arrivals."""
        before = self.newest.head
        return replace(before, generation=before.generation + 1, committed_at=self.now())

    def insert(
        self,
        head: Head,
        live: LiveCommunities,
        numbers: NextNumbers | None = None,
        sums: Sums | None = None,
        retracted: Int64Array = _NO_SLOTS,
        *,
        regrouped: bool,
    ) -> Generation:
        """Write the generation's row, in its transaction; what is not given is as before."""
        before = self.newest
        numbers = replace(numbers or before.next_numbers, community=live.next_id)
        epoch = live.hierarchy.epoch
        generation = Generation(head, epoch, self._fence.epoch, numbers, sums or before.sums, b"")
        return generations.insert(
            self._connection, before, generation, retracted, regrouped=regrouped
        )

    def publish(self, generation: Generation, change: Change) -> None:
        """Once it is committed: give it to those who read."""
        self.newest = generation
        self._pins.follow(change)
        self._folding.fold()

    def now(self) -> Millis:
        """The time, but never before the newest generation's.

        A clock that is set back would else put what is told by its time (tombstones, dead letters)
        before what came earlier, where nobody who reads on from there would find it.
        """
        return max(Millis(round(self._clock() * 1000)), self.newest.head.committed_at)

    def close(self) -> None:
        """Views in use stay valid until they are closed."""
        self._pins.close()
