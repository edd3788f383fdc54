"""The embedded engine: when it is told to make its graph anew."""

import pytest

from tests.index.vectors.indexes import points

edge = pytest.importorskip("qdrant_edge", reason="the extra `edge` is not installed")


class Counting:
    """A shard that counts how often its graph was made anew."""

    def __init__(self, shard):
        self._shard = shard
        self.made = 0

    def __getattr__(self, name):
        return getattr(self._shard, name)

    def optimize(self):
        self.made += 1
        return self._shard.optimize()


def test_points_that_take_the_place_of_others_count_as_new_ones(tmp_path, monkeypatch):
    """The engine's own figures show none outside the graph where as many are gone from it."""
    from index.vectors import edge as adapter

    monkeypatch.setattr(adapter, "UNINDEXED", 15)
    index = adapter.EdgeIndex(tmp_path)
    index.reset(8)
    shard = index._opened = Counting(index._opened)
    made = []
    for start in range(0, 40, 10):
        index.upsert(points(range(start, start + 10)))
        index.delete(range(start - 10, start) if start else [])
        index.settle()
        made.append(shard.made)
    index.close()
    assert made == [0, 1, 2, 3]
