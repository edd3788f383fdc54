"""What a store gives to its twins on other hosts: where it stands, what changed, a whole copy."""

import hashlib
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from index.errors import StoreError
from index.replica.changes import write_changes
from index.replica.errors import NoRoomError
from index.replica.mark import Mark, mark_of, newest
from index.store import generations, meta
from index.store.connection import (
    SCHEMA_VERSION,
    open_readonly,
    store_path,
    translated,
)
from index.store.copy import copy_database, size_of
from index.store.work import REPLICATION, WorkFolder
from index.types import Millis

KEPT_SECONDS = 3600.0
"""How long a checkpoint is kept after it was last asked for: a transfer may be taken up again."""

LEAST_LIMIT = 64 << 20
"""Bytes that a file of changes may always have; else a quarter of the store, see ``_largest``."""

_SPARE = 1.1
"""Free space that a copy must find, in sizes of the store."""


@dataclass(frozen=True, slots=True)
class OriginState:
    """Where a store stands: its newest generation, and what a twin must have in common with it."""

    mark: Mark
    schema: int
    fingerprint: str
    committed_at: Millis
    store_bytes: int


@dataclass(frozen=True, slots=True)
class Body:
    """A file of changes, open and without a name any more; ``digest``: its SHA-256."""

    file: BinaryIO
    size: int
    digest: bytes
    generation: int


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A whole copy of a store at one generation; ``digest``: its SHA-256."""

    path: Path
    size: int
    digest: bytes
    mark: Mark


class Origin:
    """Gives a data directory's store to twins. Safe to use from several threads.

    Its files are in a folder of the process in the data directory, since they may be as large as
    the store.
    """

    def __init__(self, directory: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._directory = directory
        self._clock = clock
        self._work = WorkFolder(directory, REPLICATION)
        self._lock = threading.Lock()
        self._kept: Checkpoint | None = None
        self._asked = 0.0
        self._making: threading.Thread | None = None
        self._failure: StoreError | NoRoomError | None = None

    def state(self) -> OriginState:
        """Where the store stands now. Raises ``StoreError``."""
        self._sweep()
        path = store_path(self._directory)
        with closing(open_readonly(path)) as connection, translated(path):
            connection.execute("BEGIN")
            return OriginState(
                mark=_newest_mark(connection),
                schema=SCHEMA_VERSION,
                fingerprint=meta.get(connection, meta.FINGERPRINT) or "",
                committed_at=generations.latest(connection).head.committed_at,
                store_bytes=size_of(connection),
            )

    def changes(self, since: Mark) -> Body | None:
        """What changed since a mark; None where nothing did. The caller closes the file.

        Raises ``CheckpointNeededError``, or ``StoreError``.
        """
        self._sweep()
        store = store_path(self._directory)
        path = self._work.new_file()
        try:
            given = write_changes(store, since, path, largest=_largest(store))
            if given is None:
                return None
            file = path.open("rb")
        finally:
            path.unlink(missing_ok=True)
        digest = hashlib.file_digest(file, "sha256").digest()
        size = file.tell()
        file.seek(0)
        return Body(file, size, digest, given.generation)

    def checkpoint(self, above: int) -> Checkpoint | None:
        """A whole copy, of a generation ``above`` one; None while it is made, ask again.

        One that was made lately serves all who ask. Raises ``NoRoomError`` or ``StoreError``.
        """
        with self._lock:
            self._asked = self._clock()
            if self._making is not None:
                return None
            failure, self._failure = self._failure, None
            if failure is not None:
                raise failure
            if self._kept is not None and self._serves(self._kept, above):
                return self._kept
            self._making = threading.Thread(target=self._make, name="checkpoint", daemon=True)
            self._making.start()
            return None

    def close(self) -> None:
        """Wait for a copy under way, and remove all files."""
        making = self._making
        if making is not None:
            making.join()
        self._work.close()

    def _serves(self, kept: Checkpoint, above: int) -> bool:
        """Whether a copy is new enough, and changes lead on from it."""
        path = store_path(self._directory)
        with closing(open_readonly(path)) as connection, translated(path):
            here = mark_of(connection, kept.mark.generation) == kept.mark
            return here and (kept.mark.generation > above or newest(connection) <= above)

    def _make(self) -> None:
        made, failure = None, None
        try:
            made = self._copied()
        except (StoreError, NoRoomError) as error:
            failure = error
        with self._lock:
            self._forget()
            self._kept, self._failure, self._making = made, failure, None
            self._asked = self._clock()

    def _copied(self) -> Checkpoint:
        store = store_path(self._directory)
        path = self._work.new_file()
        try:
            with translated(store):
                with closing(open_readonly(store)) as connection:
                    _check_room(self._directory, _SPARE * size_of(connection))
                    copy_database(connection, path)
                with closing(open_readonly(path)) as connection:
                    mark = _newest_mark(connection)
                with path.open("rb") as file:
                    digest = hashlib.file_digest(file, "sha256").digest()
                    return Checkpoint(path, file.tell(), digest, mark)
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    def _sweep(self) -> None:
        with self._lock:
            if self._kept is not None and self._clock() - self._asked > KEPT_SECONDS:
                self._forget()

    def _forget(self) -> None:
        if self._kept is not None:
            self._kept.path.unlink(missing_ok=True)
            self._kept = None


def _newest_mark(connection: sqlite3.Connection) -> Mark:
    mark = mark_of(connection, newest(connection))
    if mark is None:
        raise StoreError("the index changes too fast to say where it stands")
    return mark


def _check_room(directory: Path, needed: float) -> None:
    free = shutil.disk_usage(directory).free
    if free < needed:
        raise NoRoomError(
            f"a checkpoint needs {needed:,.0f} bytes beside the store, and {free:,} are free"
        )


def _largest(store: Path) -> int:
    """Bytes up to which changes are cheaper to take than the whole store."""
    with closing(open_readonly(store)) as connection, translated(store):
        return max(LEAST_LIMIT, size_of(connection) // 4)
