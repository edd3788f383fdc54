"""Amounts in a question that say which values are wanted: "between 100,000 and 1 million"."""

import math
import re
from collections.abc import Iterable, Sequence

import numpy as np

from index.types import BoolArray, Facet, FacetKind
from index.view import View
from query.types import AmountRange

_AT_LEAST = r"\b(?:at least|(?:no|not) (?:less|fewer|lower) than|upwards? of|minimum of)|\u2265|>="
_ABOVE = r"\b(?:(?:more|greater|larger|higher|bigger) than|over|above|exceeding|exceeds?)|>"
_AT_MOST = r"\b(?:at most|(?:no|not) (?:more|greater|higher) than|up to|maximum of)|\u2264|<="
_BELOW = r"\b(?:(?:less|fewer|smaller|lower) than|under|below)|<"
_EXACTLY = r"\b(?:exactly|precisely|equal to)"
_BETWEEN = r"\b(?:between|from)"
_WORDS = tuple(
    re.compile(rf"(?:{words.replace(' ', r'[ ]+')})\s*$", re.IGNORECASE)
    for words in (_AT_LEAST, _AT_MOST, _ABOVE, _BELOW, _EXACTLY, _BETWEEN)
)
_BEFORE = 24
"""Characters before an amount in which its comparison may stand."""

_BARE = (FacetKind.MONEY, FacetKind.COUNT)
"""What a number without a unit may be."""


def ranges(text: str, facets: Iterable[Facet]) -> tuple[AmountRange, ...]:
    """The ranges that a question asks for; an amount without a comparison is a word like others.

    Args:
        text: The question.
        facets: Its values, as the analyzer reads them; dates are left to ``windows``.
    """
    found = (_range(text, facet) for facet in facets if facet.kind is not FacetKind.DATE)
    return tuple(each for each in found if each is not None)


def _range(text: str, facet: Facet) -> AmountRange | None:
    if not (math.isfinite(facet.low) and math.isfinite(facet.high)):
        return None
    before = text[max(0, facet.start - _BEFORE) : facet.start]
    low, high = facet.low, facet.high
    ends_of: tuple[tuple[float | None, float | None, bool] | None, ...] = (
        (low, None, False),
        (None, high, False),
        (high, None, True),
        (None, low, True),
        (low, high, False),
        (low, high, False) if low < high else None,
    )
    for pattern, ends in zip(_WORDS, ends_of, strict=True):
        word = pattern.search(before)
        if word is not None and ends is not None:
            start = facet.start - len(before) + word.start()
            words = " ".join(text[start : facet.end].split())
            return AmountRange(
                facet.kind.value, facet.unit, ends[0], ends[1], words, strict=ends[2]
            )
    return None


def without(text: str, wanted: Iterable[AmountRange]) -> str:
    """A question without the words that became ranges: what they say is settled."""
    for each in wanted:
        spoken = r"\s+".join(map(re.escape, each.from_words.split()))
        text = re.sub(spoken, " ", text, count=1)
    return re.sub(r"\s+([?!.,;:])", r"\1", " ".join(text.split()))


def rows_within(view: View, wanted: Sequence[AmountRange]) -> BoolArray:
    """bool[rows]: the chunks that hold, for each range, a value that meets it."""
    snapshot = view.snapshot
    mask = np.ones(snapshot.rows, np.bool_)
    for each in wanted:
        held = np.zeros(snapshot.rows, np.bool_)
        low, high = _ends(each)
        for kind in (FacetKind(each.kind),) if each.unit else _BARE:
            slots = view.with_facet(kind.value, low, high, each.unit or None)
            rows = snapshot.rows_of(slots)
            held[rows[rows >= 0]] = True
        mask &= held
    return mask


def _ends(wanted: AmountRange) -> tuple[float, float]:
    """The least and the greatest value that meets a range."""
    low = -math.inf if wanted.low is None else wanted.low
    high = math.inf if wanted.high is None else wanted.high
    if not wanted.strict:
        return low, high
    return math.nextafter(low, math.inf), math.nextafter(high, -math.inf)
