"""Amounts that a question compares with."""

import pytest

from index.analysis.amounts import amount_facets
from query.amounts import ranges


def read(text):
    return [(r.kind, r.unit, r.low, r.high) for r in ranges(text, amount_facets(text))]


@pytest.mark.parametrize(
    ("text", "kind", "unit", "low", "high"),
    [
        ("bids between 100,000 and 1 million", "count", "", 100_000, 1_000_000),
        ("bids between 100,000 and 1 million dollars", "money", "USD", 100_000, 1_000_000),
        ("bids of at least $5 mln", "money", "USD", 5_000_000, None),
        ("bids from 2 to 3 mln yen", "money", "JPY", 2_000_000, 3_000_000),
        ("a stake of at most 5 pct", "percent", "%", None, 5),
        ("exactly 1,234 tonnes", "count", "tonne", 1234, 1234),
        ("not more than 2,000 barrels", "count", "barrel", None, 2000),
    ],
)
def test_a_comparison_becomes_a_range(text, kind, unit, low, high):
    assert read(text) == [(kind, unit, low, high)]


@pytest.mark.parametrize(("text", "value"), [("more than 5,000", 5000), ("over 1 mln", 1e6)])
def test_more_than_leaves_the_value_itself_out(text, value):
    (found,) = ranges(text, amount_facets(text))
    assert (found.low, found.high, found.strict) == (value, None, True)


@pytest.mark.parametrize(
    "text",
    [
        "a profit of 5 mln dlrs", "1e999", "more than 1e999", "over", "between and", "5",
        "more than " + "9" * 400, "more than 9" + ",999" * 200, "between 1 and", "over the moon",
        "from 100,000",
    ],
)  # fmt: skip
def test_an_amount_without_a_comparison_or_without_a_value_is_left_alone(text):
    assert read(text) == []
