"""Graphs are made once a snapshot, and ahead of questions while somebody asks."""

import numpy as np

from query.graph import GraphCache, SearchGraph
from tests.query.memory import MemoryView
from tests.query.small import DIMENSIONS, document

HUBS = (0.5, 0.8)


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def snapshot(*texts):
    documents = [document(f"d{n}", f"Title {n}", text) for n, text in enumerate(texts)]
    return MemoryView(documents, DIMENSIONS).snapshot


def test_a_snapshot_has_one_graph():
    cache, first = GraphCache(), snapshot("Harbour ferry strike.")
    assert cache.of(first) is cache.of(first)


def test_a_new_snapshot_is_made_ready_with_what_the_last_was_asked_for():
    cache = GraphCache()
    first, second = snapshot("Harbour ferry."), snapshot("Harbour ferry.", "Ferry strike ends.")
    asked = cache.of(first)
    asked.walked(1.0, HUBS)
    asked.leaving(1.0)
    asked.standing(0)
    assert cache.prepare(second)
    graph = cache.of(second)
    ready = set(vars(graph))
    assert {"idf", "chunk_weight", "_edges", "_walked", "_leaving", "_homes"} <= ready
    plain = SearchGraph(second)
    for ours, theirs in zip(graph.walked(1.0, HUBS), plain.walked(1.0, HUBS), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(graph.standing(0), plain.standing(0))
    assert not cache.prepare(second)


def test_nothing_is_made_ready_for_nobody():
    clock = Clock()
    cache = GraphCache(clock=clock)
    first, second = snapshot("Harbour ferry."), snapshot("Ferry strike.")
    assert not cache.prepare(first)
    cache.of(first)
    clock.now += 31
    assert not cache.prepare(second)
    cache.of(first)
    assert cache.prepare(second)
