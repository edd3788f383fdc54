"""Nodes, edges, weights and pruning equal those of graphrag 3.3 on the same concept lists.

The figures in ``golden/graphrag_3_3.json`` were written once by graphrag's own functions (named
in the file) from synthetic concept lists.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from index.communities.pruning import CountArrays, PruningSettings, _strong, kept_concepts, pruned
from index.counts.graph import Counts
from index.counts.pmi import weights

GOLDEN = json.loads((Path(__file__).parent / "golden" / "graphrag_3_3.json").read_text())
KEYS = sorted(GOLDEN["nodes"])
NUMBER = {key: number for number, key in enumerate(KEYS)}


@pytest.fixture
def counts():
    rows = [np.array(sorted(NUMBER[key] for key in chunk), np.int32) for chunk in GOLDEN["chunks"]]
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    return Counts.build(offsets, np.concatenate(rows), len(KEYS))


def named(u, v):
    return [(KEYS[x], KEYS[y]) for x, y in zip(u.tolist(), v.tolist(), strict=True)]


def test_nodes_and_frequencies(counts):
    assert {key: int(counts.f[n]) for key, n in NUMBER.items()} == GOLDEN["nodes"]


def test_edges_and_weights(counts):
    u, v, w = counts.pairs()
    found = weights(w, counts.f[u], counts.f[v], counts.F, counts.W)
    assert named(u, v) == [(a, b) for a, b, _ in GOLDEN["edges"]]
    assert found == pytest.approx([weight for _, _, weight in GOLDEN["edges"]], rel=1e-12)


@pytest.mark.parametrize("case", GOLDEN["pruned"], ids=lambda case: str(len(case["edges"])))
def test_pruning(counts, case):
    given = case["settings"]
    settings = PruningSettings(
        min_frequency=given["min_node_freq"],
        max_frequency_std=given["max_node_freq_std"],
        min_degree=given["min_node_degree"],
        max_degree_std=given["max_node_degree_std"],
        weakest_percent=given["min_edge_weight_pct"],
        remove_ego=given["remove_ego_nodes"],
    )
    arrays = CountArrays.of(counts, len(KEYS), settings)
    kept = kept_concepts(arrays.f, arrays.degree, settings)
    assert [KEYS[n] for n in np.flatnonzero(kept)] == case["nodes"]
    strong, _ = _strong(arrays, settings)
    assert named(arrays.u[strong], arrays.v[strong]) == [tuple(edge) for edge in case["edges"]]


def test_the_defaults_are_those_of_the_reference():
    assert PruningSettings() == PruningSettings(
        min_frequency=2, min_degree=1, weakest_percent=40.0, remove_ego=True
    )


def test_only_positive_weights_are_grouped(counts):
    settings = PruningSettings(min_frequency=1, weakest_percent=0.0, remove_ego=False)
    graph = pruned(CountArrays.of(counts, len(KEYS), settings), settings)
    assert len(graph.u)
    assert (graph.weight > 0).all()
    assert len(graph.u) < counts.edge_count


def test_nothing_to_prune_is_no_error():
    settings = PruningSettings(max_degree_std=1.0, max_frequency_std=1.0)
    graph = pruned(CountArrays.of(Counts(), 0, settings), settings)
    assert graph.concept_count == len(graph.u) == 0
