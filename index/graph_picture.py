"""A picture of a part of the concept graph: plain SVG that a person can read.

Size is frequency, width is weight, colour is the community where the paths of the part's concepts
first differ. Only the ties that carry the structure are drawn. The same part gives the same
bytes.
"""

import math
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

import networkx as nx
import numpy as np

from index.concept_graph import Part
from index.errors import UnknownPartError
from index.graph_export import xml_text
from index.types import Float64Array

_PALETTE = (
    "#2f6fb7",
    "#d9742b",
    "#3a9152",
    "#b8434e",
    "#7a5bb0",
    "#8c6a4f",
    "#c2569b",
    "#1f8f96",
)
_OTHER = "#7c8794"
_PAPER = "#fbfaf7"
_DIRECTION = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F])
"""Marks that reverse the order of what follows; a label must not reach beyond itself."""


@dataclass(frozen=True, slots=True)
class PictureSettings:
    """What a picture looks like; lengths in pixels at a scale of one.

    ``ties_each``: ties drawn for each concept, the heaviest, beside those that hold the picture
    together; ``ties_of_centre``: of the concept that the others are around. ``steps``: the most
    rounds that push labels apart. ``most``: concepts; the layout's time grows with their square.
    """

    most: int = 300
    ties_each: int = 2
    ties_of_centre: int = 12
    steps: int = 400
    label_length: int = 30
    small: float = 4.0
    large: float = 20.0


@dataclass(frozen=True, slots=True)
class _Mark:
    """A concept as it is drawn: ``box`` is the width and height of disc and label together."""

    key: str
    label: str
    radius: float
    size: float
    colour: str
    outline: str
    title: str
    box: tuple[float, float]


def svg(part: Part, settings: PictureSettings | None = None) -> bytes:
    """The part as an SVG picture, UTF-8; a hundred concepts can still be read.

    Raises:
        UnknownPartError: The part has more concepts than ``settings.most``.
    """
    settings = settings or PictureSettings()
    if len(part.graph) > settings.most:
        raise UnknownPartError(f"a picture holds at most {settings.most} concepts")
    groups = _groups(part.graph)
    marks = _marks(part, groups, settings)
    drawn = backbone(part, settings)
    places = _apart(_layout(drawn, groups, marks), marks, settings.steps)
    return "\n".join(_document(part, marks, places, drawn, groups)).encode("utf-8")


def backbone(part: Part, settings: PictureSettings) -> nx.Graph:
    """The ties that carry the structure: heaviest spanning forest, and each concept's heaviest.

    Ties of a weight that is not positive say that two concepts shun each other and stay out.
    """
    graph = part.graph
    positive = nx.Graph()
    positive.add_nodes_from(graph.nodes)
    positive.add_edges_from(
        (u, v, values) for u, v, values in graph.edges(data=True) if values["weight"] > 0
    )
    kept = nx.Graph()
    kept.add_nodes_from(graph.nodes)
    kept.add_edges_from(nx.maximum_spanning_edges(positive, weight="weight", data=True))
    for node in positive:
        count = settings.ties_of_centre if node == part.centre else settings.ties_each
        ties = sorted(positive[node].items(), key=lambda tie: -tie[1]["weight"])
        kept.add_edges_from((node, other, values) for other, values in ties[:count])
    return kept


def _groups(graph: nx.Graph) -> dict[str, str]:
    """Each concept's community where paths first differ; "" for one that has none there.

    Where all are of one community and no deeper one, that community.
    """
    paths = {key: tuple(filter(None, path.split("/"))) for key, path in graph.nodes("community")}
    held = {path for path in paths.values() if path}
    depth = 0
    while len({path[: depth + 1] for path in held}) == 1 and any(len(p) > depth + 1 for p in held):
        depth += 1
    return {key: path[depth] if len(path) > depth else "" for key, path in paths.items()}


def _colours(groups: Mapping[str, str]) -> dict[str, str]:
    """A colour for each of the largest groups; the others share one."""
    sizes = Counter(group for group in groups.values() if group)
    ranked = sorted(sizes, key=lambda group: (-sizes[group], int(group)))
    return dict(zip(ranked, _PALETTE, strict=False))


