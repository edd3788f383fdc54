"""Times as messages write them: ISO 8601 with a zone, or a date alone."""

import re
from datetime import UTC, datetime

from index.types import Millis, from_millis, to_millis

EARLIEST = datetime(1000, 1, 1, tzinfo=UTC)
LATEST = datetime(3000, 1, 1, tzinfo=UTC)
"""Times lie in [EARLIEST, LATEST): wide enough for archives, narrow enough to catch slips."""

CREDIBLE = to_millis(datetime(2000, 1, 1, tzinfo=UTC))
"""A record that says to have been published before 2000 comes from a clock that was not set."""

ACCEPTED = 'write it as "2026-02-28T09:30:00Z", "2026-02-28T10:30:00+01:00" or "2026-02-28"'

_DATE = r"\d{4}-\d{2}-\d{2}"
_CLOCK = r"\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?"
_FORM = re.compile(rf"{_DATE}(?:[Tt ]{_CLOCK}(?P<zone>[Zz]|[+-]\d{{2}}(?::?\d{{2}})?)?)?", re.ASCII)


def parse_time(written: str) -> datetime:
    """The moment in UTC; a date alone is its first moment in UTC.

    Raises:
        ValueError: with a message for people, if it is no such time or lies outside
            [EARLIEST, LATEST).
    """
    text = written.strip()
    form = _FORM.fullmatch(text)
    if form is None:
        raise ValueError(f"is no time; {ACCEPTED}")
    if len(text) > len("2026-02-28") and form["zone"] is None:
        raise ValueError(f"has no time zone; {ACCEPTED}")
    try:
        moment = datetime.fromisoformat(text.upper())
    except ValueError as error:
        raise ValueError(f"is impossible ({error}); {ACCEPTED}") from None
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    # Compared before conversion: year 1 with a zone east of Greenwich cannot be converted.
    if not EARLIEST <= moment < LATEST:
        raise ValueError(f"lies outside the years {EARLIEST.year} to {LATEST.year - 1}")
    return moment.astimezone(UTC)


def from_record(timestamp: int) -> datetime:
    """A record's timestamp as a datetime; what lies outside the accepted years is cut to them."""
    return from_millis(min(max(timestamp, to_millis(EARLIEST)), to_millis(LATEST) - 1))


def arrival_time(stated: int, now: int) -> Millis:
    """The timestamp that a source gives a record: the stated one where it can be true, else now.

    Args:
        stated: milliseconds that the record carries; -1 where it carries none.
        now: milliseconds of the reader's clock.
    """
    return Millis(stated if CREDIBLE <= stated <= now else now)
