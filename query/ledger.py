"""What a search has spent, by stage."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from query.types import StageCost

Clock = Callable[[], float]
"""Seconds from any start, never backwards."""


class Ledger:
    """Adds up seconds, calls and tests of each stage; ``costs`` is a frozen copy."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._started = clock()
        self._costs: dict[str, StageCost] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count the time inside towards a stage."""
        started = self._clock()
        try:
            yield
        finally:
            cost = self._costs.get(name, StageCost())
            self._costs[name] = replace(cost, seconds=cost.seconds + self._clock() - started)

    def tests(self, name: str, count: int) -> None:
        """Count one call of an assessor with so many chunks."""
        cost = self._costs.get(name, StageCost())
        self._costs[name] = replace(
            cost, calls=cost.calls + 1, relevance_tests=cost.relevance_tests + count
        )

    @property
    def seconds(self) -> float:
        """Time since the search began."""
        return self._clock() - self._started

    def costs(self) -> dict[str, StageCost]:
        """The costs so far, by stage in the order in which they began."""
        return dict(self._costs)
