"""Which changes a question is about: those of a window, of some concepts, by interval."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from index.change_log import EXPIRY, ChangeColumns, ChangesAsked
from index.types import Int64Array, Millis
from query.errors import BadFilterError

_MINUTE = 60_000
_DAY = 24 * 60 * _MINUTE
READABLE = (
    *(_MINUTE * n for n in (1, 5, 15, 60, 180, 360, 720)),
    *(_DAY * n for n in (1, 2, 7, 14, 30, 91, 365, 3650)),
)
"""Lengths of an interval that a person can read, in milliseconds."""
INTERVALS = 48
"""Counts that a sparkline has at most, the recent and the past ones rounded up; ours."""


class Time(StrEnum):
    """The time that a window speaks of: of arrival, or of what the documents tell of."""

    OBSERVED = "observed"
    EVENT = "event"

    def of(self, changes: ChangeColumns) -> Int64Array:
        """int64[n]: that time of each change, in milliseconds."""
        return changes.observed_at if self is Time.OBSERVED else changes.event_at

    def between(self, since: Millis, until: Millis) -> ChangesAsked:
        """What to ask the change log for: what lies in ``[since, until)``."""
        if self is Time.OBSERVED:
            return ChangesAsked(since=since, until=until)
        return ChangesAsked(event_since=since, event_until=until)


def shown(changes: ChangeColumns, horizon: Millis | None) -> ChangeColumns:
    """The changes of documents inside the window, if there is one; an expiry is no change.

    So a count is the same before and after what is due was taken out.
    """
    kept = changes.kind != EXPIRY
    if horizon is not None:
        kept &= changes.event_at >= horizon
    return changes if kept.all() else changes.take(np.flatnonzero(kept))


def expired(changes: ChangeColumns) -> int:
    """How many of some changes are expiries."""
    return int(np.count_nonzero(changes.kind == EXPIRY))


def within(changes: ChangeColumns, time: Time, since: Millis, until: Millis) -> ChangeColumns:
    """The changes in ``[since, until)``."""
    moments = time.of(changes)
    inside = (moments >= since) & (moments < until)
    return changes if inside.all() else changes.take(np.flatnonzero(inside))


def concerning(changes: ChangeColumns, concepts: Int64Array, concept_count: int) -> ChangeColumns:
    """The changes that name one of some concepts."""
    from query.kernels import name_any  # noqa: PLC0415  numba takes a while to import

    wanted = np.zeros(concept_count, np.bool_)
    wanted[concepts] = True
    named = np.zeros(len(changes), np.bool_)
    name_any(changes.begin, changes.end, changes.concepts, wanted, named)
    return changes.take(np.flatnonzero(named))


@dataclass(frozen=True, slots=True)
class Axis:
    """Intervals of ``length`` milliseconds; the first recent one, ``past``, begins at ``since``.

    The first and the last may be cut by the window.
    """

    start: Millis
    length: Millis
    past: int
    count: int


def axis_of(since: Millis, until: Millis, window: Millis) -> Axis:
    """The finest readable intervals of which at most ``INTERVALS`` cover both windows.

    Raises:
        BadFilterError: A window is empty.
    """
    if since >= until or window <= 0:
        raise BadFilterError("the window is empty: since must be before until, and have a past")

    def pieces(length: int) -> tuple[int, int]:
        return -(-window // length), -(-(until - since) // length)

    length = next((n for n in READABLE if sum(pieces(n)) <= INTERVALS), None)
    if length is None:  # centuries
        length = -(-(window + until - since) // (INTERVALS - 2))
    past, recent = pieces(length)
    return Axis(Millis(since - past * length), Millis(length), past, past + recent)
