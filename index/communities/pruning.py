"""Which part of the concept graph is grouped; never a part of what is counted."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from index.counts.pmi import weights
from index.types import BoolArray, Float64Array, Int32Array, Int64Array

if TYPE_CHECKING:  # its kernels take two seconds to load, and those who only read need none
    from index.counts.graph import Counts


@dataclass(frozen=True, slots=True)
class PruningSettings:
    """What is left out; names and defaults are those of graphrag 3.3 (``PruneGraphDefaults``).

    ``min_frequency``: concepts in fewer chunks. ``max_frequency_std`` and ``max_degree_std``:
    concepts more than so many standard deviations above the mean (None: no such rule).
    ``min_degree``: concepts with fewer neighbours. ``weakest_percent``: edges below this
    percentile of the weights. ``remove_ego``: the one concept with most neighbours.
    """

    min_frequency: int = 2
    max_frequency_std: float | None = None
    min_degree: int = 1
    max_degree_std: float | None = None
    weakest_percent: float = 40.0
    remove_ego: bool = True


@dataclass(frozen=True, slots=True)
class ConceptGraph:
    """The weighted graph that is grouped: pairs u < v (int32), weight float64 > 0."""

    u: Int32Array
    v: Int32Array
    weight: Float64Array
    concept_count: int


@dataclass(frozen=True, slots=True)
class CountArrays:
    """A copy of the counts at one generation, as columns; see ``Counts.pairs``.

    ``degree`` int32[n] counts all neighbours, those of pairs that were not copied included.
    """

    f: Int32Array
    degree: Int32Array
    u: Int32Array
    v: Int32Array
    w: Int32Array
    total_f: int
    total_w: int

    @classmethod
    def of(cls, counts: "Counts", concept_count: int, settings: PruningSettings) -> "CountArrays":
        """Copy what ``pruned`` needs: pairs of rare concepts stay behind."""
        f, degree = np.zeros(concept_count, np.int32), np.zeros(concept_count, np.int32)
        known = min(concept_count, counts.concept_count)
        f[:known] = counts.f[:known]
        degree[:known] = counts.degrees[:known]
        u, v, w = counts.pairs(settings.min_frequency)
        return cls(f, degree, u, v, w, counts.F, counts.W)


def kept_concepts(f: Int32Array, degree: Int32Array, settings: PruningSettings) -> BoolArray:
    """bool[n]: the concepts that are grouped, by the rules of graphrag 3.3's ``prune_graph``.

    Degrees are judged first, over all concepts that occur; frequencies then over those that are
    left. Of several concepts with most neighbours, the lowest number is the ego.
    """
    occurs = f > 0
    kept = occurs & (degree >= settings.min_degree)
    if settings.max_degree_std is not None and occurs.any():
        kept &= degree <= _upper(degree[occurs], settings.max_degree_std)
    if settings.remove_ego and occurs.any():
        kept[int(np.argmax(np.where(occurs, degree, -1)))] = False
    kept &= f >= settings.min_frequency
    if settings.max_frequency_std is not None and kept.any():
        kept &= f <= _upper(f[kept], settings.max_frequency_std)
    return kept


def pruned(counts: CountArrays, settings: PruningSettings) -> ConceptGraph:
    """The graph of the concepts that are kept and their stronger ties.

    As in graphrag 3.3 the percentile is that of all ties between kept concepts. Beyond it, ties
    whose weight is not positive stay out, because modularity has no meaning for them.
    """
    strong, weight = _strong(counts, settings)
    positive = weight > 0
    strong = strong[positive]
    return ConceptGraph(counts.u[strong], counts.v[strong], weight[positive], len(counts.f))


def _strong(counts: CountArrays, settings: PruningSettings) -> tuple[Int64Array, Float64Array]:
    """Positions of the pairs that the reference keeps, and their weights."""
    kept = kept_concepts(counts.f, counts.degree, settings)
    inside = np.flatnonzero(kept[counts.u] & kept[counts.v])
    fx, fy = counts.f[counts.u[inside]], counts.f[counts.v[inside]]
    weight = weights(counts.w[inside], fx, fy, counts.total_f, counts.total_w)
    if not len(inside) or settings.weakest_percent <= 0:
        return inside, weight
    strong = weight >= np.percentile(weight, settings.weakest_percent)
    return inside[strong], weight[strong]


def _upper(values: Int32Array, deviations: float) -> float:
    return float(np.mean(values) + deviations * np.std(values))
