"""Time a batch against the size of the graph: ``python -m tests.bench.growth [--most MILLIONS]``.

Writes ``docs/growth.svg``: processor seconds for a batch of about a thousand pairs, ours for all
levels, the static libraries' for a graph object and one level.
"""

import argparse
import statistics
from math import log10
from pathlib import Path
from xml.sax.saxutils import escape

from rich.console import Console

from index.counts.delta import chunk_delta
from tests.bench.static import static_seconds
from tests.bench.table import machine
from tests.bench.worlds import World, begun, cpu, graph_of

SIZES = (0.1, 0.3, 1.0, 3.0, 10.0)
PLOT = Path("docs/growth.svg")
_COLOURS = ("#0b6e99", "#b3541e", "#6b7a2f", "#7a4b94")
_LEFT, _TOP, _WIDTH, _HEIGHT = 70, 56, 520, 300

Points = list[tuple[float, float]]


def measured(millions: float) -> tuple[int, dict[str, float]]:
    """Edges, and the seconds of each way, at one size."""
    world = World(millions)
    counts = world.counts()
    edges = counts.edge_count
    found = {name: run[0] for name, run in static_seconds(graph_of(counts)[1]).items()}
    live = begun(counts)
    times = []
    for _ in range(12):
        delta = chunk_delta(*world.turn(world.chunks(5)))
        times.append(cpu(lambda delta=delta: live.apply(delta))[0])
    return edges, {"tidegraph, all levels": statistics.median(times[2:])} | found


def plot(lines: dict[str, Points]) -> str:
    """An SVG with both axes logarithmic."""
    every = [point for points in lines.values() for point in points]
    x = _Axis([point[0] for point in every], _LEFT, _LEFT + _WIDTH)
    y = _Axis([point[1] for point in every], _TOP + _HEIGHT, _TOP)
    body = [_text(_LEFT, 22, "Processor seconds for a batch of a thousand pairs, by edges", 15)]
    body.append(_text(_LEFT, 42, machine(), 10))
    body += [_grid(at, _TOP, at, _TOP + _HEIGHT) for _, at in x.ticks()]
    body += [_grid(_LEFT, at, _LEFT + _WIDTH, at) for _, at in y.ticks()]
    body += [_text(at, _TOP + _HEIGHT + 18, f"{v:,.0f}", 11, "middle") for v, at in x.ticks()]
    body += [_text(_LEFT - 8, at + 4, f"{v:g} s", 11, "end") for v, at in y.ticks()]
    for colour, points in zip(_COLOURS, lines.values(), strict=True):
        path = " ".join(f"{x.at(a):.1f},{y.at(b):.1f}" for a, b in points)
        body.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
    ends = {name: y.at(points[-1][1]) for name, points in lines.items()}
    below = float(_TOP)
    for name in sorted(ends, key=lambda name: ends[name]):
        below = max(ends[name] + 4, below + 15)  # labels of lines that end together do not overlap
        colour = dict(zip(lines, _COLOURS, strict=False))[name]
        body.append(_text(x.at(lines[name][-1][0]) + 8, below, name, 12, fill=colour))
    size = f'width="{_LEFT + _WIDTH + 170}" height="{_TOP + _HEIGHT + 40}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif">'
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *body, "</svg>\n"])


class _Axis:
    """A logarithmic axis from whole powers of ten to whole powers of ten."""

    def __init__(self, values: list[float], start: float, end: float) -> None:
        self._low = int(log10(min(values)) // 1)
        self._high = max(int(-(-log10(max(values)) // 1)), self._low + 1)
        self._start, self._end = start, end

    def at(self, value: float) -> float:
        share = (log10(value) - self._low) / (self._high - self._low)
        return self._start + share * (self._end - self._start)

    def ticks(self) -> list[tuple[float, float]]:
        return [(10.0**k, self.at(10.0**k)) for k in range(self._low, self._high + 1)]


def _text(
    x: float, y: float, text: str, size: int, anchor: str = "start", fill: str = "#222"
) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" font-size="{size}"'
    return f'<text {place} text-anchor="{anchor}" fill="{fill}">{escape(text)}</text>'


def _grid(x: float, y: float, to_x: float, to_y: float) -> str:
    ends = f'x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}"'
    return f'<line {ends} stroke="#ddd"/>'


def main() -> None:
    """Measure each size and draw the plot."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.growth")
    parser.add_argument("--most", type=float, default=SIZES[-1], help="millions of edges")
    most = parser.parse_args().most
    console = Console()
    lines: dict[str, Points] = {}
    for millions in (size for size in SIZES if size <= most):
        edges, seconds = measured(millions)
        for name, value in seconds.items():
            lines.setdefault(name, []).append((edges, value))
            console.print(f"{edges:>11,} edges  {name:<24} {value:.4f} s", highlight=False)
    PLOT.write_text(plot(lines), "utf-8")


if __name__ == "__main__":
    main()
