"""Times in a question's words, read as a window in event time by the index's own clock.

"Yesterday" is the day before the watermark's day, so that a replay of 1987 keeps 1987's clock.
Days, weeks (from Monday), months and years are those of UTC. A month or day without a year is the
latest one that has begun. A bare year or month counts only after a word such as "in" or "since":
"the 1987 accord" is a thing, not a time. Times are read in English; others are left alone.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from index.analysis.dates import date_facets
from index.types import Millis, from_millis, to_millis

_UNITS = {"hour": 1 / 24, "day": 1, "week": 7, "month": 30, "year": 365}
"""Days of a span; months and years of "the last 3 months" are taken as 30 and 365 days."""

_WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_NUMBERS = {
    "a": 1,
    "an": 1,
    "one": 1,
    "two": 2,
    "couple of": 2,
    "three": 3,
    "few": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "twelve": 12,
}
_COUNT = rf"(?P<n>\d{{1,4}}|{'|'.join(_NUMBERS)})"
_LONG_AGO = 4
"""Years to go back for a 29 February that has been."""

_RELATIVE = re.compile(
    rf"""\b(?:
    (?P<day>the\ day\ before\ yesterday|yesterday|today|tonight|tomorrow)
    | (?P<which>last|this|next|past|previous|coming|current)\s+
      (?P<period>week|month|year|{"|".join(_WEEKDAYS)})
    | (?:the\s+)?(?:last|past|previous)\s+{_COUNT}\s+(?P<unit>hour|day|week|month|year)s?
    | {_COUNT.replace("<n>", "<m>")}\s+(?P<ago>hour|day|week|month|year)s?\s+ago
    )\b(?:['\u2019]s)?""",
    re.VERBOSE | re.IGNORECASE,
)
_BARE_SPAN = re.compile(
    r"\b(?:the\s+)?(?:last|past|previous)\s+(?P<unit>hour|24\s+hours)\b", re.IGNORECASE
)
_WEEKDAY = re.compile(rf"\b(?P<name>{'|'.join(_WEEKDAYS)})\b", re.IGNORECASE)
_BEFORE = re.compile(
    r"\b(since|after|from|before|until|till|up\s+to|by|in|on|during|between|throughout|within|over"
    r"|starting|of\s+the|for\s+the)\s+(?:the\s+(?:month|year|week)\s+of\s+)?(?:the\s+)?$",
    re.IGNORECASE,
)
_JOINT = re.compile(r"\s*(?:,?\s*(?:and|to|until|till|through)|-|\u2013)\s*$", re.IGNORECASE)
_MONTH = re.compile(
    r"\b(january|february|april|june|july|august|september|october|november|december"
    r"|(?:may|march)(?=\s+\d)|(?<=in )(?:may|march)\b(?=[?.!,]|$))"
)
_HAS_YEAR = re.compile(r"\d{4}")
_FROM = frozenset({"since", "from", "starting"})
_UNTIL = frozenset({"until", "till", "up to", "by"})


@dataclass(frozen=True, slots=True)
class Times:
    """A window read from words: ``[since, until)``, the words, and the question without them."""

    since: Millis | None
    until: Millis | None
    from_words: str
    rest: str


@dataclass(frozen=True, slots=True)
class _Period:
    """Words at ``text[start:end]`` that mean ``[low, high)``; ``sure`` needs no word before."""

    start: int
    end: int
    low: datetime
    high: datetime | None
    sure: bool


@dataclass(frozen=True, slots=True)
class _Part:
    start: int
    end: int
    since: datetime | None
    until: datetime | None


def times(text: str, watermark: Millis) -> Times | None:
    """The window that a question's words name; None where they name none, or an empty one.

    Args:
        text: The question.
        watermark: The index's clock; without one (0) nothing is read.
    """
    if not watermark:
        return None
    try:
        parts = list(_parts(text, from_millis(watermark)))
    except (OverflowError, ValueError):
        return None  # a time that no calendar holds
    since = max((p.since for p in parts if p.since is not None), default=None)
    until = min((p.until for p in parts if p.until is not None), default=None)
    if (since is None and until is None) or (since and until and since >= until):
        return None
    words = ", ".join(" ".join(text[p.start : p.end].split()) for p in parts)
    return Times(_millis(since), _millis(until), words, _without(text, parts))


def _parts(text: str, now: datetime) -> Iterator[_Part]:
    periods = _periods(text, now)
    at = 0
    while at < len(periods):
        first = periods[at]
        at += 1
        found = _BEFORE.search(text, max(0, first.start - 40), first.start)
        word = " ".join(found[1].lower().split()) if found else ""
        start = found.start() if found else first.start
        follows = at < len(periods) and _JOINT.fullmatch(text, first.end, periods[at].start)
        if follows and word in {"between", "from"}:
            yield _Part(start, periods[at].end, first.low, periods[at].high)
            at += 1
        elif first.sure or word:
            yield _Part(start, first.end, *_bounds(word, first))


def _bounds(word: str, period: _Period) -> tuple[datetime | None, datetime | None]:
    if word in _FROM:
        return period.low, None
    if word == "after":
        return period.high, None
    if word == "before":
        return None, period.low
    if word in _UNTIL:
        return None, period.high
    return period.low, period.high


def _periods(text: str, now: datetime) -> list[_Period]:
    """The periods of a text in order, none inside another; those named by "of" are things."""
    found = [*_relative(text, now), *_dates(text, now), *_weekdays(text, now)]
    periods: list[_Period] = []
    for period in sorted(found, key=lambda p: (p.start, -p.end)):
        if not periods or period.start >= periods[-1].end:
            periods.append(period)
    return periods


def _relative(text: str, now: datetime) -> Iterator[_Period]:
    for found in _RELATIVE.finditer(text):
        low, high = _meant(found, now)
        yield _Period(found.start(), found.end(), low, high, sure=True)
    for found in _BARE_SPAN.finditer(text):
        hours = 1 if found["unit"].lower() == "hour" else 24
        low = now - timedelta(hours=hours)
        yield _Period(found.start(), found.end(), low, _just_after(now), sure=True)


def _meant(found: re.Match[str], now: datetime) -> tuple[datetime, datetime]:
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    one = timedelta(days=1)
    if found["day"]:
        back = {"yesterday": -1, "tomorrow": 1, "the day before yesterday": -2}
        low = today + back.get(found["day"].lower(), 0) * one
        return low, low + one
    if found["unit"]:
        return now - _span(found["n"], found["unit"]), _just_after(now)
    if found["ago"]:
        span = _span(found["m"], found["ago"])
        if found["ago"].lower() == "hour":
            return now - span, now - span + timedelta(hours=1)
        low = today - span
        return low, low + one
    return _named(found["which"].lower(), found["period"].lower(), today)


def _span(count: str, unit: str) -> timedelta:
    number = int(count) if count.isdecimal() else _NUMBERS[count.lower()]
    return timedelta(days=number * _UNITS[unit.lower()])


def _named(which: str, period: str, today: datetime) -> tuple[datetime, datetime]:
    """The week, month, year or weekday before, around or after a day."""
    step = {"last": -1, "past": -1, "previous": -1, "next": 1, "coming": 1}.get(which, 0)
    if period == "week":
        monday = today - timedelta(days=today.weekday()) + timedelta(weeks=step)
        return monday, monday + timedelta(weeks=1)
    if period == "year":
        year = today.year + step
        return datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC)
    if period == "month":
        months = today.year * 12 + today.month - 1 + step
        return _month(months), _month(months + 1)
    back = (today.weekday() - _WEEKDAYS.index(period)) % 7
    days = (7 - back if back else 7) if step > 0 else -(back or (7 if step else 0))
    low = today + timedelta(days=days)
    return low, low + timedelta(days=1)


