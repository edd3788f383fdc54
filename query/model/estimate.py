"""What a question may cost at worst, before it is asked."""

from collections.abc import Mapping
from dataclasses import dataclass

from query.assessor import Candidate
from query.context import BYTES_A_TOKEN as CONTEXT_BYTES
from query.context import alone
from query.model import assessor, grounded, points, reduce, refine
from query.model.calls import Prompt, Role
from query.model.spending import Cost, Price, worst
from query.settings import ClaimSettings
from query.types import CONTEXT, Claim, Mode

BYTES_A_WORD = 16
"""Of the chunks' text: more than any language that writes words apart takes on average."""

_TITLE = 500
_TRIES = 2
"""A verdict that cannot be used is asked for once more."""


@dataclass(frozen=True, slots=True)
class StageEstimate:
    """The calls of a stage, at most, and what they cost together, at most."""

    stage: str
    calls: int
    cost: Cost


def estimate(
    question: str,
    budget: int,
    *,
    prices: Mapping[Role, Price | None],
    chunk_words: int = 100,
    thinking: int = 0,
    claims: ClaimSettings | None = None,
    mode: Mode = Mode.LAZY,
    context: int = CONTEXT,
) -> list[StageEstimate]:
    """The worst case by stage: every chunk tested in a call of its own, and each call in vain once.

    In mode ``global`` every chunk is the only one of its community; a baseline is one call.

    Args:
        question: Its text.
        budget: Relevance tests, at least 1.
        prices: Of each role's model, None where unknown: the money is then unknown too.
        chunk_words: Length of the chunks.
        thinking: Tokens that a model may think in each call.
        claims: What bounds the claims of an answer.
        mode: Of the search.
        context: Tokens of text, as in a question.
    """
    chunk = _chunk(chunk_words * BYTES_A_WORD)
    if mode is Mode.LAZY:
        prompts = _lazy(question, budget, chunk, claims or ClaimSettings())
    elif mode is Mode.GLOBAL:
        points_ = Claim("x" * (context * CONTEXT_BYTES), (1,), 0, 0.0)
        prompts = [
            ("map", _TRIES * budget, points.question(question, alone(chunk))),
            ("answer", 1, reduce.question(question, [points_])),
        ]
    else:
        full = alone(_chunk(context * CONTEXT_BYTES))
        prompts = [("answer", 1, grounded.question(question, full))]
    return [
        StageEstimate(stage, calls, _times(calls, worst(prompt, prices[prompt.role], thinking)))
        for stage, calls, prompt in prompts
    ]


def _lazy(
    question: str, budget: int, chunk: Candidate, bounds: ClaimSettings
) -> list[tuple[str, int, Prompt]]:
    claim = Claim("x" * bounds.longest, (1,), 0, 0.0)
    asked = "x" * max(len(question.encode()), refine.LONGEST)
    expanded = "x" * (4 * refine.LONGEST)
    return [
        ("refine", 1, refine.question(question)),
        ("test", _TRIES * budget, assessor.question(asked, {1: chunk})),
        ("answer", 1, reduce.question(expanded, [claim] * bounds.most)),
    ]


def _chunk(size: int) -> Candidate:
    return Candidate(0, "x" * _TITLE, "x" * size, ((0, size),), 0.0, 0.0, 0.0, 0.0)


def total(stages: list[StageEstimate]) -> Cost:
    """All stages together; the money is unknown where that of one is."""
    costs = [stage.cost for stage in stages]
    known = [cost.money for cost in costs if cost.money is not None]
    return Cost(
        sum(cost.prompt_tokens for cost in costs),
        sum(cost.completion_tokens for cost in costs),
        sum(known) if len(known) == len(costs) else None,
    )


def _times(calls: int, cost: Cost) -> Cost:
    money = None if cost.money is None else calls * cost.money
    return Cost(calls * cost.prompt_tokens, calls * cost.completion_tokens, money)