def _marks(part: Part, groups: Mapping[str, str], settings: PictureSettings) -> tuple[_Mark, ...]:
    graph, colours = part.graph, _colours(groups)
    most = max(values["frequency"] for _, values in graph.nodes(data=True))
    marks = []
    for key, values in graph.nodes(data=True):
        share = math.sqrt(values["frequency"] / most)
        radius = settings.small + (settings.large - settings.small) * share
        size = 10 + 6 * share
        label = _label(values["label"], settings.label_length)
        title = f"{_shown(values['label'])}: {values['frequency']} chunks"
        box = (max(2 * radius, _width(label, size)) + 8, 2 * radius + size + 8)
        colour = colours.get(groups[key], _OTHER)
        outline = "#1d252d" if key == part.centre else _PAPER
        marks.append(_Mark(key, label, radius, size, colour, outline, title, box))
    return tuple(marks)


def _shown(text: str) -> str:
    """A text on one line, without what XML cannot hold and what steers the direction."""
    return xml_text(" ".join(text.split()).translate(_DIRECTION))


def _label(text: str, length: int) -> str:
    shown = _shown(text)
    return shown if len(shown) <= length else shown[: length - 1].rstrip() + "\u2026"


def _width(text: str, size: float) -> float:
    """An estimate: wide characters are square, others a little over half of it."""
    ems = sum(1.0 if unicodedata.east_asian_width(c) in "WF" else 0.56 for c in text)
    return ems * size


def _layout(drawn: nx.Graph, groups: Mapping[str, str], marks: Sequence[_Mark]) -> Float64Array:
    """float64[n, 2]: places in pixels, so that distances follow the ties (Kamada and Kawai, 1989).

    A tie within a group is shorter, a heavy one too; parts that no tie joins are held together by
    long ones that are not drawn.
    """
    lengths = nx.Graph()
    lengths.add_nodes_from(mark.key for mark in marks)
    heaviest = _heaviest(drawn)
    for u, v, weight in drawn.edges(data="weight"):
        within = 1.0 if groups[u] == groups[v] else 1.7
        lengths.add_edge(u, v, length=within / math.sqrt(0.3 + math.sqrt(weight / heaviest)))
    pieces = sorted(nx.connected_components(drawn), key=len, reverse=True)
    hubs = [max(sorted(piece), key=drawn.degree) for piece in pieces]
    lengths.add_edges_from((hubs[0], hub, {"length": 3.0}) for hub in hubs[1:])
    found = nx.kamada_kawai_layout(lengths, weight="length")
    places: Float64Array = np.array([found[mark.key] for mark in marks], np.float64)
    area = sum(mark.box[0] * mark.box[1] for mark in marks)
    spread = np.maximum(np.ptp(places, axis=0), 1e-9)
    places = (places - places.min(axis=0)) / spread
    places *= math.sqrt(area * 2.2) * np.array([1.25, 0.8])
    return places


def _heaviest(drawn: nx.Graph) -> float:
    return max((weight for _, _, weight in drawn.edges(data="weight")), default=1.0)


def _apart(places: Float64Array, marks: Sequence[_Mark], steps: int) -> Float64Array:
    """Push boxes that overlap apart, along the axis on which it takes less, until none do."""
    places = places.copy()
    half = np.array([mark.box for mark in marks]) / 2
    reach = half[:, None] + half[None, :]
    first, second = np.triu_indices(len(marks), k=1)
    for _ in range(steps):
        between = places[second] - places[first]
        overlap = reach[first, second] - np.abs(between)
        hit = np.flatnonzero((overlap > 0).all(axis=1))
        if not len(hit):
            break
        axis = np.argmin(overlap[hit], axis=1)
        side = np.where(between[hit, axis] < 0, -1.0, 1.0)
        push = side * (overlap[hit, axis] / 2 + 0.5) * 0.6
        np.add.at(places, (second[hit], axis), push)
        np.add.at(places, (first[hit], axis), -push)
    return places


