"""A follower: reads another process's store, generation by generation."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from index.analysis.fingerprint import Fingerprint
from index.errors import StoreError
from index.segment import Segment, merge
from index.snapshot import Change, Snapshot
from index.store import communities, meta
from index.store.connection import open_readonly, store_path, translated
from index.store.generations import Generation, latest
from index.store.load import Names, segments, whole_snapshot
from index.store.pins import Pins
from index.store.reader import StoreView
from index.store.rows import int64_array
from index.types import Int32Array, Int64Array


class Follower:
    """A ``SnapshotSource`` that can never write. ``refresh`` may be called by any thread."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._busy = threading.Lock()
        self._load(store_path(directory))

    @classmethod
    def open(cls, directory: Path) -> "Follower":
        """Follow the store of a directory; raises ``StoreError`` where there is none."""
        return cls(directory)

    def _load(self, path: Path) -> None:
        connection = open_readonly(path)
        with translated(path), _reading(connection):
            stored = meta.stored_fingerprint(connection)
            if stored is None:
                raise StoreError(f"{path} has no generation yet; start the writer first")
            names = Names()
            generation, snapshot = whole_snapshot(connection, names, stored.dimensions)
        pins = Pins(path)
        pins.publish(snapshot)
        self.fingerprint: Fingerprint = stored
        self._path, self._connection, self._names = path, connection, names
        self._generation, self._pins = generation, pins

    def refresh(self) -> bool:
        """Catch up with the writer; whether there was anything new."""
        with self._busy:
            path = store_path(self._directory)
            if path == self._path:
                return self._follow()
            before = self._pins, self._connection
            self._load(path)  # a reindex has switched to another file
            before[0].close()
            before[1].close()
            return True

    def _follow(self) -> bool:
        with _reading(self._connection):
            newest = latest(self._connection)
            if newest.head.generation == self._generation.head.generation:
                return False
            change = self._change(newest)
            if change is None:
                self._names = Names()
                dimensions = self._pins.latest().dimensions
                self._pins.publish(whole_snapshot(self._connection, self._names, dimensions)[1])
            else:
                self._pins.follow(change)
            self._generation = newest
            return True

    def _change(self, newest: Generation) -> Change | None:
        """What ``newest`` does to our snapshot in one step; None where all is read anew."""
        since = self._generation.head.generation
        rows = self._connection.execute(
            "SELECT retracted, regrouped FROM generations WHERE id > ? ORDER BY id", (since,)
        ).fetchall()
        snapshot = self._pins.latest()
        if len(rows) != newest.head.generation - since:
            return None
        self._names.read_concepts(self._connection)
        retracted = int64_array(b"".join(row[0] for row in rows))
        added = self._added(newest)
        count = newest.next_numbers.concept
        frequency_of, frequency = _frequencies(snapshot, added, retracted, count)
        regrouped = any(row[1] for row in rows)
        return Change(
            head=newest.head,
            added=added,
            retracted=np.sort(retracted),
            concept_count=count,
            frequency_of=frequency_of,
            frequency=frequency,
            hierarchy=communities.read_on(
                self._connection, snapshot.hierarchy, since, count, newest.epoch
            )
            if regrouped
            else None,
        )

    def _added(self, newest: Generation) -> Segment | None:
        parts = list(
            segments(
                self._connection,
                self._names,
                self._pins.latest().dimensions,
                self._generation.next_numbers.chunk,
                newest.next_numbers.chunk,
            )
        )
        return merge(parts) if parts else None

    @contextmanager
    def pin(self) -> Iterator[StoreView]:
        """See ``SnapshotSource.pin``."""
        with self._pins.pin(self.refresh) as view:
            yield view

    def latest(self) -> Snapshot:
        """See ``SnapshotSource.latest``."""
        return self._pins.latest()

    def close(self) -> None:
        """Close the connections."""
        self._pins.close()
        self._connection.close()


def _frequencies(
    snapshot: Snapshot, added: Segment | None, retracted: Int64Array, count: int
) -> tuple[Int32Array, Int32Array]:
    """The concepts whose frequency changed, and the new values."""
    change = np.zeros(count, np.int32)
    if added is not None:
        change += np.bincount(added.concepts, minlength=count).astype(np.int32)
    rows = snapshot.rows_of(retracted)
    gone = snapshot.chunk_concepts[rows[rows >= 0]].indices
    change -= np.bincount(gone, minlength=count).astype(np.int32)
    touched = np.flatnonzero(change).astype(np.int32)
    before = np.zeros(count, np.int32)
    before[: len(snapshot.frequency)] = snapshot.frequency
    return touched, (before + change)[touched]


@contextmanager
def _reading(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("COMMIT")
