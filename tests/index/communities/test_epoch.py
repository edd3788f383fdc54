"""What an epoch fixes, and how near its weights are to the exact ones."""

import numpy as np
import pytest

from index.communities.epoch import LEFT_OUT, SCALE, Epoch, log_table
from index.communities.pruning import CountArrays, PruningSettings
from index.counts.delta import chunk_delta
from index.counts.graph import Counts
from index.counts.pmi import weights
from tests.index.communities.dynamics import Topics, graph_of

PRUNING = PruningSettings(remove_ego=False, weakest_percent=0.0)


@pytest.fixture
def counts():
    held = Counts()
    held.apply(chunk_delta(Topics(1).chunks(200), []))
    return held


def begun(counts, pruning=PRUNING):
    return Epoch.of(CountArrays.of(counts, counts.concept_count, pruning), pruning, 1)


def test_weights_are_the_exact_ones_times_w_but_for_the_rounding(counts):
    """Each frequency is rounded by an eighth of a bit at most, logs and shift by 1/128."""
    graph = graph_of(counts, begun(counts))
    u, v, w = counts.pairs()
    exact = weights(w, counts.f[u], counts.f[v], counts.F, counts.W) * counts.W
    for x, y, n, weight in zip(u.tolist(), v.tolist(), w.tolist(), exact.tolist(), strict=True):
        if graph.has_edge(x, y):
            bound = n * (0.25 + 3 / 128) + 1e-9
            assert graph[x][y]["weight"] / SCALE == pytest.approx(weight, abs=bound)


def test_the_weakest_edges_are_below_the_threshold(counts):
    every, stronger = (
        graph_of(counts, begun(counts, PruningSettings(remove_ego=False, weakest_percent=p)))
        for p in (0.0, 40.0)
    )
    assert 0.4 <= stronger.number_of_edges() / every.number_of_edges() <= 0.75


def test_a_bucket_changes_at_quarters_only():
    epoch = Epoch(1, 0, 1, 2, np.zeros(0, np.int32))
    f = np.arange(1, 200, dtype=np.int32)
    buckets = epoch.buckets(f)
    assert buckets[0] == LEFT_OUT, "a concept seen once is left out"
    assert (buckets[1:] % (SCALE // 4) == 0).all()
    assert np.abs(buckets[1:] / SCALE - np.log2(f[1:])).max() <= 0.125


def test_hubs_are_told_by_number_in_whole_and_in_part():
    epoch = Epoch(1, 0, 1, 2, np.array([3, 900], np.int32))
    assert epoch.buckets(np.full(5, 8, np.int32)).tolist() == [192, 192, 192, LEFT_OUT, 192]
    some = epoch.buckets(np.full(2, 8, np.int32), np.array([1, 900], np.int32))
    assert some.tolist() == [192, LEFT_OUT]


def test_the_table_of_logs_is_rounded_to_a_sixty_fourth():
    table = log_table(100)
    assert table[[1, 2, 4, 64]].tolist() == [0, 64, 128, 384]
    assert np.abs(table[1:] / SCALE - np.log2(np.arange(1, 100))).max() <= 0.5 / SCALE


def test_nothing_counted_gives_an_epoch_all_the_same():
    epoch = begun(Counts())
    assert (epoch.shift, epoch.threshold, len(epoch.hubs)) == (0, 1, 0)
