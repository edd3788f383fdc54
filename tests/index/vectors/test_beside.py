"""A vector index in a process of its own: what becomes of calls while it settles, hangs or dies."""

import os
import signal
import time
from functools import partial

import numpy as np
import pytest

from index.errors import VectorIndexBusyError, VectorIndexError
from index.types import Int64Array
from index.vectors.beside import BesideIndex
from index.vectors.breaker import Breaker
from index.vectors.protocol import Condition, Hits
from index.vectors.similarity import IndexedSimilarity
from tests.index.vectors.indexes import mark, points

NOBODY: Int64Array = np.zeros(0, np.int64)


class Slow:
    """As much of an index as is asked here; settles for ``seconds``, or until told."""

    name = "slow"

    def __init__(self, seconds):
        self.seconds = seconds

    def count(self):
        return os.getpid()

    def mark(self):
        return mark()

    def search(self, vector, limit, condition):
        return Hits(NOBODY, np.zeros(0, np.float32))

    def delete(self, ids):
        time.sleep(self.seconds)

    def upsert(self, points):
        raise VectorIndexError("no room")

    def settle(self):
        time.sleep(self.seconds)

    def close(self):
        pass


class Failing(Slow):
    def settle(self):
        time.sleep(self.seconds)
        raise VectorIndexError("cannot be settled")


@pytest.fixture
def opened():
    made = []

    def open_(seconds, kind=Slow, **more):
        made.append(BesideIndex(partial(kind, seconds), "the index", **more))
        return made[-1]

    yield open_
    for index in made:
        index.close()


def when_settled(call):
    """What a call gives once the index has settled."""
    while True:
        try:
            return call()
        except VectorIndexBusyError:
            time.sleep(0.02)


def test_it_is_a_process_of_its_own_and_ends_with_its_index(opened):
    index = opened(0)
    assert index.pid is None
    pid = index.count()
    assert (pid, pid == os.getpid()) == (index.pid, False)
    index.close()
    assert index.pid is None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_where_there_is_no_index_yet_no_process_is_started_to_say_so():
    index = BesideIndex(partial(Slow, 0), "the index", there=lambda: False)
    assert (index.mark(), index.pid) == (None, None)


def test_while_it_settles_calls_are_told_so_at_once_and_answered_after(opened):
    at_once = opened(0)
    at_once.count()
    assert not at_once.settle()
    index = opened(0.6)
    index.count()
    assert index.settle()
    with pytest.raises(VectorIndexBusyError, match="put in order"):
        index.count()
    assert when_settled(index.count) == index.pid


def test_a_settling_that_fails_is_told_by_the_call_that_comes_after(opened):
    index = opened(0.3, Failing)
    index.settle()
    with pytest.raises(VectorIndexError, match="cannot be settled"):
        when_settled(index.count)
    assert index.count() == index.pid


def test_a_settling_is_given_up_where_the_index_is_closed(opened):
    index = opened(600)
    pid = index.count()
    index.settle()
    index.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_an_error_of_the_index_comes_over_and_the_process_goes_on(opened):
    index = opened(0)
    pid = index.count()
    with pytest.raises(VectorIndexError, match="no room"):
        index.upsert(points([1]))
    assert index.count() == pid


def test_a_process_that_dies_is_an_error_once_and_then_another_answers(opened):
    index = opened(0)
    pid = index.count()
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(VectorIndexError, match="has ended"):
        index.count()
    assert index.count() not in {pid, os.getpid()}


def test_a_process_that_does_not_answer_is_ended(opened):
    index = opened(600, patience=0.3)
    with pytest.raises(VectorIndexError, match="not answered"):
        index.delete([1])


def test_a_search_is_exact_and_not_degraded_while_the_index_settles(opened, monkeypatch):
    index = opened(0.8)
    similar = IndexedSimilarity(index, Breaker(time.monotonic), 0, time.monotonic)
    assert similar.mark() == mark()
    monkeypatch.setattr("index.vectors.similarity.MARK_SECONDS", 0.0)
    index.settle()
    assert (similar.mark(), similar.breaker.problem) == (None, "")
    with pytest.raises(VectorIndexBusyError):
        similar._ask(np.ones(8, np.float32), 1, Condition())
    assert similar.breaker.problem == ""
    assert when_settled(index.mark) == mark()
    assert similar.mark() == mark()
