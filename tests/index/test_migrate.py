"""A change of schema keeps a copy first, and is whole or not at all."""

import gzip
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from index.errors import StoreError
from index.store import migrate
from index.store.connection import SCHEMA_VERSION, STORE_NAME, open_writable
from index.store.copy import size_of
from index.verify import verify
from tests.index.simple import open_writer

GOLDEN = Path(__file__).parent / "golden"
ROOT = Path(__file__).parents[2]
KILLED = """
import os, signal, sqlite3, sys
from pathlib import Path
store, at = sys.argv[1:]
connect = sqlite3.connect

def traced(*arguments, **how):
    connection = connect(*arguments, **how)
    connection.set_trace_callback(
        lambda said: os.kill(os.getpid(), signal.SIGKILL) if said.strip().startswith(at) else None
    )
    return connection

sqlite3.connect = traced
from index.store.connection import open_writable
open_writable(Path(store))
"""
"""A writer that kills itself where SQLite begins a statement."""


def old_store(directory, schema=1):
    path = directory / STORE_NAME
    path.write_bytes(gzip.decompress((GOLDEN / f"schema{schema}.db.gz").read_bytes()))
    return path


def held(path):
    """The schema of a store and what it holds."""
    with closing(sqlite3.connect(path)) as connection:
        (schema,) = connection.execute("PRAGMA user_version").fetchone()
        rows = connection.execute("SELECT id, content_hash FROM documents ORDER BY id").fetchall()
        return schema, rows, connection.execute("SELECT max(id) FROM generations").fetchone()


def names(directory):
    return sorted(
        one.name for one in directory.iterdir() if not one.name.endswith(("-wal", "-shm"))
    )


def test_a_copy_is_kept_before_the_first_change_and_it_is_told(tmp_path):
    path, told = old_store(tmp_path), []
    before = held(path)

    def migrated(report):
        assert held(path) == held(report.copy) == before
        told.append((report.schema, report.wanted, report.copy.name))

    open_writable(path, migrated=migrated).close()
    assert told == [(1, SCHEMA_VERSION, "schema-1.db")]
    assert held(path) == (SCHEMA_VERSION, *before[1:])
    open_writable(path, migrated=migrated).close()
    assert len(told) == 1


def test_one_copy_is_kept_the_newest(tmp_path):
    (tmp_path / "schema-1.db").write_bytes(b"of the change before")
    open_writable(old_store(tmp_path, schema=2)).close()
    assert names(tmp_path) == [STORE_NAME, "schema-2.db"]


def test_communities_of_schema_3_grow_from_the_size_that_they_have(tmp_path):
    writer = open_writer(old_store(tmp_path, schema=3).parent)
    with writer.pin() as view:
        assert [event.kind for event in view.lineage(1, 9).events] == ["birth"]
    writer.close()
    assert verify(tmp_path).ok


@pytest.mark.parametrize(
    ("at", "copied"),
    [("PRAGMA journal_mode = DELETE", False), ("BEGIN", True), ("PRAGMA user_version = ", True)],
    ids=["while it is copied", "before the first change", "before the last"],
)
def test_a_kill_leaves_the_store_as_it_was_and_the_copy_can_be_put_back(tmp_path, at, copied):
    path = old_store(tmp_path)
    before = held(path)
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), at], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL
    assert held(path) == before
    copy = tmp_path / "schema-1.db"
    assert copy.exists() == copied
    if copied:
        assert held(copy) == before
        # As the page on deployment says: what was begun goes, the copy takes its name.
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        copy.replace(path)
    open_writer(tmp_path).close()
    assert held(path) == (SCHEMA_VERSION, *before[1:])
    assert verify(tmp_path).ok
    assert names(tmp_path) == [STORE_NAME, "schema-1.db", "writer.lock"]


def test_without_room_for_the_copy_nothing_is_changed(tmp_path):
    path = old_store(tmp_path)
    before = held(path)
    with closing(sqlite3.connect(path)) as connection:
        size = size_of(connection)
        with pytest.raises(StoreError, match="make room, or move"):
            migrate.migrate(connection, path, 1, SCHEMA_VERSION, told=print, room=size)
    assert held(path) == before
    assert names(tmp_path) == [STORE_NAME]


def test_a_disk_that_fills_up_while_copying_changes_nothing(tmp_path, monkeypatch):
    path = old_store(tmp_path)
    before = held(path)

    def full(_connection, to):
        to.write_bytes(b"half")
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(migrate, "copy_database", full)
    with pytest.raises(StoreError, match="disk is full"):
        open_writable(path)
    assert held(path) == before
    assert names(tmp_path) == [STORE_NAME]


def test_the_copy_of_a_killed_change_does_not_count_against_the_room(tmp_path, monkeypatch):
    path = old_store(tmp_path)
    for name in ("schema-1.new", "schema-1.new-journal"):
        (tmp_path / name).write_bytes(b"half")

    def usage(directory):
        return SimpleNamespace(free=0 if list(directory.glob("schema-1.new*")) else 1 << 40)

    monkeypatch.setattr(shutil, "disk_usage", usage)
    open_writable(path).close()
    assert names(tmp_path) == [STORE_NAME, "schema-1.db"]
