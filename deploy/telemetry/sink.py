"""Where reports end: the metrics and the log of the process."""

from collections.abc import Callable, Mapping
from typing import Any

from deploy.telemetry.logs import logger
from deploy.telemetry.metrics import Metrics

Takes = Mapping[type, Callable[["Sink", Any], None]]
"""What becomes of a report, by its type."""


class Sink:
    """Metrics and log, and what they say of failures; may be used from any thread."""

    def __init__(self, metrics: Metrics, log: Any = None) -> None:
        self.metrics = metrics
        self.journal = logger() if log is None else log

    def failed(self, unit: str, error: BaseException) -> None:
        """Count and log work that failed unforeseen; ``unit`` from a closed list."""
        self.metrics.errors.labels(unit).inc()
        self.journal.error(
            f"{unit} failed", error=str(error) or type(error).__name__, exc_info=error
        )

    def warned(self, unit: str, problem: str) -> None:
        """Count and log what went wrong and is tried again; ``unit`` from a closed list."""
        self.metrics.errors.labels(unit).inc()
        self.journal.warning(unit, problem=problem)

    def waits_for_embedder(self, error: BaseException, seconds: float) -> None:
        """Count and log that documents wait, and for how long until it is tried again."""
        self.metrics.embedder_waits.inc()
        self.journal.warning("documents wait for the embedder", error=str(error), retry_in=seconds)