def _document(
    part: Part,
    marks: Sequence[_Mark],
    places: Float64Array,
    drawn: nx.Graph,
    groups: Mapping[str, str],
) -> Iterator[str]:
    half = np.array([mark.box for mark in marks]) / 2
    low, high = (places - half).min(axis=0), (places + half).max(axis=0)
    legend = _legend(part.graph, groups)
    head, foot, edge = 64.0, 24.0 + 20 * len(legend), 24.0
    width = max(high[0] - low[0] + 2 * edge, 620.0)
    height = high[1] - low[1] + head + foot + edge
    centred = places - low + np.array([(width - (high[0] - low[0])) / 2, head])
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}"'
        f' width="{width:.0f}" height="{height:.0f}"'
        ' font-family="Helvetica, Arial, sans-serif">'
    )
    yield f"<title>{escape(_shown(part.name))}</title>"
    yield f'<rect width="{width:.0f}" height="{height:.0f}" fill="{_PAPER}"/>'
    yield from _heading(part, drawn, edge)
    yield from _lines(marks, centred, drawn)
    for mark, (x, y) in zip(marks, centred, strict=True):
        yield from _disc(mark, x, y - mark.size / 2)
    for row, (colour, text) in enumerate(legend):
        y = height - foot + 20 * row + 10
        yield f'<circle cx="{edge + 6:.0f}" cy="{y:.1f}" r="6" fill="{colour}"/>'
        yield (
            f'<text x="{edge + 20:.0f}" y="{y + 4:.1f}" font-size="12" fill="#3d4650">'
            f"{escape(text)}</text>"
        )
    yield "</svg>\n"


def _heading(part: Part, drawn: nx.Graph, edge: float) -> Iterator[str]:
    concepts, ties = part.graph.number_of_nodes(), part.graph.number_of_edges()
    name = _shown(part.name)
    told = (
        f"generation {part.generation} \u00b7 {concepts} of {concepts + part.concepts_left_out}"
        f" concepts \u00b7 {drawn.number_of_edges()} of {ties + part.ties_left_out} ties"
        " \u00b7 size: chunks that name it \u00b7 width: weight"
    )
    yield (
        f'<text x="{edge:.0f}" y="30" font-size="18" font-weight="600" fill="#1d252d">'
        f"{escape(name[:1].upper() + name[1:])}</text>"
    )
    yield f'<text x="{edge:.0f}" y="50" font-size="12" fill="#5b6670">{escape(told)}</text>'


def _lines(marks: Sequence[_Mark], places: Float64Array, drawn: nx.Graph) -> Iterator[str]:
    """The ties, the lightest first; in the colour of both ends, else grey."""
    at = {mark.key: place for place, mark in enumerate(marks)}
    heaviest = _heaviest(drawn)
    for u, v, values in sorted(drawn.edges(data=True), key=lambda tie: tie[2]["weight"]):
        one, other = marks[at[u]], marks[at[v]]
        (x1, y1), (x2, y2) = places[at[u]], places[at[v]]
        colour = one.colour if one.colour == other.colour else "#9aa3ad"
        together = values["w"]
        wide = 0.8 + 4.2 * values["weight"] / heaviest
        yield (
            f'<line x1="{x1:.1f}" y1="{y1 - one.size / 2:.1f}"'
            f' x2="{x2:.1f}" y2="{y2 - other.size / 2:.1f}"'
            f' stroke="{colour}" stroke-width="{wide:.2f}" stroke-opacity="0.4">'
            f"<title>{escape(f'{one.label}, {other.label}: {together} chunks')}</title></line>"
        )


def _disc(mark: _Mark, x: float, y: float) -> Iterator[str]:
    yield (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{mark.radius:.1f}" fill="{mark.colour}"'
        f' stroke="{mark.outline}" stroke-width="2"><title>{escape(mark.title)}</title></circle>'
    )
    yield (
        f'<text x="{x:.1f}" y="{y + mark.radius + mark.size:.1f}" font-size="{mark.size:.1f}"'
        f' text-anchor="middle" fill="#1d252d" stroke="{_PAPER}" stroke-width="3"'
        f' stroke-linejoin="round" paint-order="stroke">{escape(mark.label)}</text>'
    )


def _legend(graph: nx.Graph, groups: Mapping[str, str]) -> list[tuple[str, str]]:
    """Colour and text of each community that has a colour: its id and most frequent concepts."""
    rows = []
    for group, colour in _colours(groups).items():
        inside = [key for key in graph if groups[key] == group]
        inside.sort(key=lambda key: -graph.nodes[key]["frequency"])
        named = ", ".join(_label(graph.nodes[key]["label"], 30) for key in inside[:3])
        rows.append((colour, f"community {group}: {named}"))
    if any(group not in _colours(groups) for group in groups.values()):
        rows.append((_OTHER, "in none of these communities"))
    return rows
