"""Which part of the concept graph is grouped; never a part of what is counted."""

from dataclasses import dataclass

import numpy as np

from index.counts.pmi import weights
from index.types import Float64Array, Int32Array


@dataclass(frozen=True, slots=True)
class PruningSettings:
    """Defaults of GraphRAG 3.3's noun-phrase graph.

    Concepts in at least two chunks, the weakest 40 % of the edges left out; and, ours, only
    positive weights, which modularity needs.
    """

    min_frequency: int = 2
    weakest_percent: float = 40.0


@dataclass(frozen=True, slots=True)
class ConceptGraph:
    """The weighted graph that is grouped: pairs u < v (int32), weight float64 > 0."""

    u: Int32Array
    v: Int32Array
    weight: Float64Array
    concept_count: int


@dataclass(frozen=True, slots=True)
class CountArrays:
    """A copy of the counts at one generation, as columns; see ``Counts.pairs``."""

    f: Int32Array
    u: Int32Array
    v: Int32Array
    w: Int32Array
    total_f: int
    total_w: int


def pruned(counts: CountArrays, settings: PruningSettings) -> ConceptGraph:
    """The graph of frequent concepts and their stronger ties."""
    f = counts.f
    kept = (f[counts.u] >= settings.min_frequency) & (f[counts.v] >= settings.min_frequency)
    u, v, w = counts.u[kept], counts.v[kept], counts.w[kept]
    weight = weights(w, f[u], f[v], counts.total_f, counts.total_w)
    strong = weight > 0
    if strong.any():
        strong &= weight >= np.percentile(weight, settings.weakest_percent)
    return ConceptGraph(u[strong], v[strong], weight[strong], len(f))
