"""Moments as clients write them."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from index.types import Millis, to_millis
from query.errors import BadFilterError

_UNITS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_SPAN = re.compile(r"(\d{1,6})([smhdw])\Z")

EARLIEST = to_millis(datetime(1, 1, 2, tzinfo=UTC))
LATEST = to_millis(datetime(9999, 12, 30, tzinfo=UTC))
"""Moments beyond these bounds count as the bounds: they can be written in every time zone."""

SPAN_PATTERN = "^[0-9]{1,6}[smhdw]$"
LENGTH_PATTERN = "^[1-9][0-9]{0,5}[smhdw]$"
"""A span that is not empty."""
_FORMS: tuple[Mapping[str, str], ...] = (
    {"type": "string", "pattern": SPAN_PATTERN},
    {"type": "string", "format": "date-time"},
    {"type": "string", "format": "date"},
)
MOMENT_SCHEMA: dict[str, Any] = {"anyOf": list(_FORMS)}
"""What a moment may look like, for the schema; ``moment`` reads more of ISO 8601 than this."""
MOMENT_OR_NULL_SCHEMA: dict[str, Any] = {"anyOf": [*_FORMS, {"type": "null"}]}

MOMENT = "ISO 8601 (UTC where it names no zone), or a span before now such as 90m, 24h, 7d, 2w"


def span(text: str) -> Millis | None:
    """The milliseconds of a span such as ``24h``; None where it is no span."""
    found = _SPAN.match(text.strip())
    return None if found is None else Millis(int(found[1]) * _UNITS[found[2]])


def moment(text: str, now: Millis) -> Millis:
    """Milliseconds since 1970 of a moment; spans count back from ``now``.

    Raises:
        BadFilterError: it is neither a span nor an ISO 8601 time.
    """
    back = span(text)
    if back is not None:
        return Millis(max(EARLIEST, now - back))
    try:
        when = datetime.fromisoformat(text.strip())
    except ValueError:
        raise BadFilterError(f"{text[:80]!r} is no time: give {MOMENT}.") from None
    millis = to_millis(when if when.tzinfo else when.replace(tzinfo=UTC))
    return Millis(min(max(EARLIEST, millis), LATEST))
