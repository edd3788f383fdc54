"""A random walk with restart over the chunk-concept graph, and the bridge through titles.

Two steps make one round: from chunks down to the concepts that they (and their documents' titles)
name, in proportion to idf, and from concepts up to chunks. The walk restarts at the question's
concepts below and at the best chunks above. It finds what stands two steps away, which no
similarity to the question can: the chunk about a person whom the best chunk names.

The idea is personalised PageRank over passages and phrases, as in HippoRAG (Gutierrez and others,
2024), on a graph that cost no language model.
"""

from collections.abc import Sequence

import numpy as np

from index.types import BoolArray, Float32Array, Int64Array
from query.graph import SearchGraph
from query.settings import WalkSettings, WalkStart


def best(scores: Float32Array, count: int) -> Int64Array:
    """Indices of the largest scores above 0, best first; equal ones by index."""
    count = min(count, len(scores))
    if not count:
        return np.zeros(0, np.int64)
    # A cut by value keeps ties at the edge whole, so that order never depends on the partition.
    edge = np.partition(scores, len(scores) - count)[len(scores) - count]
    found = np.flatnonzero((scores >= edge) & (scores > 0))
    return found[np.argsort(-scores[found], kind="stable")][:count]


def walk(
    graph: SearchGraph,
    rows: BoolArray,
    fused: Float32Array,
    concepts: Float32Array,
    settings: WalkSettings,
) -> Float32Array:
    """Each walk's share of each chunk, float32[rows, walks], 0 outside the mask.

    Args:
        graph: The snapshot's graph.
        rows: bool[rows], the chunks that may be visited.
        fused: float32[rows], the scores that seeds are taken from, 0 outside the mask.
        concepts: float32[concepts], the weights of the question's concepts; may be all 0.
        settings: Restarts, steps, weights of edges. The walks are taken side by side, which
            costs little more than one.
    """
    seeds = np.stack([_seeds(fused, start) for start in settings.starts], axis=1)
    below = _normalised(concepts)
    if not seeds.any() and not below.any():
        return seeds
    ties = graph.edges(settings.title)
    of = graph.snapshot.chunk_document
    out = rows * _inverse(graph.chunk_weight + settings.title * graph.title_weight[of])
    again = _row([start.concept_restart if below.any() else 0 for start in settings.starts])
    home = _row([start.chunk_restart for start in settings.starts])
    hubs = tuple(start.hub for start in settings.starts)
    up, stays = graph.walked(settings.title, hubs)
    idf = (1 - again) * graph.idf[ties.shared, None] * up
    # What goes to the concepts of one chunk alone comes back to it, what restarts there too.
    stays = stays * (1 - again) * out[:, None]
    given = np.stack([ties.given(below, hub) for hub in hubs], axis=1)
    down, restart = ties.matrix.T, again * below[ties.shared, None] * up
    leaves, back = out[:, None], (1 - home) * rows[:, None]
    given, start = again * given, home * seeds
    at = seeds
    for _ in range(settings.steps):
        reached = (down @ (at * leaves)) * idf + restart
        at = (ties.matrix @ reached + at * stays + given) * back + start
    return np.asarray(at, np.float32)


def _seeds(fused: Float32Array, start: WalkStart) -> Float32Array:
    """The best chunks by their share of the best score, together 1."""
    seeds = np.zeros(len(fused), np.float32)
    top = best(fused, start.seeds)
    if len(top):
        seeds[top] = (fused[top] / fused[top[0]]) ** start.sharpness
    return _normalised(seeds)


def _row(values: Sequence[float]) -> Float32Array:
    return np.array([values], np.float32)


def bridge(graph: SearchGraph, fused: Float32Array, count: int, titles: int) -> Float32Array:
    """How well a chunk's title is named by the best chunks: float32[rows] in [0, 1].

    For each of the best ``count`` chunks, every concept that it names and that at most ``titles``
    titles name leads to those documents, with the chunk's share of the best score, divided by
    the square root of the number of titles. A title of several concepts is met in part.
    """
    top = best(fused, count)
    carried = np.zeros(len(graph.idf), np.float32)
    if len(top):
        for row, weight in zip(top, fused[top] / fused[top[0]], strict=True):
            of_row = graph.concepts_of(int(row))
            carried[of_row] = np.maximum(carried[of_row], weight)
    degree = graph.title_degree
    carried[(degree == 0) | (degree > titles)] = 0
    strength = np.zeros(len(graph.title_weight), np.float32)
    named = np.flatnonzero(carried)
    if len(named):
        met = graph.snapshot.concept_titles[named]
        weights = np.repeat(
            carried[named] * graph.idf[named] / np.sqrt(degree[named]), np.diff(met.indptr)
        )
        np.maximum.at(strength, met.indices, weights)
        strength *= _inverse(graph.title_weight)
    return strength[graph.snapshot.chunk_document]


def _normalised(weights: Float32Array) -> Float32Array:
    total = weights.sum()
    return weights / total if total > 0 else weights


def _inverse(weights: Float32Array) -> Float32Array:
    return np.divide(1, weights, out=np.zeros_like(weights), where=weights > 0)
