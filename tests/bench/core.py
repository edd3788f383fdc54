"""The counts and the communities alone, over a synthetic stream of chunks with topics.

Zipf-like concepts, two thirds of a chunk's from its topic. Static is what a batch would cost
without the dynamic hierarchy: pruning and a static Leiden of all levels.
"""

import statistics
import time

import numpy as np

from index.communities.adopt import adopt
from index.communities.dynamic import DynamicCommunities
from index.communities.epoch import Epoch
from index.communities.hierarchy import Hierarchy
from index.communities.kernels.edges import all_ties
from index.communities.partition import modularity, partition
from index.communities.pruning import CountArrays, PruningSettings, pruned
from index.counts.delta import chunk_delta
from index.counts.graph import Counts
from index.types import Int32Array
from tests.bench.table import Row

CONCEPTS = 75_000
TOPICS = 400
CHUNKS = 38_000
BATCHES = 20

_TOPIC_SIZE = 2_000
_WIDTH = 17


def run() -> list[Row]:
    """All figures of the area."""
    rng = np.random.default_rng(1)
    chunks = [_chunk(rng) for _ in range(CHUNKS)]
    counts, rows = _counts(rng, chunks)
    return rows + _communities(rng, counts, chunks)


def _chunk(rng: np.random.Generator) -> Int32Array:
    width = max(2, int(rng.poisson(_WIDTH)))
    topic = int(rng.integers(TOPICS))
    rank = np.exp(rng.random(width) * np.log(_TOPIC_SIZE)).astype(np.int64)
    own = (topic * 137 + rank * 7919 + topic * 31) % CONCEPTS
    common = np.exp(rng.random(width) * np.log(CONCEPTS)).astype(np.int64) - 1
    return np.unique(np.where(rng.random(width) < 0.6, own, common)).astype(np.int32)


def _counts(rng: np.random.Generator, chunks: list[Int32Array]) -> tuple[Counts, list[Row]]:
    offsets = np.cumsum([0, *map(len, chunks)]).astype(np.int64)
    started = time.perf_counter()
    counts = Counts.build(offsets, np.concatenate(chunks), CONCEPTS)
    built = time.perf_counter() - started
    spent, pairs, instances = 0.0, 0, counts.W
    for batch in range(BATCHES):  # 180 chunks are about a hundred stories
        there = slice(batch * 180, (batch + 1) * 180)
        fresh = [_chunk(rng) for _ in range(180)]
        started = time.perf_counter()
        delta = chunk_delta(fresh, chunks[there])
        counts.apply(delta)
        spent += time.perf_counter() - started
        pairs += len(delta.u)
        chunks[there] = fresh
    return counts, [
        Row(f"build from {instances:,} pairs of chunks", built, "s", "<= 2"),
        Row(f"delta at {counts.edge_count:,} edges", spent / pairs * 1e6, "us a pair", "<= 1"),
        Row(
            "memory, after 20 batches", counts.nbytes / counts.edge_count, "bytes an edge", "<= 40"
        ),
    ]


def _communities(rng: np.random.Generator, counts: Counts, chunks: list[Int32Array]) -> list[Row]:
    pruning = PruningSettings()
    started = time.perf_counter()
    arrays = CountArrays.of(counts, CONCEPTS, pruning)
    graph = pruned(arrays, pruning)
    found = partition(graph.u, graph.v, graph.weight, CONCEPTS)
    static = time.perf_counter() - started
    epoch = Epoch.of(arrays, pruning, 1)
    adopted = adopt(Hierarchy.empty(CONCEPTS), found, CONCEPTS, 1)
    live = DynamicCommunities(counts, adopted.hierarchy, epoch, adopted.next_id, queue_all=True)
    live.settle()
    seconds, pairs, scans = [], [], []
    for batch in range(BATCHES):
        there = slice(batch * 4, (batch + 1) * 4)
        delta = chunk_delta([_chunk(rng) for _ in range(4)], chunks[there])
        started = time.perf_counter()
        _, work = live.apply(delta)
        seconds.append(time.perf_counter() - started)
        pairs.append(len(delta.u))
        scans.append(work.scanned / max(work.frontier_degree, 1))
    took = statistics.median(seconds)
    size = f"{int(statistics.median(pairs)):,} pairs of {counts.edge_count:,}"
    return [
        Row(f"dynamic hierarchy, a batch of {size}", took * 1e3, "ms"),
        Row("static, pruning and all levels", static, "s"),
        Row("static / dynamic", static / took, "times", ">= 100"),
        Row("edges scanned, of the frontier's degrees", statistics.median(scans), "times"),
        Row("modularity of C0, of the worst of 3 static", _quality(live), "ratio", ">= 0.99"),
    ]


def _quality(live: DynamicCommunities) -> float:
    u, v, weight = all_ties(live._state)
    value = weight.astype(np.float64)
    n = len(live.hierarchy.leaf)
    row = live.hierarchy.at_level(0)
    labels = np.searchsorted(np.unique(row[row != Hierarchy.NONE]), row).astype(np.int32)
    labels[row == Hierarchy.NONE] = -1
    static = [partition(u, v, value, n, seed=seed).modularity[0] for seed in range(3)]
    return modularity(u, v, value, labels) / min(static)
