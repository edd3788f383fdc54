"""What comparisons of a store tell: the checks one by one, and how far they are."""

from collections.abc import Callable
from dataclasses import dataclass

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was compared. ``detail`` says what with what, or what is wrong."""

    name: str
    ok: bool
    detail: str
