"""Dates in a text, as intervals in milliseconds since 1970 (UTC)."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from index.types import Facet, FacetKind

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sept sep",
            "october oct",
            "november nov",
            "december dec",
        ),
        start=1,
    )
    for name in names.split()
}
_MONTH = (
    r"(?P<{0}>January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept|Sep|Oct|Nov|Dec)\b\.?"
)
_YEAR = r"(?P<{0}>(?:1[5-9]|20)\d\d)"
_DAY = r"(?P<{0}>[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th)?"
_BY_MONTH = re.compile(
    rf"\b{_MONTH.format('m')}(?:\s+{_DAY.format('d')}(?![\d/:]|[,.]\d))?(?:,?\s+{_YEAR.format('y')}\b)?"
)
_DAY_FIRST = re.compile(
    rf"\b{_DAY.format('d')}\s+(?:of\s+)?{_MONTH.format('m')}(?:,?\s+{_YEAR.format('y')}\b)?"
)
_ISO = re.compile(r"\b(?P<y>(?:1[5-9]|20)\d\d)-(?P<m>0[1-9]|1[0-2])-(?P<d>0[1-9]|[12]\d|3[01])\b")
_BARE_YEAR = re.compile(
    r"(?<![\w.,$/-])(?P<y>(?:1[5-9]|20)\d\d)(?:[/-](?P<to>\d\d(?:\d\d)?))?(?![\w/-]|[.,]\d|\s+(?:mln|pct|dlrs|cts)\b)"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DECEMBER = 12
_NEAR = re.compile(
    r"\b(?:in|of|on|by|since|until|from|to|before|after|during|ended|ending|last|next|this|and|for)\s+$"
)


def date_facets(text: str, at: datetime | None) -> list[Facet]:
    """The dates of a text; days and months without a year are the nearest to ``at``.

    Without ``at`` they are left out. A month alone is a date only after a preposition, so that
    "May" and "march" are not read wrongly.
    """
    found: list[Facet] = []
    taken = 0
    for start, end, year, month, day, last_year in sorted(_matches(text)):
        if start < taken:
            continue
        facet = _facet(start, end, (year, month, day), last_year, at)
        taken = end  # also where the day cannot be: its year alone would be half the truth
        if facet is not None:
            found.append(facet)
    return found


Match = tuple[int, int, int, int, int, int]


def _matches(text: str) -> Iterator[Match]:
    """Candidates as (start, end, year, month, day, last year), 0 for what is not there."""
    for match in _ISO.finditer(text):
        yield _match(match, int(match["m"]))
    for match in _DAY_FIRST.finditer(text):
        yield _match(match, _MONTHS[match["m"].lower()])
    for match in _BY_MONTH.finditer(text):
        alone = match["d"] is None and match["y"] is None
        if not alone or _NEAR.search(text, max(0, match.start() - 10), match.start()):
            yield _match(match, _MONTHS[match["m"].lower()])
    for match in _BARE_YEAR.finditer(text):
        year = int(match["y"])
        last = _last_year(year, match["to"])
        if last is not None:
            yield match.start(), match.end(), year, 0, 0, last


def _match(match: re.Match[str], month: int) -> Match:
    year = int(match["y"] or 0)
    return match.start(), match.end(), year, month, int(match["d"] or 0), year


def _last_year(year: int, to: str | None) -> int | None:
    """The second year of "1986/87"; None where the two make no interval."""
    if to is None:
        return year
    last = int(to) if len(to) == 4 else year // 100 * 100 + int(to)  # noqa: PLR2004
    return last if year < last <= year + 50 else None


def _facet(
    start: int, end: int, moment: tuple[int, int, int], last_year: int, at: datetime | None
) -> Facet | None:
    year, month, day = moment
    if not year:
        if at is None:
            return None
        year = last_year = _nearest_year(month, day or 15, at)
    try:
        low = datetime(year, month or 1, day or 1, tzinfo=UTC)
        high = _after(low, last_year, month, day)
    except (ValueError, OverflowError):
        return None
    return Facet(FacetKind.DATE, _millis(low), _millis(high) - 1, "", start, end)


def _after(low: datetime, last_year: int, month: int, day: int) -> datetime:
    """The first moment after the interval."""
    if day:
        return low + timedelta(days=1)
    if month == _DECEMBER or not month:
        return datetime(last_year + 1, 1, 1, tzinfo=UTC)
    return datetime(last_year, month + 1, 1, tzinfo=UTC)


def _nearest_year(month: int, day: int, at: datetime) -> int:
    """The year in which that day lies nearest to ``at``; the earlier one on a tie."""
    ordinal = (at.month - month) * 30.4 + at.day - day
    if ordinal > 365 / 2:
        return at.year + 1
    return at.year - 1 if ordinal < -365 / 2 else at.year


def _millis(moment: datetime) -> float:
    return float((moment - _EPOCH) // timedelta(milliseconds=1))
