"""Dead letters are bounded in number and bytes, and nothing looks through those that are there."""

import sqlite3
from contextlib import closing
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index.store import dead_letters, meta
from index.store.connection import STORE_NAME, open_writable, transaction
from index.store.dead_letters import Stock
from index.types import Millis, Position, Reason, Record, Rejected
from tests.index.simple import open_writer

REASONS = (Reason.NOT_JSON, Reason.TOO_LARGE, Reason.NOT_UTF8)
LETTER = st.tuples(st.sampled_from(REASONS), st.integers(0, 400), st.sampled_from([0, 0, 0, 1]))
"""Reason, bytes of the value, and how many records before it the letter is one of again."""


def letter(offset, size=10, reason=Reason.NOT_JSON):
    headers = (("trace", b"\x80" * (offset % 3)),)
    record = Record(Position("news", 0, offset), b"k", b"x" * size, Millis(1), headers)
    return record, Rejected(reason, "broken ☃")


@pytest.fixture
def store(tmp_path):
    with closing(open_writable(tmp_path / STORE_NAME)) as connection:
        yield connection


def put(connection, *letters):
    with transaction(connection):
        dead_letters.insert(connection, letters, Millis(5))


def ids(connection):
    return [row[0] for row in connection.execute("SELECT id FROM dead_letters ORDER BY id")]


def counted(connection):
    """The stock, told from the letters themselves."""
    found = dead_letters.read(connection, limit=10**6)
    reasons = [one.reason for one in found]
    size = 0
    for one in found:
        headers = connection.execute("SELECT headers FROM dead_letters WHERE id = ?", (one.id,))
        texts = one.detail + headers.fetchone()[0]
        size += len(one.record.key) + len(one.record.value) + len(texts.encode())
    counts = {reason: reasons.count(reason) for reason in set(reasons)}
    ends = (found[0].id, found[-1].id) if found else (0, 0)
    return Stock(*ends, size, counts)


def steps(connection, act):
    """How many steps SQLite's machine takes for what is done."""
    taken = count()
    connection.set_progress_handler(lambda: next(taken) and 0, 1)
    act()
    connection.set_progress_handler(None, 0)
    return next(taken)


def test_the_oldest_letters_go_once_all_have_too_many_bytes(store, monkeypatch):
    monkeypatch.setattr(dead_letters, "KEPT_BYTES", 10_000)
    put(store, *[letter(offset, size=3_000) for offset in range(5)])
    assert ids(store) == [3, 4, 5]
    put(store, letter(5, size=1))
    assert ids(store) == [3, 4, 5, 6]
    put(store, letter(6, size=9_000))
    assert ids(store) == [6, 7]


def test_a_letter_that_is_larger_than_all_may_be_does_not_stay(store, monkeypatch):
    monkeypatch.setattr(dead_letters, "KEPT_BYTES", 1_000)
    put(store, letter(0), letter(1, size=5_000))
    assert ids(store) == []
    put(store, letter(2))
    assert dead_letters.stock(store) == counted(store)
    assert ids(store) == [3]


@given(batches=st.lists(st.lists(LETTER, max_size=5), max_size=8))
@settings(max_examples=25, deadline=None)
def test_the_stock_is_what_is_there_and_within_bounds(batches, tmp_path_factory):
    offset = 0
    with (
        pytest.MonkeyPatch.context() as patch,
        closing(open_writable(tmp_path_factory.mktemp("store") / STORE_NAME)) as store,
    ):
        patch.setattr(dead_letters, "KEPT", 6)
        patch.setattr(dead_letters, "KEPT_BYTES", 1_000)
        for batch in batches:
            letters = []
            for reason, size, back in batch:
                offset += 1 - back
                letters.append(letter(offset, size, reason))
            put(store, *letters)
            stock = dead_letters.stock(store)
            assert stock == counted(store)
            assert stock.bytes <= 1_000
            assert sum(stock.counts.values()) <= 6
            assert dead_letters.counts(store) == stock.counts


def test_neither_writing_nor_counting_looks_through_the_letters_that_are_there(store):
    took = []
    for first in (0, 20, 300):
        put(store, *[letter(offset) for offset in range(first, first * 10 + 10)])
        write = steps(store, lambda at=first: put(store, letter(10**6 + at)))
        took.append((write, steps(store, lambda: dead_letters.counts(store))))
    assert took[0] == took[1] == took[2]


def test_a_letter_that_comes_again_uses_up_no_id(store):
    """The outbox would take the gap for letters that were given up."""
    put(store, letter(1), letter(2))
    put(store, letter(1), letter(2), letter(3))
    assert ids(store) == [1, 2, 3]


def test_letters_of_an_older_release_are_counted_once_when_a_writer_opens(tmp_path):
    open_writer(tmp_path).close()
    with closing(open_writable(tmp_path / STORE_NAME)) as store:
        put(store, *[letter(offset) for offset in range(20)])
        for change in (
            f"DELETE FROM meta WHERE name = '{dead_letters.STOCK}'",
            "DELETE FROM dead_letters WHERE id < 4",
        ):
            store.execute(change)
            assert dead_letters.stock(store) == counted(store)
            before = steps(store, lambda: dead_letters.counts(store))
            open_writer(tmp_path).close()
            assert dead_letters.stock(store) == counted(store)
            assert steps(store, lambda: dead_letters.counts(store)) < before / 2


def test_a_store_without_letters_notes_nothing(tmp_path):
    open_writer(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / STORE_NAME)) as store:
        assert meta.get(store, dead_letters.STOCK) is None


@pytest.mark.parametrize(("most", "found"), [(None, 6), (10**6, 6), (5_000, 3), (1, 1)])
def test_a_read_ends_once_it_has_the_bytes_that_were_asked_for(store, most, found):
    put(store, *[letter(offset, size=2_000) for offset in range(7)])
    assert len(dead_letters.read(store, after=1, most_bytes=most)) == found
