"""How good a search is on questions with known evidence, mode by mode and budget by budget."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from index.types import Float64Array
from query.ledger import Clock
from query.search import Engine
from query.types import BASELINES, Answer, Mode, Outcome, Question

RESAMPLES = 2_000
CONFIDENCE = 0.95
_PERCENT = 100


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """A question with the ids of the documents that hold its evidence.

    ``left_out`` are documents that must not count as found: the one that the question was made
    from, and its copies.
    """

    text: str
    evidence: frozenset[str]
    left_out: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Score:
    """What one question got. ``reached`` is the share of its evidence among what was tested.

    For a mode without tests it is the share among the first chunks, as many as the budget.
    """

    reached: float
    recall_5: float
    recall_10: float
    mrr: float
    all_evidence_10: float
    seconds: float
    tests: int
    no_record: bool


@dataclass(frozen=True, slots=True)
class EvaluationRow:
    """Means over the questions with evidence, for one mode and budget.

    ``intervals`` gives for each measure the bounds that hold 95% of the means of questions drawn
    anew (bootstrap). Latencies in milliseconds, of whole questions, the assessor included.
    """

    mode: str
    budget: int
    queries: int
    reached: float
    recall_5: float
    recall_10: float
    mrr: float
    all_evidence_10: float
    no_record: float
    tests: float
    latency_ms_median: float
    latency_ms_p95: float
    intervals: Mapping[str, tuple[float, float]]


MEASURES = ("reached", "recall_5", "recall_10", "mrr", "all_evidence_10")


def evaluate(
    engine: Engine,
    queries: Sequence[JudgedQuery],
    modes: Sequence[Mode],
    budgets: Sequence[int],
    *,
    clock: Clock,
    seed: int,
    told: Callable[[str], None] = lambda _: None,
) -> list[EvaluationRow]:
    """Ask every question in every mode with every budget.

    Args:
        engine: What is judged.
        queries: Questions; those without evidence are left out.
        modes: Modes of search.
        budgets: Relevance test budgets.
        clock: Seconds, for latencies.
        seed: Of the bootstrap.
        told: Called with the name of each mode and budget before it runs.
    """
    judged = [query for query in queries if query.evidence]
    rows = []
    for mode in modes:
        for budget in budgets:
            told(f"{mode.value} at {budget}")
            scores = list(scored(engine, judged, mode, budget, clock))
            rows.append(summary(scores, mode, budget, np.random.default_rng(seed)))
    return rows


def scored(
    engine: Engine, queries: Sequence[JudgedQuery], mode: Mode, budget: int, clock: Clock
) -> Iterator[Score]:
    """The score of each question, in their order."""
    for query in queries:
        started = clock()
        answer = engine.answer(Question(query.text, budget, mode))
        yield score(answer, query, clock() - started)


def score(answer: Answer, query: JudgedQuery, seconds: float) -> Score:
    """Judge an answer by its ranking."""
    ranking = [found for found in answer.ranking if found.document_id not in query.left_out]
    ids = [found.document_id for found in ranking]
    if answer.mode in BASELINES:
        seen = set(ids[: answer.budget])
    else:
        seen = {found.document_id for found in ranking if found.tested}
    places = (place for place, name in enumerate(ids, 1) if name in query.evidence)
    return Score(
        reached=_share(query.evidence, seen),
        recall_5=_share(query.evidence, set(ids[:5])),
        recall_10=_share(query.evidence, set(ids[:10])),
        mrr=1 / next(places, np.inf),
        all_evidence_10=float(query.evidence <= set(ids[:10])),
        seconds=seconds,
        tests=sum(cost.relevance_tests for cost in answer.ledger.values()),
        no_record=answer.outcome is not Outcome.ANSWERED,
    )


def _share(evidence: frozenset[str], found: set[str]) -> float:
    return len(evidence & found) / len(evidence)


def summary(
    scores: Sequence[Score], mode: Mode, budget: int, random: np.random.Generator
) -> EvaluationRow:
    """Means, intervals and latencies of the scores of one mode and budget."""
    values = {name: np.array([getattr(s, name) for s in scores], np.float64) for name in MEASURES}
    means = {name: float(array.mean()) if len(array) else 0.0 for name, array in values.items()}
    seconds = np.array([s.seconds for s in scores] or [0.0], np.float64) * 1_000
    return EvaluationRow(
        mode=mode.value,
        budget=budget,
        queries=len(scores),
        no_record=float(np.mean([s.no_record for s in scores])) if scores else 0.0,
        tests=float(np.mean([s.tests for s in scores])) if scores else 0.0,
        latency_ms_median=float(np.median(seconds)),
        latency_ms_p95=float(np.percentile(seconds, 95)),
        intervals={name: interval(array, random) for name, array in values.items()},
        **means,
    )


def interval(values: Float64Array, random: np.random.Generator) -> tuple[float, float]:
    """Bounds of the mean by percentile bootstrap."""
    if not len(values):
        return 0.0, 0.0
    drawn = random.integers(0, len(values), (RESAMPLES, len(values)))
    tail = (1 - CONFIDENCE) / 2 * _PERCENT
    low, high = np.percentile(values[drawn].mean(axis=1), [tail, _PERCENT - tail])
    return float(low), float(high)


def difference(
    ours: Sequence[Score], theirs: Sequence[Score], measure: str, random: np.random.Generator
) -> tuple[float, float, float]:
    """Mean of the paired differences of a measure, with its bounds; same questions, same order."""
    pairs = zip(ours, theirs, strict=True)
    values = np.array([getattr(a, measure) - getattr(b, measure) for a, b in pairs], np.float64)
    return (float(values.mean()) if len(values) else 0.0, *interval(values, random))
