"""Answers compared in pairs by a model: both orders, several trials, and what chance would do."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from index.types import Float64Array
from query.evaluate import interval
from query.model.calls import Model, Prompt, Reply
from query.model.judge import CRITERIA, points, question

_MARK = re.compile(r"\s*\[\d+\]")


@dataclass(frozen=True, slots=True)
class Comparison:
    """One way of answering against another on one criterion.

    ``win_rate`` is the mean over questions of what ours won of its trials, ties a half, with the
    bounds of 95% of such means (bootstrap over questions). A question is won where more than half
    of it is; ``p`` is the exact two-sided sign test over those won and lost, corrected by Holm over
    all comparisons that were made together. ``unjudged`` trials brought no usable judgement.
    """

    ours: str
    theirs: str
    criterion: str
    questions: int
    win_rate: float
    interval: tuple[float, float]
    won: int
    lost: int
    p: float
    unjudged: int


def compared(
    model: Model,
    questions: Sequence[str],
    ours: tuple[str, Sequence[str]],
    theirs: tuple[str, Sequence[str]],
    *,
    trials: int,
    random: np.random.Generator,
) -> list[Comparison]:
    """Have two ways of answering judged on every question and criterion; ``p`` not yet corrected.

    Args:
        model: The judge.
        questions: What was asked.
        ours: Name and answers, in the order of the questions.
        theirs: The same of the other one.
        trials: Of each question in each order.
        random: Of the bootstrap.
    """
    scores, unjudged = [], 0
    for text, mine, other in zip(questions, ours[1], theirs[1], strict=True):
        trial = _trials(model, text, plain(mine), plain(other), trials)
        unjudged += 2 * trials - len(trial)
        if trial:
            scores.append(np.mean(np.array(trial, np.float64), axis=0))
    table = np.array(scores, np.float64).reshape(len(scores), len(CRITERIA))
    names = (ours[0], theirs[0])
    return [
        _comparison(names, criterion, table[:, at], unjudged, random)
        for at, criterion in enumerate(CRITERIA)
    ]


def plain(answer: str) -> str:
    """An answer without its citation marks: their number would tell who gave it."""
    return _MARK.sub("", answer)


def _trials(model: Model, text: str, mine: str, other: str, trials: int) -> list[Sequence[float]]:
    """What each trial gave ours by criterion; those without a usable reply are asked once more."""
    judge = model.for_question()
    orders = {False: question(text, mine, other), True: question(text, other, mine)}
    left = [swapped for swapped in orders for _ in range(trials)]
    found: list[Sequence[float]] = []
    for _ in range(2):
        prompts: list[Prompt] = [orders[swapped] for swapped in left]
        unusable = []
        for swapped, reply in zip(left, judge.ask(prompts), strict=True):
            given = points(reply.text, swapped=swapped) if isinstance(reply, Reply) else None
            if given is None:
                unusable.append(swapped)
            else:
                found.append(given)
        left = unusable
        if not left:
            break
    return found


def _comparison(
    names: tuple[str, str],
    criterion: str,
    scores: Float64Array,
    unjudged: int,
    random: np.random.Generator,
) -> Comparison:
    won, lost = int((scores > 0.5).sum()), int((scores < 0.5).sum())  # noqa: PLR2004  a half is a tie
    return Comparison(
        ours=names[0],
        theirs=names[1],
        criterion=criterion,
        questions=len(scores),
        win_rate=float(scores.mean()) if len(scores) else 0.5,
        interval=interval(scores, random),
        won=won,
        lost=lost,
        p=sign_test(won, lost),
        unjudged=unjudged,
    )


def sign_test(won: int, lost: int) -> float:
    """How likely chance alone would be as far from even, or farther: exact and two-sided."""
    rounds = won + lost
    tail = sum(math.comb(rounds, few) for few in range(min(won, lost) + 1))
    return min(1.0, math.ldexp(tail, 1 - rounds))


def corrected(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The same with each ``p`` corrected by Holm for the number of comparisons."""
    order = sorted(range(len(comparisons)), key=lambda at: comparisons[at].p)
    found = list(comparisons)
    largest = 0.0
    for place, at in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - place) * comparisons[at].p))
        found[at] = replace(comparisons[at], p=largest)
    return found
