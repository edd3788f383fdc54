"""When to ask a service that has failed again: later each time, and at once after a success."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

Clock = Callable[[], float]
"""Seconds that never go backwards."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Seconds to wait after the first failure, and at most; doubled at each failure between."""

    first: float = 1.0
    most: float = 30.0

    def after(self, failures: int) -> float:
        """Seconds to wait after so many failures in a row, at least one."""
        return float(min(self.most, self.first * 2 ** min(failures - 1, 16)))


class Breaker:
    """Remembers failures in a row; for any thread. ``problem`` is "" while all is well."""

    def __init__(self, clock: Clock, backoff: Backoff | None = None) -> None:
        self._clock = clock
        self._backoff = backoff or Backoff()
        self._lock = threading.Lock()
        self._failures = 0
        self._again = 0.0
        self.problem = ""

    @property
    def closed(self) -> bool:
        """Whether it may be asked now."""
        return self.wait == 0

    @property
    def wait(self) -> float:
        """Seconds until it may be asked."""
        return max(0.0, self._again - self._clock()) if self._failures else 0.0

    def failed(self, problem: str) -> None:
        """Note a failure. Those of calls that were under way together count once."""
        with self._lock:
            if self._failures and self._again > self._clock():
                return
            self._failures += 1
            self._again = self._clock() + self._backoff.after(self._failures)
            self.problem = problem

    def succeeded(self) -> None:
        """Note a success."""
        with self._lock:
            self._failures = 0
            self.problem = ""
