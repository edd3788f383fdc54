"""What ``ask --estimate`` prints: the worst case of a question, without asking it."""

from typing import Any

from rich.console import Console
from rich.table import Table

from deploy.assembly.models import names, price, question_ceilings
from deploy.errors import UsageError
from deploy.settings import Settings
from query.errors import BadBudgetError
from query.model.calls import Role
from query.model.estimate import StageEstimate, estimate, total
from query.presets import budget_of
from query.types import CONTEXT, Mode, Preset

_ROLES = {
    "refine": Role.ANSWERS,
    "test": Role.TESTS,
    "map": Role.ANSWERS,
    "answer": Role.ANSWERS,
}
_LITE = dict.fromkeys(_ROLES, Role.TESTS)


def worst_case(
    settings: Settings,
    question: str,
    budget: int | None,
    preset: str | None = None,
    mode: str = Mode.LAZY.value,
    context: int = CONTEXT,
) -> dict[str, Any]:
    """The worst case as plain values; ``money`` is null where a price is unknown.

    Raises:
        UsageError: no model is set, so that a question costs nothing; or there is no such preset
            or mode.
    """
    if not settings.model:
        raise UsageError("without a model a question costs nothing: set model to estimate")
    try:
        searched = Mode(mode)
        chosen = None if preset is None else Preset(preset)
        tests = budget_of(chosen, budget, settings.budget)
    except (ValueError, BadBudgetError) as error:
        raise UsageError(str(error)) from None
    roles = _LITE if chosen is Preset.Z100_LITE else _ROLES
    answers = roles["answer"]
    stages = estimate(
        question,
        tests,
        prices={
            Role.TESTS: price(settings, Role.TESTS),
            Role.ANSWERS: price(settings, answers),
        },
        chunk_words=settings.chunk_words,
        thinking=settings.model_thinking,
        mode=searched,
        context=context,
    )
    whole = StageEstimate("all", sum(stage.calls for stage in stages), total(stages))
    ceilings = question_ceilings(settings)
    return {
        "budget": tests,
        "stages": [_plain(stage, roles, names(settings)) for stage in (*stages, whole)],
        "ceilings": {"tokens": ceilings.tokens, "money": ceilings.money},
    }


def show(out: Console, found: dict[str, Any]) -> None:
    """Print the worst case as a table."""
    table = Table(title=f"At worst, with a budget of {found['budget']}", title_justify="left")
    for column in ("stage", "model", "calls", "tokens sent", "tokens written", "money"):
        table.add_column(column, justify="left" if column in {"stage", "model"} else "right")
    for stage in found["stages"]:
        money = "unknown" if stage["money"] is None else f"{stage['money']:.4f}"
        counts = (stage["calls"], stage["prompt_tokens"], stage["completion_tokens"])
        table.add_row(stage["stage"], stage["model"], *(f"{n:,}" for n in counts), money)
    out.print(table)
    for what, most in found["ceilings"].items():
        if most is not None:
            out.print(f"Ceiling of {what} for a question: {most:,}")


def _plain(stage: StageEstimate, roles: dict[str, Role], models: dict[Role, str]) -> dict[str, Any]:
    role = roles.get(stage.stage)
    return {
        "stage": stage.stage,
        "model": "" if role is None else models[role],
        "calls": stage.calls,
        "prompt_tokens": stage.cost.prompt_tokens,
        "completion_tokens": stage.cost.completion_tokens,
        "money": stage.cost.money,
    }
