"""Amounts of money, percentages and counts in a text, as values."""

import re
from collections.abc import Iterator

from index.analysis.normalise import singular
from index.types import Facet, FacetKind

_SCALES = {
    "hundred": 1e2,
    "thousand": 1e3,
    "k": 1e3,
    "mln": 1e6,
    "mlns": 1e6,
    "million": 1e6,
    "millions": 1e6,
    "m": 1e6,
    "bln": 1e9,
    "blns": 1e9,
    "billion": 1e9,
    "billions": 1e9,
    "bn": 1e9,
    "b": 1e9,
    "trln": 1e12,
    "trillion": 1e12,
    "tn": 1e12,
}
_SYMBOLS = {
    "$": "USD",
    "US$": "USD",
    "C$": "CAD",
    "CA$": "CAD",
    "A$": "AUD",
    "HK$": "HKD",
    "NZ$": "NZD",
    "\u00a3": "GBP",
    "\u20ac": "EUR",
    "\u00a5": "JPY",
}
_CODES = "USD EUR GBP JPY CHF CAD AUD DEM FRF CNY INR SEK NOK DKK BRL MXN KRW ZAR HKD SGD NZD"
_CURRENCIES = {
    "dlrs": "USD",
    "dlr": "USD",
    "dollar": "USD",
    "dollars": "USD",
    "stg": "GBP",
    "sterling": "GBP",
    "pounds sterling": "GBP",
    "euro": "EUR",
    "euros": "EUR",
    "yen": "JPY",
    "yuan": "CNY",
    "won": "KRW",
    "rand": "ZAR",
    "rupees": "INR",
    "marks": "DEM",
    "guilders": "NLG",
    "lire": "ITL",
    "lira": "ITL",
    "pesetas": "ESP",
    "francs": "FRF",
    "swiss francs": "CHF",
    "french francs": "FRF",
    "belgian francs": "BEF",
    "pesos": "MXN",
    "cruzados": "BRC",
    "australs": "ARA",
    "riyals": "SAR",
    "dinars": "KWD",
    "crowns": "SEK",
    "canadian dlrs": "CAD",
    "canadian dollars": "CAD",
    "australian dlrs": "AUD",
    "australian dollars": "AUD",
    "u.s. dlrs": "USD",
    "u.s. dollars": "USD",
    "us dollars": "USD",
    "hong kong dlrs": "HKD",
    "cts": "USD",
    "ct": "USD",
    "cents": "USD",
    "cent": "USD",
    "pence": "GBP",
    **{code.lower(): code for code in _CODES.split()},
}
_HUNDREDTHS = frozenset({"cts", "ct", "cents", "cent", "pence"})
_PERCENTS = frozenset({"pct", "percent", "per cent", "%", "percentage points"})
_NUMERALS = """
    one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen twenty
"""
_TENS = "thirty forty fifty sixty seventy eighty ninety"
_WORDS = {word: float(n) for n, word in enumerate(_NUMERALS.split(), start=1)}
_WORDS |= {word: 10.0 * n for n, word in enumerate(_TENS.split(), start=3)}
_NUMBER = r"(?:\d[\d,]*(?:\.\d+)?(?:-\d{1,2}/\d{1,2}(?!\d))?|\.\d+)"
_SYMBOL = "|".join(re.escape(s) for s in sorted(_SYMBOLS, key=len, reverse=True))
_SCALE_WORDS = "|".join(sorted(_SCALES, key=len, reverse=True))
_UNIT_WORDS = "|".join(
    re.escape(w) for w in sorted({*_CURRENCIES, *_PERCENTS} - {"%"}, key=len, reverse=True)
)
_SPELLED = "|".join(sorted(_WORDS, key=len, reverse=True))
_UNITS = rf"""
    (?:[ -]?(?P<scale>{_SCALE_WORDS})\b(?!-\w+ed\b))?
    (?:[ -]?(?P<unit>%|(?:{_UNIT_WORDS})\b)|[ ](?P<noun>[a-z]{{3,20}}s|people|bpd|lbs|kilos)\b)?
"""


def _amount_pattern(joint: str) -> re.Pattern[str]:
    """An amount or a range of two joined by ``joint``."""
    return re.compile(
        rf"""(?:(?P<symbol>{_SYMBOL})[ ]?)?(?P<low>{_NUMBER})
        (?:(?:[ ]?(?P<low_scale>{_SCALE_WORDS})\b)?
        (?:{joint})(?:{_SYMBOL})?(?P<high>{_NUMBER}))?{_UNITS}""",
        re.VERBOSE | re.IGNORECASE,
    )


