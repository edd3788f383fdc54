"""What a benchmark says: one figure with its target, and whether it holds."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value. ``target`` is "" where there is none; then it always holds."""

    name: str
    value: float
    unit: str
    target: str = ""
    holds: bool = True


def at_least(name: str, value: float, unit: str, target: float) -> Figure:
    """A figure that must not be below its target."""
    return Figure(name, value, unit, f"at least {target:g}", value >= target)


def at_most(name: str, value: float, unit: str, target: float) -> Figure:
    """A figure that must not be above its target."""
    return Figure(name, value, unit, f"at most {target:g}", value <= target)
