"""How far a count rises above what its past would have it.

The score is the log-likelihood ratio of two Poisson counts (Dunning 1993, "Accurate methods for
the statistics of surprise and coincidence"): with a of A recent documents and b of B past ones
that name something, ``E = (a + b) A / (A + B)`` were to be expected, and

    G2 = 2 (a ln(a / E) + b ln(b / (a + b - E)))

measures how much better two rates explain both counts than one rate does. It is divided by the
dispersion of the past (quasi-likelihood, McCullagh and Nelder 1989): Pearson's chi-square of the
past intervals by their degrees of freedom, at least 1, so that what always comes in waves has to
rise above its waves. Counting against all documents keeps a busier stream from being a trend of
everything. Kleinberg's automaton (2002) was not taken: it wants costs of its states to be tuned
and a pass over each history, while this is closed, exact for small counts, and as quick over any
window as counting is.
"""

import numpy as np

from index.types import Float64Array, Int64Array, Millis
from query.changes import Axis


def scored(
    counts: Int64Array, everything: Int64Array, weight: Float64Array, past: int
) -> Float64Array:
    """float64[k]: the score of each row of ``counts`` int64[k, intervals], 0 without a past.

    ``everything`` int64[intervals] counts all documents, ``weight`` what one counts for; the
    intervals before ``past`` are the past.
    """
    if not everything[:past].any():
        return np.zeros(len(counts))
    weighed, documents = counts * weight, everything * weight
    a, b = weighed[:, past:].sum(1), weighed[:, :past].sum(1)
    pooled = (a + b) * documents[past:].sum() / documents.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        surprise = a * np.log(a / pooled) + np.where(b > 0, b * np.log(b / (a + b - pooled)), 0)
    ratio = 2 * surprise / dispersion(counts[:, :past], everything[:past])
    return np.where(a > 0, ratio, 0).astype(np.float64)


def dispersion(counts: Int64Array, everything: Int64Array) -> Float64Array:
    """float64[k]: Pearson's chi-square by its degrees of freedom, at least 1.

    Of ``counts`` int64[k, m] against their share of ``everything`` int64[m]; 1 where too few
    intervals tell.
    """
    counts, everything = counts[:, everything > 0], everything[everything > 0]
    total = counts.sum(1, keepdims=True)
    share = total * everything / max(int(everything.sum()), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        square = np.where(share > 0, (counts - share) ** 2 / share, 0).sum(1)
    found: Float64Array = np.maximum(square / max(len(everything) - 1, 1), 1.0)
    return found


def due(past: Int64Array, everything: Int64Array, since: int) -> Float64Array:
    """float64[k]: recent documents expected at the rate of the past alone; 0 without a past.

    ``past`` int64[k] counts past documents, ``everything`` int64[intervals] all documents, those
    from ``since`` on being recent.
    """
    before = int(everything[:since].sum())
    rate = int(everything[since:].sum()) / before if before else 0.0
    found: Float64Array = past.astype(np.float64) * rate
    return found


def weights(
    everything: Int64Array, axis: Axis, until: Millis, half_life: Millis | None
) -> Float64Array:
    """float64[count]: what a document of each interval counts for the score.

    All documents of the past together keep their number, and so do the recent ones.
    """
    if half_life is None:
        return np.ones(axis.count)
    middle = axis.start + (np.arange(axis.count) + 0.5) * axis.length
    weight = 0.5 ** (np.maximum(until - middle, 0) / half_life)
    for part in (slice(axis.past), slice(axis.past, None)):
        total = float(everything[part] @ weight[part])
        weight[part] *= everything[part].sum() / total if total else 1.0
    return np.asarray(weight, np.float64)