_AMOUNT = _amount_pattern(r"[ ]to[ ]|-|\u2013")
_BETWEEN_AMOUNT = _amount_pattern(r"[ ]and[ ]")
_SPELLED_AMOUNT = re.compile(
    rf"""(?<![\w-])(?P<low>{_SPELLED})(?=[ -](?:{_SCALE_WORDS}|{_UNIT_WORDS})\b)
    (?P<symbol>)(?P<low_scale>)(?P<high>){_UNITS}""",
    re.VERBOSE | re.IGNORECASE,
)
_NOT_UNITS = """
    was has does this plus minus versus less thus always says runs rises falls basis times
    compares leaves makes gives takes means series swiss net
"""
_NO_UNIT = frozenset(_NOT_UNITS.split())
_LEAST_BARE = 1000
_BETWEEN = re.compile(r"\bbetween\s+$", re.IGNORECASE)


def amount_facets(text: str) -> list[Facet]:
    """The amounts of a text, in order; units as ``Facet`` says, counts with their noun.

    A bare number is a count only from 1,000 on or with a scale word: smaller ones are
    mostly rows of tables and clock times.
    """
    found = [facet for facet in map(_facet, _matches(text)) if facet is not None]
    return sorted(found, key=lambda facet: facet.start)


def _matches(text: str) -> Iterator[re.Match[str]]:
    at = 0
    while match := _AMOUNT.search(text, at):
        start = match.start()
        before = text[start - 1] if start else " "
        if before.isspace() and _BETWEEN.search(text, max(0, start - 12), start):
            match = _BETWEEN_AMOUNT.match(text, start) or match
        at = match.end()
        if not (before.isalnum() or before in "./:-#_"):
            yield match
    yield from _SPELLED_AMOUNT.finditer(text)


def _facet(match: re.Match[str]) -> Facet | None:
    low = _number(match["low"])
    high = _number(match["high"]) if match["high"] else low
    if low is None or high is None:
        return None
    scale = _SCALES[match["scale"].lower()] if match["scale"] else 1.0
    low, high = _scaled(low, high, scale, match["low_scale"])
    end = match.end()
    kind, unit, factor = _unit(match)
    if kind is FacetKind.COUNT and not unit:
        end = (
            match.end("scale") if match["scale"] else match.end("high" if match["high"] else "low")
        )
        if high < _LEAST_BARE or _looks_like_year(match):
            return None
    start = match.start("symbol") if match["symbol"] else match.start("low")
    return Facet(kind, low * factor, high * factor, unit, start, end)


def _scaled(low: float, high: float, scale: float, low_scale: str | None) -> tuple[float, float]:
    """Both ends scaled; "100,000 and 1 million" scales its second number only."""
    if low_scale:
        low *= _SCALES[low_scale.lower()]
    elif low <= high:
        low *= scale
    high *= scale
    return min(low, high), max(low, high)


def _unit(match: re.Match[str]) -> tuple[FacetKind, str, float]:
    """Kind, unit and what a unit's hundredths are multiplied with."""
    word = (match["unit"] or "").lower()
    if word in _PERCENTS:
        return FacetKind.PERCENT, "%", 1.0
    if word:
        return FacetKind.MONEY, _CURRENCIES[word], 0.01 if word in _HUNDREDTHS else 1.0
    if match["symbol"]:
        return FacetKind.MONEY, _SYMBOLS.get(match["symbol"].upper(), ""), 1.0
    noun = (match["noun"] or "").lower()
    return FacetKind.COUNT, "" if noun in _NO_UNIT else singular(noun), 1.0


def _number(written: str) -> float | None:
    """The value of "1,234.5", "11-1/2" or "five"; None for what is no number ("1,2,3" is one)."""
    word = _WORDS.get(written.lower())
    if word is not None:
        return word
    whole, _, fraction = written.rstrip(",").partition("-")
    try:
        value = float(whole.replace(",", ""))
        if fraction:
            upper, _, lower = fraction.partition("/")
            value += float(upper) / float(lower)
    except (ValueError, ZeroDivisionError):
        return None
    return value if value < 1e18 else None  # noqa: PLR2004


def _looks_like_year(match: re.Match[str]) -> bool:
    written = match["low"]
    return not match["scale"] and len(written) == 4 and written.isdigit()  # noqa: PLR2004
