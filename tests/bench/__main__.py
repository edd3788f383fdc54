"""Run benchmarks: ``python -m tests.bench [--only AREA]``.

An area is a module of this package with ``run()``, which gives its rows. Each area prints a table
and writes ``build/bench/AREA.json``. Ends with 1 where a figure misses its target.
"""

import argparse
import sys
from importlib import import_module
from pathlib import Path

from deploy.process import keep_kernels
from tests.bench.table import Row, finish

AREAS = ("pipeline", "search", "core", "breadth", "delivery")


def measured(area: str) -> list[Row]:
    """The rows of an area, printed and written."""
    rows: list[Row] = import_module(f"tests.bench.{area}").run()
    finish(area, rows)
    return rows


def main() -> int:
    """Run the areas that were asked for."""
    keep_kernels(Path("build"))  # before anything imports numba
    parser = argparse.ArgumentParser(prog="make bench")
    parser.add_argument("--only", choices=AREAS, action="append", help="run this area alone")
    areas = parser.parse_args().only or AREAS
    rows = [row for area in areas for row in measured(area)]
    return 1 if any(row.holds is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
