"""How fast the stream is indexed: means over the last minute."""

import threading
import time
from collections import deque
from collections.abc import Callable

WINDOW = 60.0
"""Seconds over which the means are taken."""


class Rates:
    """Counts documents and generations as they come; for any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._began = clock()
        self._seen: deque[tuple[float, int]] = deque()

    def add(self, documents: int) -> None:
        """A generation of so many documents was committed."""
        with self._lock:
            self._seen.append((self._clock(), documents))
            self._forget()

    def means(self) -> tuple[float, float]:
        """Documents a second and generations a minute."""
        with self._lock:
            self._forget()
            seconds = min(WINDOW, max(1.0, self._clock() - self._began))
            documents = sum(count for _, count in self._seen)
            return documents / seconds, len(self._seen) * 60 / seconds

    def _forget(self) -> None:
        oldest = self._clock() - WINDOW
        while self._seen and self._seen[0][0] < oldest:
            self._seen.popleft()
