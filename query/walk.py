"""A random walk with restart over the chunk-concept graph, and the bridge through titles.

Two steps make one round: from chunks down to the concepts that they (and their documents' titles)
name, in proportion to idf, and from concepts up to chunks. The walk restarts at the question's
concepts below and at the best chunks above. It finds what stands two steps away, which no
similarity to the question can: the chunk about a person whom the best chunk names.

The idea is personalised PageRank over passages and phrases, as in HippoRAG (Gutierrez and others,
2024), on a graph that cost no language model.
"""

from dataclasses import dataclass

import numpy as np

from index.types import BoolArray, Float32Array, Int64Array
from query.graph import SearchGraph, inverse, listed
from query.settings import WalkSettings, WalkStart


def best(scores: Float32Array, count: int) -> Int64Array:
    """Indices of the largest scores above 0, best first; equal ones by index."""
    count = min(count, len(scores))
    if not count:
        return np.zeros(0, np.int64)
    found = np.flatnonzero((scores >= _edge(scores, count)) & (scores > 0))
    return found[np.argsort(-scores[found], kind="stable")][:count]


def _edge(scores: Float32Array, count: int) -> np.float32:
    """A score that at least ``count`` reach, and not many more.

    So many blocks have a largest score that reaches the one returned. That takes one fast pass
    where a partition of all scores takes ten times as long.
    """
    width = max(len(scores) // (2 * count), 1)
    blocks = len(scores) // width
    largest = scores[: blocks * width].reshape(blocks, width).max(axis=1)
    edge: np.float32 = np.partition(largest, blocks - count)[blocks - count]
    return edge


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
        settings: Restarts, steps, weights of edges. Walks are taken two by two, which costs
            little more than one; where one is left over it is taken twice.
    """
    starts = settings.starts
    top = best(fused, max(start.seeds for start in starts))
    named = np.flatnonzero(concepts)
    if not len(top) and not len(named):
        return np.zeros((len(fused), len(starts)), np.float32)
    origin = _Origin(top, fused[top], named, _normalised(concepts[named]))
    leaves = rows * graph.leaving(settings.title)
    pairs = [(starts[at], starts[min(at + 1, len(starts) - 1)]) for at in range(0, len(starts), 2)]
    shares = [_walked(graph, leaves, origin, pair, settings) for pair in pairs]
    return np.concatenate(shares, axis=1)[:, : len(starts)]


@dataclass(frozen=True, slots=True, eq=False)
class _Origin:
    """Where walks start: the best chunk rows with their scores, the concepts with their shares."""

    rows: Int64Array
    scores: Float32Array
    concepts: Int64Array
    shares: Float32Array

    def seeds(self, start: WalkStart) -> tuple[Int64Array, Float32Array]:
        """Rows and their shares by their part of the best score, together 1."""
        scores = self.scores[: start.seeds]
        seeds = (scores / scores[:1]) ** np.float32(start.sharpness)
        return self.rows[: start.seeds], _normalised(seeds)


def _walked(
    graph: SearchGraph,
    leaves: Float32Array,
    origin: _Origin,
    pair: tuple[WalkStart, WalkStart],
    settings: WalkSettings,
) -> Float32Array:
    """The shares of two walks, float32[rows, 2]."""
    from query.kernels import walk_twice  # noqa: PLC0415  numba takes a while to import

    ties = graph.edges(settings.title)
    passes, stays = graph.walked(settings.title, (pair[0].hub, pair[1].hub))
    at, begun, restart = np.zeros_like(stays), np.zeros_like(stays), np.zeros_like(passes)
    again, home = np.zeros(2, np.float32), np.zeros(2, np.float32)
    for one, start in enumerate(pair):
        again[one] = start.concept_restart if len(origin.concepts) else 0
        home[one] = start.chunk_restart
        share = again[one] * origin.shares
        columns, reached = ties.reached(origin.concepts, share, start.hub)
        restart[columns, one] = reached
        # What begins at a concept of one chunk alone comes straight to it.
        held, given = ties.given(origin.concepts, share, start.hub)
        np.add.at(begun[:, one], held, given * (leaves[held] > 0) * (1 - home[one]))
        seeds, worth = origin.seeds(start)
        at[seeds, one] = worth
        begun[seeds, one] += home[one] * worth
    edges = (ties.offsets, ties.columns, ties.weights)
    shares, by = at[ties.order], (leaves[ties.order], stays, passes, restart, begun[ties.order])
    walk_twice(*edges, *by, 1 - again, 1 - home, settings.steps, shares)
    at[ties.order] = shares
    return at


def bridge(graph: SearchGraph, fused: Float32Array, count: int, titles: int) -> Float32Array:
    """How well a chunk's title is named by the best chunks: float32[rows] in [0, 1].

    For each of the best ``count`` chunks, every concept that it names and that at most ``titles``
    titles name leads to those documents, with the chunk's share of the best score, divided by
    the square root of the number of titles. A title of several concepts is met in part.
    """
    top = best(fused, count)
    strength = np.zeros(len(graph.title_weight), np.float32)
    chosen = listed(graph.chunks, top)
    carried = np.repeat(fused[top] / fused[top[:1]], chosen.sizes())
    named, place = np.unique(chosen.concepts, return_inverse=True)
    weights = np.zeros(len(named), np.float32)
    np.maximum.at(weights, place, carried)
    degree = graph.title_degree[named]
    leads = (degree > 0) & (degree <= titles)
    named, degree = named[leads], degree[leads]
    met = listed(graph.snapshot.concept_titles, named)
    worth = weights[leads] * graph.idf[named] / np.sqrt(degree)
    np.maximum.at(strength, met.concepts, np.repeat(worth, met.sizes()))
    touched = np.unique(met.concepts)
    strength[touched] *= inverse(graph.title_weight[touched])
    return strength[graph.snapshot.chunk_document]


def _normalised(weights: Float32Array) -> Float32Array:
    total = weights.sum()
    return weights / total if total > 0 else weights
