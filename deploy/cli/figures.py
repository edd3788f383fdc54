"""The figures of an evaluation: a table, Markdown, a plot of quality against budget."""

import math
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from query.evaluate import EvaluationRow

MEASURES = {
    "reached": "reached",
    "recall_5": "recall@5",
    "recall_10": "recall@10",
    "mrr": "MRR",
    "all_evidence_10": "all@10",
}
COLUMNS = ("mode", "budget", *MEASURES.values(), "tests", "ms", "ms p95")
PLOTTED = ("reached", "recall_10")

_COLOURS = ("#0b7285", "#e8590c", "#5f3dc4", "#2b8a3e", "#868e96")
_WIDTH, _HEIGHT, _MARGIN = 340, 240, 44
"""Of one panel and the space around it, in pixels."""


def table(out: Console, rows: Sequence[EvaluationRow]) -> None:
    """Means with the bounds of 95% of them."""
    drawn = Table(box=None, pad_edge=False, title=_title(rows), title_justify="left")
    for name in COLUMNS:
        drawn.add_column(name, justify="left" if name == "mode" else "right", no_wrap=True)
    for row in rows:
        drawn.add_row(*_cells(row))
    out.print(drawn)


def markdown(rows: Sequence[EvaluationRow]) -> str:
    """The same as a table in Markdown."""
    lines = [COLUMNS, ("---", *["---:"] * (len(COLUMNS) - 1)), *map(_cells, rows)]
    body = "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
    return f"{_title(rows)}.\n\n{body}"


def _title(rows: Sequence[EvaluationRow]) -> str:
    return f"{rows[0].queries:,} questions with evidence; in brackets 95% intervals (bootstrap)"


def _cells(row: EvaluationRow) -> tuple[str, ...]:
    measures = []
    for name in MEASURES:
        low, high = row.intervals[name]
        measures.append(f"{getattr(row, name):.3f} ({low:.2f}-{high:.2f})")
    latencies = f"{row.latency_ms_median:.1f}", f"{row.latency_ms_p95:.1f}"
    return row.mode, f"{row.budget:,}", *measures, f"{row.tests:.1f}", *latencies


def svg(rows: Sequence[EvaluationRow]) -> str:
    """Reached and recall@10 against budget (logarithmic), a line for each mode."""
    modes = list(dict.fromkeys(row.mode for row in rows))
    width, height = len(PLOTTED) * (_WIDTH + _MARGIN) + _MARGIN, _HEIGHT + 2 * _MARGIN + 20
    box = f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box}>',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for number, measure in enumerate(PLOTTED):
        left = _MARGIN + number * (_WIDTH + _MARGIN)
        parts.append(f'<g transform="translate({left} {_MARGIN})">{_panel(rows, measure)}</g>')
    for number, mode in enumerate(modes):
        at = _MARGIN + number * 90
        parts.append(
            f'<text x="{at}" y="{height - 12}" fill="{_COLOURS[number]}">&#9679; {mode}</text>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(rows: Sequence[EvaluationRow], measure: str) -> str:
    """One measure from 0 to 1: grid, ticks, and for each mode its line with intervals."""
    budgets = sorted({row.budget for row in rows})
    first, last = math.log(budgets[0]), math.log(budgets[-1])
    x = {b: _WIDTH * ((math.log(b) - first) / (last - first or 1) * 0.9 + 0.05) for b in budgets}
    parts = [f'<text y="-12" font-weight="bold">{MEASURES[measure]} by budget</text>']
    for tenth in range(0, 11, 2):
        y = _HEIGHT * (1 - tenth / 10)
        parts.append(f'<path d="M0 {y:.1f}H{_WIDTH}" stroke="#ddd"/>')
        parts.append(f'<text x="-6" y="{y + 4:.1f}" text-anchor="end">{tenth / 10:g}</text>')
    parts += [
        f'<text x="{at:.1f}" y="{_HEIGHT + 18}" text-anchor="middle">{budget}</text>'
        for budget, at in x.items()
    ]
    for number, mode in enumerate(dict.fromkeys(row.mode for row in rows)):
        mine = sorted((r for r in rows if r.mode == mode), key=lambda r: r.budget)
        parts.append(_line(mine, measure, x, _COLOURS[number]))
    return "".join(parts)


def _line(rows: Sequence[EvaluationRow], measure: str, x: dict[int, float], colour: str) -> str:
    points, parts = [], []
    for row in rows:
        at, y = x[row.budget], _HEIGHT * (1 - getattr(row, measure))
        low, high = (_HEIGHT * (1 - bound) for bound in row.intervals[measure])
        points.append(f"{at:.1f},{y:.1f}")
        parts.append(f'<path d="M{at:.1f} {low:.1f}V{high:.1f}" stroke-opacity=".35"/>')
        parts.append(f'<circle cx="{at:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>')
    line = f'<polyline points="{" ".join(points)}" fill="none" stroke-width="2"/>'
    return f'<g stroke="{colour}">{line}{"".join(parts)}</g>'
