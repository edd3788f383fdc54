"""The dates of feeds: read where they mean one moment, refused where they might mean another.

feedparser's own reader takes "03/04/2018" for one of two days and gives nothing, without a word,
for "Mo, 25 Jun 2018"; here a date is read or there is a reason why not.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

from stream.times import EARLIEST, parse_time

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan january januar",
            "feb february februar",
            "mar march märz maerz mrz",
            "apr april",
            "may mai",
            "jun june juni",
            "jul july juli",
            "aug august",
            "sep sept september",
            "oct october okt oktober",
            "nov november",
            "dec december dez dezember",
        ),
        start=1,
    )
    for name in names.split()
}
"""English names (RFC 822), and the German ones, none of which is another month elsewhere."""
_HOURS = {
    **dict.fromkeys(("z", "ut", "utc", "gmt", "wet"), 0),
    **dict.fromkeys(("cet", "mez"), 1),
    **dict.fromkeys(("cest", "mesz", "eet"), 2),
    **dict.fromkeys(("cst", "mdt"), -6),
    **dict.fromkeys(("est", "cdt"), -5),
    **dict.fromkeys(("mst", "pdt"), -7),
    **{"edt": -4, "pst": -8, "eest": 3, "jst": 9},  # noqa: PIE800  one table
}
_CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.\d{1,9})?)?"
_NAMED = re.compile(
    r"(?:[^\W\d]{2,12}\.?,?\s{1,5})?(?P<day>\d{1,2})\.?[\s-]{1,5}(?P<month>[^\W\d]{3,9})\.?[\s,-]{1,5}"
    rf"(?P<year>\d{{4}}|\d{{2}})(?:,?\s{{1,5}}{_CLOCK}(?:\s{{0,5}}(?P<zone>[+-]\d{{2}}:?\d{{2}}|[A-Za-z]{{1,5}}))?)?"
)
_ISO_NO_ZONE = re.compile(r"(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)")
_LONGEST = 80
_AHEAD = timedelta(days=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PIVOT = 70


@dataclass(frozen=True, slots=True)
class FeedDate:
    """A date as read: the moment, or None and ``problem``; both None where nothing is written.

    ``zone_assumed`` says that a time bore no zone and was taken as UTC.
    """

    moment: datetime | None
    problem: str | None = None
    zone_assumed: bool = False


def read_date(written: str | None, now: datetime) -> FeedDate:
    """Read what an entry gives as its date.

    Left out as impossible: days that no calendar has, days more than one after ``now``, and the
    first moment of 1970, which programs write for "none". Left out as ambiguous: months in
    digits without ISO order, zones that several countries use, and what is no date.
    """
    text = (written or "").strip()
    if not text:
        return FeedDate(None)
    if len(text) > _LONGEST:
        return FeedDate(None, "no date that is known")
    try:
        moment, assumed = _moment(text)
    except ValueError as error:
        return FeedDate(None, str(error))
    if moment > now + _AHEAD:
        return FeedDate(None, "impossible: lies ahead")
    if moment == _EPOCH or moment < EARLIEST:
        return FeedDate(None, "impossible: stands for no date")
    return FeedDate(moment, None, assumed)


def _moment(text: str) -> tuple[datetime, bool]:
    if re.match(r"\d{4}-\d{2}-\d{2}", text):
        bare = _ISO_NO_ZONE.fullmatch(text)
        try:
            return parse_time(f"{bare[1]}T{bare[2]}Z" if bare else text), bare is not None
        except ValueError:
            raise ValueError("impossible: no such day or time") from None
    found = _NAMED.fullmatch(text)
    if found is None:
        raise ValueError("ambiguous: the month is not named, and the order is not ISO 8601")
    month = _MONTHS.get(found["month"].casefold())
    if month is None:
        raise ValueError("ambiguous: a month that is not known")
    year = int(found["year"])
    if len(found["year"]) < len("1970"):
        year += 1900 if year >= _PIVOT else 2000
    offset, assumed = _zone(found["zone"], timed=found["hour"] is not None)
    # A leap second is the last one of its minute here.
    second = 59 if found["second"] == "60" else int(found["second"] or 0)
    try:
        moment = datetime(
            year,
            month,
            int(found["day"]),
            int(found["hour"] or 0),
            int(found["minute"] or 0),
            second,
            tzinfo=timezone(offset),
        )
        return moment.astimezone(UTC), assumed
    except (ValueError, OverflowError):
        raise ValueError("impossible: no such day or time") from None


def _zone(written: str | None, *, timed: bool) -> tuple[timedelta, bool]:
    """The offset from UTC and whether it was assumed; a day alone is its first moment in UTC."""
    if written is None:
        return timedelta(), timed
    if written[0] in "+-":
        digits = written[1:].replace(":", "")
        size = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
        if size >= timedelta(hours=24):
            raise ValueError("impossible: no such time zone")
        return (-size if written[0] == "-" else size), False
    hours = _HOURS.get(written.casefold())
    if hours is None:
        raise ValueError("ambiguous: a time zone that several countries use, or none")
    return timedelta(hours=hours), False