def _month(months: int) -> datetime:
    return datetime(months // 12, months % 12 + 1, 1, tzinfo=UTC)


def _weekdays(text: str, now: datetime) -> Iterator[_Period]:
    """Weekdays by name: the latest that has begun."""
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    for found in _WEEKDAY.finditer(text):
        back = (today.weekday() - _WEEKDAYS.index(found["name"].lower())) % 7
        low = today - timedelta(days=back)
        yield _Period(found.start(), found.end(), low, low + timedelta(days=1), sure=False)


def _dates(text: str, now: datetime) -> Iterator[_Period]:
    text = _MONTH.sub(lambda found: found[0].title(), text)
    for facet in date_facets(text, now):
        words = text[facet.start : facet.end]
        if not _HAS_YEAR.search(words):
            latest = _latest(words, now)
            if latest is None:
                continue
            low, high = latest
        else:
            low, high = from_millis(int(facet.low)), from_millis(int(facet.high) + 1)
        yield _Period(facet.start, facet.end, low, high, sure=False)


def _latest(words: str, now: datetime) -> tuple[datetime, datetime] | None:
    """The latest such day or month that has begun."""
    for year in range(now.year, now.year - _LONG_AGO - 1, -1):
        for facet in date_facets(f"in {words.rstrip('.')} {year}", None):
            low = from_millis(int(facet.low))
            if low <= now:
                return low, from_millis(int(facet.high) + 1)
    return None


def _just_after(now: datetime) -> datetime:
    """The first moment after the newest document."""
    return now + timedelta(milliseconds=1)


def _without(text: str, parts: list[_Part]) -> str:
    """The text without the words of a window, spaces and commas that held them tidied."""
    at, kept = 0, []
    for part in parts:
        kept.append(text[at : part.start])
        at = part.end
    rest = " ".join(" ".join([*kept, text[at:]]).split())
    rest = re.sub(r"\s+(?:and|,)?\s*([?!.,;:])", r"\1", rest)
    return rest.strip(" ,;:-")


def _millis(moment: datetime | None) -> Millis | None:
    return None if moment is None else to_millis(moment)
