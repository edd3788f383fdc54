"""Typed values of a text: money, percentages, counts and dates."""

from datetime import datetime

from index.analysis.amounts import amount_facets
from index.analysis.dates import date_facets
from index.types import Facet


def facets(text: str, at: datetime | None) -> list[Facet]:
    """The values of a text in order of their offsets; a date wins over a number within it.

    ``at`` is the moment from which a date without a year is read (event time of the document).
    """
    if not any(map(str.isdigit, text)):
        return [*amount_facets(text), *date_facets(text, at)]
    dates = date_facets(text, at)
    taken = {offset for date in dates for offset in range(date.start, date.end)}
    amounts = [f for f in amount_facets(text) if f.start not in taken]
    return sorted([*dates, *amounts], key=lambda facet: (facet.start, facet.end))
