"""When a consumer has stopped working although it runs: a verdict on what it is at.

Every phase of the loop has the longest time that it may take; the long ones (a start that
compiles or rebuilds, the communities brought up to date at the end of a bounded run) have none. A
source that is away is waited for, however long; one that answers and tells of more to read, but
gives nothing, is a client that hangs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Phase(StrEnum):
    """What the consumer is at."""

    STOPPED = "stopped"
    READ = "read"
    ANALYZE = "analyze"
    COMMIT = "commit"
    GROUP = "group"
    FINISH = "finish"


@dataclass(frozen=True, slots=True)
class Activity:
    """What the consumer is at and for how many seconds.

    ``stalled``: seconds since the source last gave something, while it answers and says that
    there is more to read; 0 where that is not so.
    """

    phase: Phase = Phase.STOPPED
    seconds: float = 0.0
    stalled: float = 0.0


@dataclass(frozen=True, slots=True)
class WatchLimits:
    """The longest times in seconds; ``stall`` is for a source that answers and gives nothing."""

    read: float = 180.0
    analyze: float = 600.0
    commit: float = 300.0
    group: float = 300.0
    stall: float = 300.0


def fault(activity: Activity, limits: WatchLimits) -> str | None:
    """Why the process should end; None while all is well."""
    longest: Mapping[Phase, tuple[float, str]] = {
        Phase.READ: (limits.read, "a poll of the source has not returned"),
        Phase.ANALYZE: (limits.analyze, "the analysis of a batch has not ended"),
        Phase.COMMIT: (limits.commit, "the commit of a generation has not ended"),
        Phase.GROUP: (limits.group, "the adoption of communities has not ended"),
    }
    limit, what = longest.get(activity.phase, (float("inf"), ""))
    if activity.seconds > limit:
        return f"{what} after {activity.seconds:.0f} s (limit {limit:.0f} s)"
    if activity.stalled > limits.stall:
        return (
            f"the source says that there is more to read, but gave nothing for "
            f"{activity.stalled:.0f} s (limit {limits.stall:.0f} s)"
        )
    return None
