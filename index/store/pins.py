"""Pinning: a snapshot and a read transaction of the same generation, held for a while."""

import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from index.errors import StoreError
from index.snapshot import Change, Snapshot
from index.store.change_log import ChangeLog
from index.store.connection import open_readonly
from index.store.displays import Displays
from index.store.reader import StoreView

PIN_SECONDS = 120.0
"""A pin's longest life: a read transaction keeps the write-ahead log from shrinking."""
_REMEMBERED = 8  # snapshots that a transaction begun a moment ago may still ask for
_PATIENCE = 5.0  # seconds between a commit and its publication, at the very most


class Pins:
    """Hands out views. ``publish`` and ``follow`` are called by one thread, ``pin`` by any."""

    def __init__(self, path: Path, *, seconds: float = PIN_SECONDS) -> None:
        self._path = path
        self._seconds = seconds
        self._idle: list[sqlite3.Connection] = []
        self._snapshots: OrderedDict[int, Snapshot] = OrderedDict()
        self._latest: Snapshot | None = None
        self._changes = ChangeLog()
        self._displays = Displays()
        self._lock = threading.Lock()
        self._closed = False

    def publish(self, snapshot: Snapshot) -> None:
        """Make a snapshot the newest."""
        self._offer(snapshot)
        self._displays.begin(snapshot.generation)

    def follow(self, change: Change) -> None:
        """Make the newest snapshot's successor the newest."""
        before = self.latest()
        self._offer(before.following(change))
        self._displays.follow(before, change)

    def _offer(self, snapshot: Snapshot) -> None:
        with self._lock:
            self._snapshots[snapshot.generation] = snapshot
            self._latest = snapshot
            while len(self._snapshots) > _REMEMBERED:
                self._snapshots.popitem(last=False)

    def latest(self) -> Snapshot:
        """The newest snapshot."""
        if self._latest is None:
            raise StoreError("no snapshot is loaded yet")
        return self._latest

    @contextmanager
    def pin(self, refresh: Callable[[], object] | None = None) -> Iterator[StoreView]:
        """A view of the newest generation. ``refresh`` brings newer snapshots in, if need be."""
        connection = self._borrow()
        try:
            snapshot = self._begin(connection, refresh)
            view = StoreView(
                connection, snapshot, self._changes, self._displays, seconds=self._seconds
            )
            try:
                yield view
            finally:
                view.close()
        finally:
            self._give_back(connection)

    def _begin(
        self, connection: sqlite3.Connection, refresh: Callable[[], object] | None
    ) -> Snapshot:
        deadline = time.monotonic() + _PATIENCE
        while True:
            connection.execute("BEGIN")
            row = connection.execute("SELECT max(id) FROM generations").fetchone()
            snapshot = self._snapshots.get(row[0] or 0)
            if snapshot is not None:
                return snapshot
            connection.execute("COMMIT")
            if refresh is not None:
                refresh()
            if time.monotonic() > deadline:
                raise StoreError(f"no snapshot of generation {row[0]} was published")
            time.sleep(0.002)

    def _borrow(self) -> sqlite3.Connection:
        with self._lock:
            if self._closed:
                raise StoreError("the index is closed")
            if self._idle:
                return self._idle.pop()
        return open_readonly(self._path)

    def _give_back(self, connection: sqlite3.Connection) -> None:
        connection.set_progress_handler(None, 0)
        if connection.in_transaction:
            connection.execute("COMMIT")
        with self._lock:
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        """Close idle connections; those in use close when they come back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
