"""Several processes that all want to write one store, and a reader that tries to."""

import json
import sqlite3
import subprocess
import sys

import pytest

from index.store.connection import open_readonly, store_path
from tests.index.simple import Feed, commit, open_writer

CONTENDERS = """
import json, os, signal, sys
from pathlib import Path
from index.errors import StoreLockedError
from index.store.connection import open_writable, store_path
from index.store.fence import Fence
from index.store.lock import WriterLock

held = []  # a lock that nobody refers to is given up

def contend(directory):
    lock = WriterLock(directory)
    held.append(lock)
    try:
        lock.acquire()
    except StoreLockedError as error:
        return str(error)
    path = store_path(directory)
    return f"writes in epoch {Fence(open_writable(path), path).epoch}"

def wave(directory, count):
    start, told = os.pipe(), os.pipe()
    children = []
    for _ in range(count):
        children.append(os.fork())
        if not children[-1]:
            os.close(start[1])
            os.read(start[0], 1)  # until the parent closes it for all at once
            os.write(told[1], contend(directory).encode() + b"\\n")
            signal.pause()
    os.close(start[1])
    with os.fdopen(told[0]) as lines:
        said = [next(lines).strip() for _ in children]
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return said

print(json.dumps([wave(Path(sys.argv[1]), 8) for _ in range(3)]))
"""
"""Waves of processes that open a store in the same moment; each wave ends by SIGKILL."""


def test_of_writers_that_start_at_once_one_writes_and_all_others_say_who(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", CONTENDERS, str(tmp_path / "data")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for number, said in enumerate(json.loads(done.stdout), start=1):
        assert len(said) == 8
        said.remove(f"writes in epoch {number}")
        for line in said:
            assert "is being written by" in line


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM documents",
        "INSERT INTO positions VALUES ('news', 9, 9)",
        "UPDATE meta SET value = 'x'",
        "CREATE TABLE more (n)",
        "DROP TABLE chunks",
        "PRAGMA user_version = 9",
    ],
)
def test_a_reader_cannot_write_the_store_even_where_it_tries(tmp_path, statement):
    writer = open_writer(tmp_path)
    commit(writer, [Feed().upsert("d1", "oil ship")])
    writer.close()
    before = store_path(tmp_path).read_bytes()
    reader = open_readonly(store_path(tmp_path))
    for guarded in ("ON", "OFF"):  # the file itself is open for reading alone
        reader.execute(f"PRAGMA query_only = {guarded}")
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            reader.execute(statement)
    reader.close()
    assert store_path(tmp_path).read_bytes() == before
