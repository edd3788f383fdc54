"""Values of a text: money, counts, percentages, dates, identifiers apart."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.analysis.facets import facets
from index.analysis.identifiers import identifier_spans
from index.types import FacetKind, from_millis

AT = datetime(1987, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "kind", "low", "high", "unit", "written"),
    [
        ("5 million people", "count", 5e6, 5e6, "people", "5 million people"),
        ("5,000,000", "count", 5e6, 5e6, "", "5,000,000"),
        ("of 31 banks", "count", 31, 31, "bank", "31 banks"),
        ("between 100,000 and 1 million", "count", 1e5, 1e6, "", "100,000 and 1 million"),
        ("rose 55 pct", "percent", 55, 55, "%", "55 pct"),
        ("five per cent", "percent", 5, 5, "%", "five per cent"),
        ("3.5%", "percent", 3.5, 3.5, "%", "3.5%"),
        ("from 10 to 8 pct", "percent", 8, 10, "%", "10 to 8 pct"),
        ("13.5 billion dlrs", "money", 13.5e9, 13.5e9, "USD", "13.5 billion dlrs"),
        ("15-20 mln dlrs", "money", 15e6, 20e6, "USD", "15-20 mln dlrs"),
        ("$5 mln to $6 mln", "money", 5e6, 6e6, "USD", "$5 mln to $6 mln"),
        ("$1.2bn", "money", 1.2e9, 1.2e9, "USD", "$1.2bn"),
        ("one-billion-dlr offering", "money", 1e9, 1e9, "USD", "one-billion-dlr"),
        ("30 cts a share", "money", 0.3, 0.3, "USD", "30 cts"),
        ("11-1/2 dlrs", "money", 11.5, 11.5, "USD", "11-1/2 dlrs"),
        ("\u00a35m", "money", 5e6, 5e6, "GBP", "\u00a35m"),
        ("six billion stg", "money", 6e9, 6e9, "GBP", "six billion stg"),
        ("10 swiss francs", "money", 10, 10, "CHF", "10 swiss francs"),
    ],
)
def test_an_amount_is_read_as_a_value(text, kind, low, high, unit, written):
    [found] = facets(text, AT)
    assert (found.kind, found.unit) == (kind, unit)
    assert (found.low, found.high) == pytest.approx((low, high))
    assert text[found.start : found.end] == written


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("March 3, 1987", "1987-03-03", "1987-03-03"),
        ("3 March 1987", "1987-03-03", "1987-03-03"),
        ("1987-03-03", "1987-03-03", "1987-03-03"),
        ("ended Feb 22", "1987-02-22", "1987-02-22"),
        ("on Dec. 30", "1986-12-30", "1986-12-30"),
        ("in January 1986", "1986-01-01", "1986-01-31"),
        ("in May", "1987-05-01", "1987-05-31"),
        ("in 1985", "1985-01-01", "1985-12-31"),
        ("the 1986/87 crop", "1986-01-01", "1987-12-31"),
    ],
)
def test_a_date_is_read_as_an_interval(text, first, last):
    [found] = facets(text, AT)
    assert found.kind is FacetKind.DATE
    assert from_millis(found.low).date().isoformat() == first
    assert from_millis(found.high).date().isoformat() == last


@pytest.mark.parametrize(
    "text", ["Feb 31, 1987", "may go", "march on", "12", "1/8", "M-1", "at 10:30", "3.8.0"]
)
def test_what_is_no_value_is_left_alone(text):
    assert facets(text, AT) == []


def test_a_day_without_a_year_needs_a_moment():
    assert facets("on Feb 22", None) == []


@given(st.text(max_size=200) | st.text("0123456789,.-/$% mlndctoan", max_size=80))
def test_any_text_gives_ordered_values_within_it(text):
    found = facets(text, AT)
    assert [f.start for f in found] == sorted(f.start for f in found)
    assert all(0 <= f.start < f.end <= len(text) and f.low <= f.high for f in found)


@pytest.mark.parametrize(
    ("text", "identifiers"),
    [
        ("see CVE-2019-1234, now", ["CVE-2019-1234"]),
        ("DSA-123-1 and SYN-REP-1234.", ["DSA-123-1", "SYN-REP-1234"]),
        ("sensor PYT1234 failed", ["PYT1234"]),
        ("FEB-26 and MID-1987", []),
        ("M-1 rose, USD 5", []),
    ],
)
def test_identifiers_are_taken_verbatim(text, identifiers):
    assert [text[start:end] for start, end in identifier_spans(text)] == identifiers
