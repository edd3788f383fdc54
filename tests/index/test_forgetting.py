"""Old changes are looked up by their age, and looked for once for each time that is forgotten."""

from contextlib import closing
from itertools import count

import pytest

from index.store import changes, meta
from index.store.connection import STORE_NAME, open_writable, transaction


@pytest.fixture
def store(tmp_path):
    with closing(open_writable(tmp_path / STORE_NAME)) as connection:
        yield connection


def fill(connection, rows):
    with transaction(connection):
        connection.executemany(
            "INSERT INTO changes VALUES (?, 'a', 'insert', ?, 0, '', x'')",
            ((number // 10, number) for number in range(rows)),
        )


def steps(connection, act):
    taken = count()
    connection.set_progress_handler(lambda: next(taken) and 0, 1)
    act()
    connection.set_progress_handler(None, 0)
    return next(taken)


def test_what_forgetting_costs_is_in_proportion_to_what_goes(store):
    took = []
    for rows in (100, 3_000):
        store.execute("DELETE FROM changes")
        fill(store, rows)
        meta.put(store, changes.FORGOTTEN, "1000 20")
        took.append(steps(store, lambda: changes.forget(store)))
        assert store.execute("SELECT min(observed_at) FROM changes").fetchone() == (20,)
    assert took[0] == took[1]


def test_changes_of_later_generations_stay_however_old(store):
    fill(store, 100)
    meta.put(store, changes.FORGOTTEN, "2 50")
    changes.forget(store)
    assert store.execute("SELECT count(*), min(generation) FROM changes").fetchone() == (70, 3)


def test_a_follower_looks_for_old_changes_only_where_the_writer_forgot_some_since(store):
    fill(store, 100)
    store.execute("ATTACH ':memory:' AS given")
    store.execute("CREATE TABLE given.meta (name TEXT PRIMARY KEY, value TEXT)")
    said = []
    for at, given in enumerate((None, "5 10", "5 10", "9 30")):
        if given is not None:
            store.execute(
                "INSERT OR REPLACE INTO given.meta VALUES (?, ?)", (changes.FORGOTTEN, given)
            )
        seen = []
        store.set_trace_callback(seen.append)
        changes.forget(store, "given")
        store.set_trace_callback(None)
        said.append(any("DELETE" in one for one in seen))
        if at:
            meta.put(store, changes.FORGOTTEN, given)  # as the follower does at the end
    assert said == [False, True, False, True]
    assert store.execute("SELECT min(observed_at) FROM changes").fetchone() == (30,)
