"""What a soak is judged by."""

import pytest

from tests.faults.soak import Sample, judged


def samples(hours, *, growth=0.0, descriptors=lambda _: 40):
    """A sample a minute; memory of a gigabyte grows by so many percent an hour."""
    return [
        Sample(60.0 * n, int(1e9 * (1 + growth / 100 * n / 60)), descriptors(n), 1000)
        for n in range(int(60 * hours))
    ]


def missed(samples, freshness=(0.3,) * 100):
    return [figure.name for figure in judged(samples, list(freshness)) if not figure.kept]


@pytest.mark.parametrize(
    ("hours", "growth", "expected"),
    [(1.5, 0.9, []), (1.5, 1.2, ["memory, slope"]), (0.1, 18, []), (0.1, 25, ["memory, slope"])],
)
def test_memory_may_grow_by_a_hundredth_an_hour_or_by_two_in_a_short_run(hours, growth, expected):
    assert missed(samples(hours, growth=growth)) == expected


def test_descriptors_may_not_grow():
    assert missed(samples(1, descriptors=lambda n: 40 + n % 5)) == []
    assert missed(samples(1, descriptors=lambda n: 40 + n // 10)) == [
        "descriptors, second half over the first"
    ]


def test_freshness_is_kept_by_most_and_by_the_last_hundredth():
    assert missed(samples(1), [0.3] * 100 + [9.0]) == []
    assert missed(samples(1), [0.3] * 90 + [9.0] * 10) == ["freshness, p99"]
    assert missed(samples(1), [1.5] * 100) == ["freshness, median"]
