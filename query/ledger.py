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
        """Count chunks given to an assessor."""
        cost = self._costs.get(name, StageCost())
        self._costs[name] = replace(cost, relevance_tests=cost.relevance_tests + count)

    def untested(self, name: str, count: int) -> None:
        """Count chunks, of those given to an assessor, that got no verdict."""
        cost = self._costs.get(name, StageCost())
        self._costs[name] = replace(cost, untested=cost.untested + count)

    def remembered(self, name: str, count: int) -> None:
        """Count what was remembered, of what an assessor was given or a model would be asked."""
        cost = self._costs.get(name, StageCost())
        self._costs[name] = replace(cost, remembered=cost.remembered + count)

    def call(self, name: str, prompt_tokens: int = 0, completion_tokens: int = 0) -> None:
        """Count one call with the tokens that it took."""
        cost = self._costs.get(name, StageCost())
        self._costs[name] = replace(
            cost,
            calls=cost.calls + 1,
            prompt_tokens=cost.prompt_tokens + prompt_tokens,
            completion_tokens=cost.completion_tokens + completion_tokens,
        )

    @property
    def seconds(self) -> float:
        """Time since the search began."""
        return self._clock() - self._started

    def costs(self) -> dict[str, StageCost]:
        """The costs so far, by stage in the order in which they began."""
        return dict(self._costs)
