"""Rows of a benchmark: printed as a table, written as JSON."""

import json
import operator
import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

BUILD = Path("build/bench")
_COMPARE = {">=": operator.ge, "<=": operator.le}


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. ``target`` is "" where it is only told, else a comparison like ">= 0.7"."""

    name: str
    value: float
    unit: str
    target: str = ""

    @property
    def holds(self) -> bool | None:
        """Whether the value meets the target; None without one."""
        if not self.target:
            return None
        sign, _, bound = self.target.partition(" ")
        return bool(_COMPARE[sign](self.value, float(bound)))


def finish(area: str, rows: list[Row]) -> None:
    """Print the rows and write ``build/bench/AREA.json``."""
    table = Table(title=f"{area}: {machine()}", title_justify="left")
    for column in ("figure", "value", "unit", "target", "holds"):
        table.add_column(column, justify="right" if column == "value" else "left")
    for row in rows:
        value = f"{row.value:,.3g}" if abs(row.value) < 1000 else f"{row.value:,.0f}"
        holds = {None: "", True: "yes", False: "NO"}[row.holds]
        table.add_row(row.name, value, row.unit, row.target, holds)
    Console(width=120).print(table)
    BUILD.mkdir(parents=True, exist_ok=True)
    body = [asdict(row) | {"holds": row.holds} for row in rows]
    (BUILD / f"{area}.json").write_text(json.dumps(body, indent=2) + "\n", "utf-8")


def machine() -> str:
    """What the figures were measured on."""
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        model = next(line.split(": ")[1] for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    load = os.getloadavg()[0]
    return f"{os.cpu_count()} x {model}, Python {platform.python_version()}, load {load:.1f}"
