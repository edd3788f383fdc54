"""Which changes a question is about: those of a window, of some concepts."""

from enum import StrEnum

import numpy as np

from index.change_log import ChangeColumns
from index.types import Int64Array, Millis

_ALWAYS = Millis(-(1 << 62))


class Time(StrEnum):
    """The time that a window speaks of: of arrival, or of what the documents tell of."""

    OBSERVED = "observed"
    EVENT = "event"

    def of(self, changes: ChangeColumns) -> Int64Array:
        """int64[n]: that time of each change, in milliseconds."""
        return changes.observed_at if self is Time.OBSERVED else changes.event_at

    def reaching(self, since: Millis) -> Millis:
        """From which moment of arrival on changes can lie after ``since``."""
        return since if self is Time.OBSERVED else _ALWAYS


def within(changes: ChangeColumns, time: Time, since: Millis, until: Millis) -> ChangeColumns:
    """The changes in ``[since, until)``."""
    moments = time.of(changes)
    inside = (moments >= since) & (moments < until)
    return changes if inside.all() else changes.take(np.flatnonzero(inside))


def concerning(changes: ChangeColumns, concepts: Int64Array, concept_count: int) -> ChangeColumns:
    """The changes that name one of some concepts."""
    wanted = np.zeros(concept_count, np.bool_)
    wanted[concepts] = True
    named = np.flatnonzero(wanted[changes.concepts])
    return changes.take(np.unique(np.searchsorted(changes.offsets, named, side="right") - 1))
