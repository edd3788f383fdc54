"""What a question may cost at worst, before it is asked."""

from collections.abc import Mapping
from dataclasses import dataclass

from query.assessor import Candidate
from query.model import assessor, reduce, refine
from query.model.calls import Prompt, Role
from query.model.spending import Cost, Price, worst
from query.settings import ClaimSettings
from query.types import Claim

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
) -> list[StageEstimate]:
    """The worst case by stage: every chunk tested in a call of its own, and each call in vain once.

    Args:
        question: Its text.
        budget: Relevance tests, at least 1.
        prices: Of each role's model, None where unknown: the money is then unknown too.
        chunk_words: Length of the chunks.
        thinking: Tokens that a model may think in each call.
        claims: What bounds the claims of an answer.
    """
    bounds = claims or ClaimSettings()
    text = "x" * (chunk_words * BYTES_A_WORD)
    ends = ((0, len(text)),)
    chunk = Candidate(0, "x" * _TITLE, text, ends, 0.0, 0.0, 0.0, 0.0)
    claim = Claim("x" * bounds.longest, (1,), 0, 0.0)
    asked = "x" * max(len(question.encode()), refine.LONGEST)
    expanded = "x" * (4 * refine.LONGEST)
    prompts: tuple[tuple[str, int, Prompt], ...] = (
        ("refine", 1, refine.question(question)),
        ("test", _TRIES * budget, assessor.question(asked, {1: chunk})),
        ("answer", 1, reduce.question(expanded, [claim] * bounds.most)),
    )
    return [
        StageEstimate(stage, calls, _times(calls, worst(prompt, prices[prompt.role], thinking)))
        for stage, calls, prompt in prompts
    ]


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
