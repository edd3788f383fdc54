"""The share of records that are rejected: told when it is high, and where it is wanted the end."""

from collections import deque
from collections.abc import Callable

from deploy.errors import DeployError
from index.admission import DocumentOutcome
from index.report import GenerationReport

RECORDS = 1_000
"""Records over which the share is taken, the newest ones."""
_FEWEST = 20
"""Below so many records a share says nothing."""


class TooManyRejectsError(DeployError):
    """More records were rejected than the settings allow, and the settings say to stop."""


class RejectShare:
    """Follows the share of rejected records; belongs to the thread that commits.

    Args:
        limit: the share above which it is told.
        stop: whether to raise then. Off by default: one bad producer must not stop everybody.
        told: is given what to say, once when the limit is passed, until it has fallen again.
    """

    def __init__(self, limit: float, *, stop: bool, told: Callable[[str], None]) -> None:
        self._limit = limit
        self._stop = stop
        self._told = told
        self._seen: deque[tuple[int, int]] = deque()
        self.share = 0.0
        self.over = False

    def add(self, report: GenerationReport) -> None:
        """Take a generation in. Raises ``TooManyRejectsError`` where it is to stop."""
        records = sum(report.outcomes.values())
        self._seen.append((records, report.outcomes.get(DocumentOutcome.REJECTED, 0)))
        total = sum(records for records, _ in self._seen)
        while total - self._seen[0][0] >= RECORDS:
            total -= self._seen.popleft()[0]
        rejected = sum(rejected for _, rejected in self._seen)
        self.share = rejected / total if total else 0.0
        over = total >= _FEWEST and self.share > self._limit
        if over and not self.over:
            self._tell(f"{rejected:,} of the last {total:,} records were rejected", report)
        self.over = over

    def _tell(self, what: str, report: GenerationReport) -> None:
        reasons = ", ".join(f"{why}: {count}" for why, count in sorted(report.rejected.items()))
        said = f"{what} (limit {self._limit:.0%}); in the last batch {reasons or 'none'}"
        if self._stop:
            raise TooManyRejectsError(f"{said}; rejects_stop is set, so this process ends")
        self._told(said)
