"""Run benchmarks: ``python -m tests.bench [--only AREA]``.

An area is a module ``tests.bench.area_<name>`` with ``measure()``, which yields figures. Each area
prints a table and writes ``build/bench/<name>.json``, a list of
``{name, value, unit, target, holds}``. Ends with 1 if a figure misses its target.
"""

import argparse
import json
import os
import platform
import sys
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.bench.figures import Figure

HERE = Path(__file__).resolve().parent
BUILD = HERE.parent.parent / "build" / "bench"
PREFIX = "area_"


def areas() -> list[str]:
    """The names of all areas."""
    return sorted(path.stem.removeprefix(PREFIX) for path in HERE.glob(f"{PREFIX}*.py"))


def run(area: str, out: Console) -> list[Figure]:
    """Measure an area, print its table and write its file."""
    out.print(f"{area}: {platform.processor() or platform.machine()}, {os.cpu_count()} cores")
    figures = list(import_module(f"tests.bench.{PREFIX}{area}").measure())
    table = Table(box=None, pad_edge=False)
    for title in ("figure", "value", "unit", "target", ""):
        table.add_column(title, justify="right" if title == "value" else "left")
    for figure in figures:
        verdict = "" if not figure.target else ("holds" if figure.holds else "MISSED")
        table.add_row(figure.name, f"{figure.value:,.4g}", figure.unit, figure.target, verdict)
    out.print(table)
    BUILD.mkdir(parents=True, exist_ok=True)
    rows = [asdict(figure) for figure in figures]
    (BUILD / f"{area}.json").write_text(json.dumps(rows, indent=2) + "\n", "utf-8")
    return figures


def main() -> int:
    """Run the areas that were asked for."""
    parser = argparse.ArgumentParser(prog="make bench")
    parser.add_argument("--only", choices=areas(), action="append", help="run this area alone")
    wanted = parser.parse_args().only or areas()
    figures = [figure for area in wanted for figure in run(area, Console(soft_wrap=True))]
    return 0 if all(figure.holds for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
