"""The write-ahead log stays short where one reader begins before the other ends, all the time."""

import sqlite3
import threading
import time
from contextlib import closing, contextmanager
from functools import partial

import pytest

from index.store.connection import open_readonly, open_writable, store_path
from index.store.folding import Folding
from tests.index.simple import Feed, commit, open_writer

MEGABYTE = 1 << 20


def size(directory):
    return directory.joinpath(store_path(directory).name + "-wal").stat().st_size


@contextmanager
def relay(pin):
    """Two readers, each of which ends when the other has begun: at no moment there is none."""
    going, turns = True, [threading.Semaphore(0), threading.Semaphore(0)]

    def run(me):
        while going:
            with pin() as view:
                view.document("a")
                turns[1 - me].release()
                time.sleep(0.002)
                turns[me].acquire(timeout=5)

    readers = [threading.Thread(target=run, args=(number,)) for number in (0, 1)]
    for one in readers:
        one.start()
    try:
        yield
    finally:
        going = False
        for one in turns:
            one.release()
        for one in readers:
            one.join()


@pytest.mark.parametrize("least", [MEGABYTE, 1 << 40])
def test_readers_that_overlap_do_not_let_the_log_grow(tmp_path, monkeypatch, least):
    monkeypatch.setattr("index.generation_log.Folding", partial(Folding, least=least))
    monkeypatch.setattr("index.store.connection._LOG_BYTES", MEGABYTE)
    monkeypatch.setattr("index.store.connection._FOLDED_PAGES", 64)
    with closing(open_writer(tmp_path)) as writer:
        feed, longest = Feed(), 0
        commit(writer, [feed.upsert("a", "wheat rises")])
        with relay(writer.pin):
            for number in range(80):
                text = "\n".join(" ".join(f"w{number}x{n}" for n in range(9)) for _ in range(50))
                commit(writer, [feed.upsert(f"d{number}", text)])
                longest = max(longest, size(tmp_path))
    # The control shows that nothing else keeps it short.
    assert (longest < 5 * MEGABYTE) == (least == MEGABYTE)


@pytest.fixture
def store(tmp_path):
    """A store whose log is long, its writable connection and a function that writes more."""
    with closing(open_writable(store_path(tmp_path))) as connection:

        def write():
            connection.execute("INSERT INTO positions VALUES (hex(randomblob(9)), 0, 0)")

        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.executemany(
            "INSERT INTO positions VALUES (?, 0, 0)", [(f"t{n}",) for n in range(500)]
        )
        yield connection, write


def rows(connection):
    return connection.execute("SELECT count(*) FROM positions").fetchone()[0]


def test_who_reads_on_is_not_waited_for_without_end(tmp_path, store, monkeypatch):
    monkeypatch.setattr("index.store.folding._REST", 0)
    connection, write = store
    folding = Folding(connection, store_path(tmp_path), least=MEGABYTE)
    assert size(tmp_path) > MEGABYTE
    with closing(open_readonly(store_path(tmp_path))) as reader:
        reader.execute("BEGIN")
        seen = rows(reader)
        write()
        before = size(tmp_path)
        folding.fold()
        write()
        assert size(tmp_path) > before  # goes on where it was
        assert rows(reader) == seen
        reader.execute("COMMIT")
        folding.fold()
        before = size(tmp_path)
        write()
        assert size(tmp_path) == before  # begun anew
        assert rows(reader) == seen + 3


def test_a_log_that_cannot_be_folded_in_stops_nobody(tmp_path, store):
    connection, write = store
    connection.set_authorizer(
        lambda *what: sqlite3.SQLITE_DENY if "wal_checkpoint" in what else sqlite3.SQLITE_OK
    )
    Folding(connection, store_path(tmp_path), least=1).fold()
    write()
    assert rows(connection) == 501
