"""The configurations that the announcement of LazyGraphRAG measured, by name.

``z100_lite``: 100 relevance tests, the cheap model for everything. ``z500`` and ``z1500``: the
cheap model for tests, the stronger one for refinement, claims and answer.
"""

from query.errors import BadBudgetError
from query.types import Preset

BUDGETS = {Preset.Z100_LITE: 100, Preset.Z500: 500, Preset.Z1500: 1500}
"""Relevance tests of each."""


def budget_of(preset: Preset | None, budget: int | None, default: int) -> int:
    """The budget of a question: its own, that of its preset, or the default.

    Raises:
        BadBudgetError: it names a preset and another budget than that one's.
    """
    if preset is None:
        return default if budget is None else budget
    if budget is not None and budget != BUDGETS[preset]:
        raise BadBudgetError(
            f"{preset.value} has a budget of {BUDGETS[preset]}: leave the budget out, or the preset"
        )
    return BUDGETS[preset]
