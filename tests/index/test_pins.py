"""A pin lasts as long as it may: after that its view answers nothing more."""

import time

import pytest

from index.errors import SnapshotRetiredError
from index.store.connection import store_path
from index.store.pins import Pins
from tests.index.simple import Feed, commit, open_writer

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n"


@pytest.fixture
def pinned(tmp_path):
    """A function that gives pins of so many seconds over a store of one document."""
    writer, made = open_writer(tmp_path), []
    commit(writer, [Feed().upsert("a", "wheat rises")])

    def pins(seconds):
        made.append(Pins(store_path(tmp_path), seconds=seconds))
        made[-1].publish(writer.latest())
        return made[-1]

    yield pins
    for one in (*made, writer):
        one.close()


def test_a_view_held_for_too_long_is_retired(pinned):
    with pinned(0.05).pin() as view:
        assert view.document("a").title == "A"
        time.sleep(0.1)
        with pytest.raises(SnapshotRetiredError, match="held for too long"):
            view.document("a")


def test_a_statement_that_runs_on_is_ended_when_its_pin_is(pinned):
    with pinned(0.2).pin() as view, pytest.raises(SnapshotRetiredError):
        view._rows(ENDLESS)


def test_the_next_pin_of_the_same_connection_starts_anew(pinned):
    pins = pinned(0.2)
    with pins.pin():
        time.sleep(0.3)
    with pins.pin() as view:
        assert view.document("a").title == "A"
