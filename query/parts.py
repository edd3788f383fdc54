"""A subquery under way: its ranking, its groups, the verdicts on its chunks."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from query.assessor import Verdict
from query.candidates import Candidates
from query.graph import SearchGraph
from query.lazy import Groups
from query.ranking import Ranking
from query.settings import RankSettings
from query.types import Found

_CERTAIN = 0.001
"""Scores nearer to 0 or 1 than this count as that near, so that no verdict outweighs all."""


@dataclass(slots=True)
class Part:
    """One subquery of a search."""

    candidates: Candidates
    ranking: Ranking
    groups: Groups
    verdicts: dict[int, Verdict] = field(default_factory=dict)


def worth(part: Part, slot: int, settings: RankSettings) -> float:
    """A chunk's score in the end: the ranking's, moved up by a verdict for it and down by others.

    A verdict counts by its log-odds against those of the threshold of relevance, so that a chunk
    found not relevant never passes one that was not tested: more tests would take that back.
    """
    score = part.candidates.score(slot)
    verdict = part.verdicts.get(slot)
    if verdict is None or verdict.relevant is None:
        return score
    return score + settings.verdict_weight * (_log_odds(verdict.score) - _log_odds(verdict.tau))


def _log_odds(score: float) -> float:
    score = min(max(score, _CERTAIN), 1 - _CERTAIN)
    return math.log(score / (1 - score))


def best_documents(
    parts: Sequence[Part], graph: SearchGraph, settings: RankSettings, *, tests: bool
) -> dict[int, float]:
    """Document numbers with the worth of their best chunk over all subqueries, best first.

    Without ``tests`` (a baseline) the ranking alone decides.
    """
    snapshot = graph.snapshot
    scores: dict[int, float] = {}
    for part in parts:
        ranked = part.groups.ranked or snapshot.slots[part.ranking.rows].tolist()
        slots = dict.fromkeys([*ranked, *part.verdicts])
        numbers = _numbers(graph, list(slots))
        for slot, number in zip(slots, numbers, strict=True):
            score = worth(part, slot, settings) if tests else part.candidates.score(slot)
            if score > scores.get(number, -math.inf):
                scores[number] = score
    return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0])))


def found(
    scores: Mapping[int, float],
    known: Mapping[int, tuple[str, str]],
    tested: set[int],
    relevant: set[int],
) -> tuple[Found, ...]:
    """The documents of a final ranking by number; ``known`` gives their id and title."""
    return tuple(
        Found(*known[number], score, number in tested, number in relevant)
        for number, score in scores.items()
        if number in known
    )


def document_numbers(parts: Sequence[Part], graph: SearchGraph) -> tuple[set[int], set[int]]:
    """Numbers of the documents with a tested chunk, and of those with a relevant one."""
    verdicts = [v for part in parts for v in part.verdicts.values() if v.relevant is not None]
    tested = set(_numbers(graph, [v.slot for v in verdicts]))
    return tested, set(_numbers(graph, [v.slot for v in verdicts if v.relevant]))


def _numbers(graph: SearchGraph, slots: Sequence[int]) -> list[int]:
    snapshot = graph.snapshot
    rows = snapshot.rows_of(np.asarray(slots, np.int64))
    numbers: list[int] = snapshot.documents[snapshot.chunk_document[rows]].tolist()
    return numbers
