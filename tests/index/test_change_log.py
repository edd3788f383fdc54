"""The change log in memory equals the stored one, whatever is held of it and whoever asks."""

import sqlite3
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.change_log import ChangeBuilder, columns_of
from index.store.change_log import ChangeLog
from index.store.rows import int32_blob
from index.types import Millis

ALWAYS = Millis(-(1 << 62))

changes = st.lists(
    st.tuples(
        st.integers(1, 8),
        st.sampled_from("abc"),
        st.sampled_from(["insert", "edit", "delete"]),
        st.integers(0, 30),
        st.integers(-5, 30),
        st.sampled_from(["north", "south", ""]),
        st.lists(st.integers(0, 99), unique=True, max_size=4).map(sorted),
    ),
    max_size=25,
).map(lambda rows: sorted(rows, key=lambda row: row[0]))


@pytest.fixture(scope="module")
def store():
    with sqlite3.connect(":memory:") as connection:
        connection.execute(
            "CREATE TABLE changes (generation INTEGER, document_id TEXT, kind TEXT,"
            " observed_at INTEGER, event_at INTEGER, source TEXT, concepts BLOB)"
        )
    yield connection
    connection.close()


def reader(connection, rows, generation):
    """Reads the store as of a generation."""
    connection.execute("DELETE FROM changes")
    connection.executemany(
        "INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?)",
        [(*row[:6], int32_blob(row[6])) for row in rows if row[0] <= generation],
    )
    return lambda sql, parameters: connection.execute(sql, parameters).fetchall()


def told(columns, since):
    return [
        (*row[:6], row[6].tolist()) for row in columns.rows() if row[3] >= since
    ]  # fmt: skip


@given(changes, st.lists(st.tuples(st.integers(0, 8), st.integers(-1, 31)), max_size=6),
       st.integers(1, 9))  # fmt: skip
def test_every_view_is_told_what_its_generation_holds(store, rows, views, held):
    log = ChangeLog(held)
    for generation, since in views:
        found = log.columns(reader(store, rows, generation), generation, Millis(since))
        expected = [row for row in rows if row[0] <= generation and row[3] >= since]
        assert told(found, since) == expected


@given(changes)
def test_a_long_log_held_in_part_still_tells_all_when_asked_for_all(store, rows):
    log = ChangeLog(2)
    for generation in range(1, 9):
        found = log.columns(reader(store, rows, generation), generation, ALWAYS)
        assert told(found, ALWAYS) == [row for row in rows if row[0] <= generation]


def test_what_was_given_out_stays_when_more_comes():
    builder = ChangeBuilder()
    held = []
    for first, end in pairwise(range(0, 3_000, 500)):
        builder.extend(
            (1, f"d{n}", "insert", n, n, "wire", np.array([n, n + 1], np.int32))
            for n in range(first, end)
        )
        columns = builder.columns()
        held.append((columns, columns.observed_at.copy(), columns.concepts.copy()))
    for columns, observed, concepts in held:
        assert (columns.observed_at == observed).all()
        assert (columns.concepts == concepts).all()


@given(changes, st.data())
def test_changes_taken_are_those_rows_in_that_order(rows, data):
    columns = columns_of([(*row[:6], np.array(row[6], np.int32)) for row in rows])
    places = st.lists(st.integers(0, max(len(rows) - 1, 0)), max_size=9 if rows else 0)
    chosen = data.draw(places)
    taken = columns.take(np.array(chosen, np.int64))
    assert told(taken, ALWAYS) == [rows[at] for at in chosen]
    assert told(columns.first(len(rows) // 2), ALWAYS) == rows[: len(rows) // 2]
