"""Trends on a terminal."""

import io

from rich.console import Console

from deploy.cli.trending import show_trends, sparkline

BODY = {
    "kind": "concept",
    "past_since": "2026-02-17T05:13:20Z",
    "since": "2026-02-24T05:13:20Z",
    "interval_seconds": 21_600,
    "recent_from": 3,
    "recent_documents": 1_200,
    "past_documents": 8_400,
    "trends": [
        {"label": "Comet\x1b[31m", "score": 41.27, "recent": 9, "expected": 1.4,
         "counts": [0, 1, 1, 8]},
    ],
}  # fmt: skip


def shown(body) -> str:
    out = io.StringIO()
    show_trends(Console(file=out, width=200, markup=False), body)
    return out.getvalue()


def test_a_sparkline_is_as_high_as_its_largest_count_and_shows_the_smallest():
    assert sparkline([0, 1, 4, 8]) == " ▁▄█"
    assert sparkline([1, 1_000]) == "▁█"
    assert sparkline([0, 0]) == "  "


def test_a_row_tells_its_score_its_counts_and_no_control_characters():
    text = shown(BODY)
    assert "1,200 documents since 2026-02-24 05:13 UTC, against 8,400 since 2026-02-17" in text
    assert "41.3" in text
    assert " ▁▁█" in text
    assert "by 6h" in text
    assert "\x1b" not in text


def test_nothing_that_rises_and_no_past_are_said():
    assert "Nothing rose" in shown({**BODY, "trends": []})
    assert "no past" in shown({**BODY, "trends": [], "past_documents": 0})
