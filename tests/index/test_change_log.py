"""The change log in memory equals the stored one, whatever is held of it and whoever asks."""

import math
import sqlite3
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.change_log import ALWAYS, KINDS, ChangeBuilder, ChangesAsked, columns_of
from index.errors import SnapshotRetiredError
from index.store.change_log import ChangeLog, ChangeReader
from index.store.rows import int32_blob
from index.store.statements import Statements
from index.types import Millis
from query.kernels import name_any

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
    return Statements(connection, generation, math.inf)


def told(columns, since):
    return [
        (*row[:6], row[6].tolist()) for row in columns.rows() if row[3] >= since
    ]  # fmt: skip


@given(changes, st.lists(st.tuples(st.integers(0, 8), st.integers(-1, 31)), max_size=6),
       st.integers(1, 9))  # fmt: skip
def test_every_view_is_told_what_its_generation_holds(store, rows, views, held):
    log = ChangeLog(held)
    for generation, since in views:
        view = ChangeReader(log, reader(store, rows, generation))
        found = view.columns(ChangesAsked(since=Millis(since)))
        view.close()
        expected = [row for row in rows if row[0] <= generation and row[3] >= since]
        assert told(found, since) == expected


@given(changes)
def test_a_long_log_held_in_part_still_tells_all_when_asked_for_all(store, rows):
    log = ChangeLog(2)
    for generation in range(1, 9):
        view = ChangeReader(log, reader(store, rows, generation))
        found = view.columns(ChangesAsked())
        view.close()
        assert told(found, ALWAYS) == [row for row in rows if row[0] <= generation]


def test_what_was_given_out_stays_when_more_comes():
    builder = ChangeBuilder()
    held = []
    for first, end in pairwise(range(0, 3_000, 500)):
        builder.extend(
            columns_of(
                (1, f"d{n}", "insert", n, n, "wire", np.array([n, n + 1], np.int32))
                for n in range(first, end)
            )
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


moments = st.integers(-6, 31).map(Millis)
questions = st.builds(
    ChangesAsked,
    since=moments,
    until=moments,
    event_since=moments,
    event_until=moments,
    kinds=st.lists(st.sampled_from(range(len(KINDS))), unique=True, min_size=1).map(tuple),
)


def asked_rows(rows, asked):
    """Those of some changes that are asked for, looked at one by one."""
    return [
        row
        for row in rows
        if asked.since <= row[3] < asked.until
        and asked.event_since <= row[4] < asked.event_until
        and KINDS.index(row[2]) in asked.kinds
    ]


@given(changes, questions, st.integers(1, 9), st.integers(0, 8))
def test_parts_and_whole_hold_what_is_asked_for_in_order_of_commit(store, rows, asked, held, old):
    log = ChangeLog(held)
    for generation in (old, 8, old):  # a view may be older than what is held
        present = [row for row in rows if row[0] <= generation]
        view = ChangeReader(log, reader(store, rows, generation))
        whole = told(view.columns(asked), ALWAYS)
        parts = [row for part in view.parts(asked) for row in told(part, ALWAYS)]
        view.close()
        assert asked_rows(whole, asked) == asked_rows(present, asked)
        assert asked_rows(parts, asked) == asked_rows(present, asked)


def long_log(connection, count):
    """A log of which little is held, over many changes with a document each."""
    rows = [(1 + n // 100, f"d{n}", "insert", n, n, "wire", list(range(40))) for n in range(count)]
    statements = reader(connection, rows, count)
    return ChangeLog(100), statements


def test_reading_in_parts_holds_a_few_thousand_changes_whatever_the_length_of_the_log(store):
    log, statements = long_log(store, 30_000)
    view = ChangeReader(log, statements)
    next(view.parts(ChangesAsked()))
    tracemalloc.start()
    try:
        assert sum(len(part) for part in view.parts(ChangesAsked())) == 30_000
        assert tracemalloc.get_traced_memory()[1] < 6_000_000  # of 20 million and more
    finally:
        tracemalloc.stop()


def test_parts_can_be_given_to_kernels(store):
    log, statements = long_log(store, 1_000)
    for part in ChangeReader(log, statements).parts(ChangesAsked()):
        names = np.zeros(len(part), np.bool_)
        name_any(part.begin, part.end, part.concepts, np.ones(40, np.bool_), names)
        assert names.all()


def test_what_is_not_asked_for_is_not_read(store):
    log, statements = long_log(store, 5_000)
    found = ChangeReader(log, statements).columns(
        ChangesAsked(event_since=Millis(40), event_until=Millis(50))
    )
    assert found.event_at.tolist() == list(range(40, 50))


def test_one_view_at_a_time_reads_the_whole_log_and_others_wait_as_long_as_they_may(store):
    log, statements = long_log(store, 1_000)
    first = ChangeReader(log, statements)
    assert len(first.columns(ChangesAsked())) == 1_000
    assert len(first.columns(ChangesAsked())) == 1_000  # its own turn lasts
    hurried = ChangeReader(log, Statements(store, 1_000, 0.05))
    newest = ChangesAsked(since=Millis(950))
    assert len(hurried.columns(newest)) <= 200  # in memory: waits for nobody
    with pytest.raises(SnapshotRetiredError):
        hurried.columns(ChangesAsked())
    hurried.close()
    first.close()
    patient = ChangeReader(log, Statements(store, 1_000, 60))
    assert len(patient.columns(ChangesAsked())) == 1_000
    patient.close()
