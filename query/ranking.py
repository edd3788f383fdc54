"""The chunk ranking of a subquery: similarity, full text and the walk, fused."""

from dataclasses import dataclass

import numpy as np

from index.types import BoolArray, Float32Array, Int64Array
from index.vectors.similarity import ExactLookup, Lookup
from index.view import View
from query.graph import SearchGraph
from query.plan import Subquery
from query.settings import RankSettings
from query.types import Mode
from query.walk import best, bridge, walk

_FLOOR = 1e-4
"""Shares of the walk below this part of the largest one count as none; ours."""

_FEW = 0.2
"""Where filters leave less than this part of the chunks, all full-text hits are asked for."""


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """Ranked chunks of one subquery, best first.

    ``rows`` int64[n] chunk rows; ``scores`` float32[n], which order and mean no more;
    ``similarity`` and ``text`` float32[n], the signals, each as found (cosine; share of the best
    BM25 score).
    """

    rows: Int64Array
    scores: Float32Array
    similarity: Float32Array
    text: Float32Array


def rank(
    view: View,
    graph: SearchGraph,
    subquery: Subquery,
    rows: BoolArray,
    *,
    mode: Mode,
    settings: RankSettings,
    count: int,
    lookup: Lookup | None = None,
) -> Ranking:
    """Rank the allowed chunks for a subquery.

    Args:
        view: The pinned view.
        graph: The graph of its snapshot.
        subquery: What is looked up.
        rows: bool[rows], the chunks that may be ranked at all.
        mode: ``vector`` and ``bm25`` rank by one signal, ``hybrid`` by both, others by all.
        settings: Weights.
        count: Candidates wanted; fewer where fewer have any signal.
        lookup: Similarity over these rows; exact without one.
    """
    lookup = lookup or ExactLookup(view.snapshot, rows)
    depth = count if mode is Mode.VECTOR else settings.depth
    similarity = lookup.best(subquery.vector, depth)
    text = _full_text(view, subquery, rows, settings.full_text_limit)
    if mode is Mode.VECTOR:
        scores = np.maximum(similarity, 0)
    elif mode is Mode.BM25:
        scores = text
    elif mode is Mode.HYBRID or not settings.walk:
        scores = _scaled(text, settings.depth) + _scaled(similarity, settings.depth)
    else:
        scores = _with_walk(graph, subquery, rows, (similarity, text), settings)
    order = best(scores, count)
    top = float(text.max()) if len(text) else 0.0
    cosines = lookup.at(subquery.vector, order)
    return Ranking(order, scores[order], cosines, text[order] / max(top, 1e-9))


def _full_text(view: View, subquery: Subquery, rows: BoolArray, limit: int) -> Float32Array:
    """float32[rows]: BM25, 0 for chunks without a word or outside the mask."""
    scores = np.zeros(len(rows), np.float32)
    if not len(rows):
        return scores
    few = np.count_nonzero(rows) < _FEW * np.count_nonzero(view.snapshot.alive)
    slots, found = view.full_text(subquery.words, 0 if few else limit)
    at = view.snapshot.rows_of(slots)
    scores[at[at >= 0]] = found[at >= 0]
    return np.where(rows, scores, 0).astype(np.float32)


def _scaled(scores: Float32Array, depth: int) -> Float32Array:
    """Scores between 0 (the last of the first ``depth``, and all below) and 1 (the best)."""
    top = best(scores, depth)
    if not len(top):
        return np.zeros_like(scores)
    high, low = scores[top[0]], scores[top[-1]] if len(top) == depth else np.float32(0)
    if high <= low:
        low = np.float32(0)
    scaled: Float32Array = np.clip((scores - low) / max(high - low, 1e-9), 0, 1)
    return scaled


def _logarithmic(shares: Float32Array) -> Float32Array:
    """Shares of the walk between 0 and 1 on a scale of orders of magnitude."""
    largest = float(shares.max()) if len(shares) else 0.0
    if largest <= 0:
        return np.zeros_like(shares)
    scaled: Float32Array = 1 - np.log(shares / largest + _FLOOR) / np.float32(np.log(_FLOOR))
    return scaled


def _with_walk(
    graph: SearchGraph,
    subquery: Subquery,
    rows: BoolArray,
    signals: tuple[Float32Array, Float32Array],
    settings: RankSettings,
) -> Float32Array:
    """Similarity, full text, both walks and the bridge together; 0 outside the mask."""
    similarity, text = (_scaled(signal, settings.depth) for signal in signals)
    fused = similarity + text
    concepts = subquery.weights(graph)
    walked = walk(graph, rows, fused, concepts, settings.walks)
    bridged = bridge(graph, fused, settings.bridge_from, settings.bridge_titles)
    scores = (
        settings.weight_text * text
        + settings.weight_similarity * similarity
        + settings.weight_bridge * bridged
    )
    for shares, weight in zip(walked.T, settings.weight_walks, strict=True):
        scores += weight * _logarithmic(shares)
    return np.where(rows, scores, 0).astype(np.float32)
