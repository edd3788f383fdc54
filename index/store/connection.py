"""SQLite connections: opened the one right way, errors translated."""

import os
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from index.errors import SchemaTooNewError, StoreError
from index.store.copy import put_in_place
from index.store.migrate import Told, migrate, remove_begun

SCHEMA_VERSION = 4
STORE_NAME = "index.db"
CURRENT_NAME = "current"
"""Names the store file in force once a reindex has switched to another one."""
CHECKPOINT_SUFFIX = ".graph"
"""Takes the place of a store file's ``.db`` in the name of its checkpoint."""
BUSY_MILLIS = 10_000
_PAGES_AT_ONCE = 4096  # 16 MiB
_FOLDED_PAGES = 8192  # of the write-ahead log, 32 MiB
_LOG_BYTES = 64 << 20  # of it that stay where it has been longer
_STORE_FILES = re.compile(r"(index(?:-\d+)?)\.(db|db-wal|db-shm|db-journal|graph|graph\.part)")
_FULL = 1 << 20
"""Bytes below which a disk counts as full, when something failed on it."""


def store_path(directory: Path) -> Path:
    """The store file in force in a data directory."""
    try:
        name = (directory / CURRENT_NAME).read_text("utf-8").strip()
    except OSError:
        name = STORE_NAME
    return directory / name


def switch_store(directory: Path, name: str) -> None:
    """Put another store file in force, atomically; a power cut leaves the one or the other."""
    fresh = directory / (CURRENT_NAME + ".new")
    with fresh.open("w", encoding="utf-8") as file:
        file.write(name)
        file.flush()
        os.fsync(file.fileno())
    put_in_place(fresh, directory / CURRENT_NAME)


def remove_store(path: Path) -> None:
    """Remove a store file and what lies beside it; readers that have it open keep it."""
    for beside in (path, *(path.with_name(path.name + part) for part in ("-wal", "-shm"))):
        beside.unlink(missing_ok=True)
    path.with_suffix(CHECKPOINT_SUFFIX).unlink(missing_ok=True)


def remove_unused(directory: Path) -> None:
    """Remove the store files that are not in force, left by a process that was killed.

    Only for who holds the writer's lock: nobody then makes one. Readers that have one open keep it.
    Raises ``StoreError``, and removes nothing, where the store in force is missing: one of the
    others may be what was lost sight of.
    """
    kept = store_path(directory)
    unused = [
        path
        for path in directory.glob("index*")
        if (match := _STORE_FILES.fullmatch(path.name)) and match[1] != kept.stem
    ]
    stores = sorted(path.name for path in unused if path.suffix == ".db")
    if stores and not kept.is_file():
        raise StoreError(
            f"{directory} holds {', '.join(stores)}, but {kept.name}, which is in force, is "
            f"missing; write the right one's name into {directory / CURRENT_NAME}, or remove them"
        )
    with translated(directory):
        for path in unused:
            path.unlink(missing_ok=True)


def next_name(path: Path) -> str:
    """The name of the store file that is to take the place of another."""
    number = path.stem.partition("-")[2]
    return f"index-{int(number or 1) + 1}.db"


def open_writable(path: Path, *, migrated: Told = lambda _: None) -> sqlite3.Connection:
    """Open (or create) a store for its writer; an older schema is brought to the present one.

    ``migrated`` is told before the first change, once a copy is kept. Raises ``StoreError`` with
    what to do.
    """
    with translated(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        connection.execute(f"PRAGMA busy_timeout = {BUSY_MILLIS}")
        # Takes hold in a new file alone; see ``give_back``.
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA journal_mode = WAL")
        # FULL: an acknowledged generation survives a power cut, not only a crash.
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA cache_size = -65536")
        # A batch writes a thousand pages and more, many of them again in the next: folded in after
        # each, as SQLite does unless told otherwise, they are written and synced twice.
        connection.execute(f"PRAGMA wal_autocheckpoint = {_FOLDED_PAGES}")
        connection.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:
            _create(connection)
        else:
            check_version(path, version, oldest=1)
            remove_begun(path.parent)  # it would count against the room
            room = shutil.disk_usage(path.parent).free
            migrate(connection, path, version, SCHEMA_VERSION, told=migrated, room=room)
        return connection


def open_readonly(path: Path) -> sqlite3.Connection:
    """Open an existing store for reading; writing through it is impossible."""
    if not path.exists():
        raise StoreError(f"there is no index at {path.parent}; `tidegraph index` makes one")
    with translated(path):
        connection = sqlite3.connect(
            f"{path.resolve().as_uri()}?mode=ro",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.execute(f"PRAGMA busy_timeout = {BUSY_MILLIS}")
        connection.execute("PRAGMA query_only = ON")
        connection.execute("PRAGMA mmap_size = 268435456")
        check_version(path, connection.execute("PRAGMA user_version").fetchone()[0])
        return connection


def check_version(path: Path, version: int, *, oldest: int = SCHEMA_VERSION) -> None:
    """Refuse a store of another schema; a writer takes older ones, from ``oldest`` on."""
    if version > SCHEMA_VERSION:
        raise SchemaTooNewError(
            f"{path} has schema {version}, this release knows up to {SCHEMA_VERSION}; "
            "use the release that wrote it, or another data directory"
        )
    if version < 1:
        raise StoreError(f"{path} is not an index store; use another data directory")
    if version < oldest:
        raise StoreError(
            f"{path} has schema {version}; run `tidegraph index` once, it brings the store to "
            f"schema {SCHEMA_VERSION} and loses nothing"
        )


def _create(connection: sqlite3.Connection) -> None:
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if tables:
        raise StoreError("the file is another SQLite database; use another data directory")
    schema = files("index.store").joinpath("schema.sql").read_text("utf-8")
    connection.executescript(f"BEGIN; {schema} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;")


def give_back(connection: sqlite3.Connection) -> None:
    """Give free pages at the end of the file back to the disk, a bounded number at a time.

    Half of the free pages stay, for what comes next. Stores made before there was this keep
    theirs; `tidegraph reindex` writes a file without them.
    """
    free = connection.execute("PRAGMA freelist_count").fetchone()[0]
    pages = min(free // 2, _PAGES_AT_ONCE)
    if pages:
        connection.execute(f"PRAGMA incremental_vacuum({pages})").fetchall()


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn what SQLite and the file system raise into ``StoreError``."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise StoreError(f"cannot use {path}: {error}{_space(path, error)}") from error
    except OSError as error:
        raise StoreError(f"cannot use {path}: {error.strerror or error}") from error


def _space(path: Path, error: sqlite3.Error) -> str:
    """What to add where the disk is full: SQLite calls that an I/O error at times."""
    try:
        free = shutil.disk_usage(path.parent).free
    except OSError:
        return ""
    return " (the disk is full)" if free < _FULL and "full" not in str(error) else ""


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """One write transaction: all of it, or none."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
