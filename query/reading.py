"""What a question's words say before anything is searched: a window of time, amounts, a count."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from index.types import BoolArray, FacetKind, from_millis
from index.view import View
from query.amounts import ranges, rows_within, without
from query.counting import Wanted, wanted
from query.filters import row_mask
from query.language import Language
from query.types import AmountRange, Filters, Question, TimeAxis, Window
from query.windows import Times, times
from query.words import BROAD_WORDS, STOP_WORDS, words

_PREPOSITION = re.compile(r"^(?:in|on|since|after|from|during|between|starting)\s+", re.IGNORECASE)

ALL = "What happened?"
"""What is looked up where a question names a time and nothing else."""


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """A question as it is searched.

    ``text`` is looked up, without the words of an applied window and of amounts; ``rows``
    bool[rows] are the chunks that may be. ``amiss`` says in words why there can be nothing, or is
    empty; ``no_amount`` that it is for want of an amount.
    """

    text: str
    filters: Filters
    rows: BoolArray
    window: Window | None = None
    amounts: tuple[AmountRange, ...] = ()
    count: Wanted | None = None
    amiss: str = ""
    no_amount: bool = False


def read(question: Question, view: View, language: Language) -> Reading:
    """Read a question against a snapshot.

    A window of the request wins over words: with ``since`` or ``until`` none is read from them.
    """
    text, filters = question.text, question.filters
    found = _times(question, view)
    window = None if found is None else _window(found, view)
    if found is not None and window is not None and window.applied:
        text = found.rest
        filters = replace(filters, since=window.since, until=window.until, time=window.time)
    rows = row_mask(view, filters)
    amiss = _ahead(filters, view, "" if window is None else window.from_words)
    count = wanted(text)
    if window is not None and window.applied and count is None and _bare(text):
        text = ALL
    amounts = _amounts(question, text, language) if count is None else ()
    no_amount = False
    if amounts:
        rest = without(text, amounts)
        text = text if _bare(rest) else rest
        within = rows & rows_within(view, amounts)
        no_amount = not amiss and bool(rows.any()) and not within.any()
        rows = within
    if no_amount:
        amiss = _no_amount(amounts)
    return Reading(text, filters, rows, window, amounts, count, amiss, no_amount)


def _amounts(question: Question, text: str, language: Language) -> tuple[AmountRange, ...]:
    return ranges(text, language.facets_of(text)) if question.amounts else ()


def _times(question: Question, view: View) -> Times | None:
    filters = question.filters
    if not question.window or filters.since is not None or filters.until is not None:
        return None
    return times(question.text, view.snapshot.head.watermark)


def _window(found: Times, view: View) -> Window | None:
    """The window, applied or not; None where the words speak of a thing ahead that is written of.

    A forecast for next year stands in this year's documents: a time ahead that some document
    names is what a question is about, not when its documents were written.
    """
    snapshot = view.snapshot
    window = Window(found.since, found.until, TimeAxis.EVENT, found.from_words)
    if _bare(found.rest):
        return window
    if found.since is not None and found.since > snapshot.head.watermark:
        until = found.until if found.until is not None else found.since
        named = view.with_facet(FacetKind.DATE.value, found.since, until, None)
        return None if len(named) else window
    living = np.unique(snapshot.chunk_document[snapshot.shown])
    first = int(snapshot.event_at[living].min()) if len(living) else 0
    if found.until is not None and found.until <= first:
        return replace(window, applied=False)
    return window


def _bare(rest: str) -> bool:
    return all(word.lower() in STOP_WORDS | BROAD_WORDS for word in words(rest))


def _ahead(filters: Filters, view: View, written: str) -> str:
    watermark = view.snapshot.head.watermark
    if filters.time is not TimeAxis.EVENT or filters.since is None or filters.since <= watermark:
        return ""
    begins, now = from_millis(filters.since), from_millis(watermark)
    named = f' of "{_PREPOSITION.sub("", written)}"' if written else ""
    return (
        f"No record{named}: the time asked about begins on {begins:%Y-%m-%d}, in the future of the "
        f"index, whose clock (its newest document) stands at {now:%Y-%m-%d %H:%M} UTC."
    )


def _no_amount(amounts: Iterable[AmountRange]) -> str:
    named = ", ".join(f'"{each.from_words}"' for each in amounts)
    return f"No record of an amount {named}: no value within it was read from any text searched."
