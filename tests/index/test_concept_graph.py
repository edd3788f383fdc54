"""A part of a snapshot as a networkx graph, and the files that are made of it."""

import json
import math
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from itertools import combinations
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from index.communities.hierarchy import Hierarchy
from index.communities.leaves import Leaves
from index.concept_graph import Bounds, Part, around, of_community, whole
from index.errors import UnknownPartError
from index.graph_export import gexf, graphml, node_link, xml_text
from index.graph_picture import PictureSettings, backbone, svg
from tests.index.simple import Feed, commit, open_writer

FIRST = "port ship crane\nport ship\nship oil\noil tanker\ntanker port\nmill grain"
SECOND = "port ship crew\ncrew mill\nmill grain flour\nflour grain"
GONE = "port ship grain"
COMMUNITIES = {
    "port": 3, "ship": 3, "crane": 3, "oil": 4, "tanker": 4, "mill": 2, "grain": 2, "flour": 2,
}  # fmt: skip
"""1 holds 3 and 4, 2 has no parts; crew is in none."""


class Seen:
    """A view of a snapshot whose communities and forms the test chooses."""

    def __init__(self, snapshot, forms: dict[str, str] | None = None) -> None:
        self.snapshot = snapshot
        self._forms = forms or {}

    def displays(self, concepts) -> dict[int, str]:
        keys = self.snapshot.vocabulary.keys(concepts)
        return {n: self._forms.get(k, k.upper()) for n, k in zip(concepts, keys, strict=True)}


def grouped(snapshot, communities: dict[str, int]):
    leaf = np.full(snapshot.concept_count, Hierarchy.NONE, np.int64)
    for key, community in communities.items():
        leaf[snapshot.concept(key)] = community
    hierarchy = Hierarchy(
        epoch=1,
        ids=np.array([1, 2, 3, 4]),
        level=np.array([0, 0, 1, 1], np.int16),
        parent=np.array([0, 0, 1, 1]),
        sizes=np.array([5, 3, 3, 2], np.int32),
        leaves=Leaves(leaf),
    )
    assert hierarchy.check() == []
    return replace(snapshot, hierarchy=hierarchy)


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    """Two documents that live, one that was withdrawn."""
    writer, feed = open_writer(tmp_path_factory.mktemp("store")), Feed()
    commit(writer, [feed.upsert("a", FIRST), feed.upsert("g", GONE), feed.upsert("b", SECOND)])
    commit(writer, [feed.delete("g")])
    yield Seen(grouped(writer.latest(), COMMUNITIES))
    writer.close()


def naive() -> tuple[Counter, Counter]:
    """Frequencies and co-occurrences, counted from the living texts."""
    f, w = Counter(), Counter()
    for line in f"{FIRST}\n{SECOND}".split("\n"):
        words = sorted(line.split())
        f.update(words)
        w.update(combinations(words, 2))
    return f, w


def ties(graph: nx.Graph) -> dict[tuple[str, str], int]:
    return {tuple(sorted((u, v))): w for u, v, w in graph.edges(data="w")}


def plain(graph: nx.Graph) -> tuple[dict, dict]:
    """Nodes and edges with what the product put there; readers add ids of their own."""
    names = ("label", "kind", "frequency", "community")
    nodes = {key: {n: values[n] for n in names} for key, values in graph.nodes(data=True)}
    edges = {
        tuple(sorted((u, v))): (values["w"], values["weight"])
        for u, v, values in graph.edges(data=True)
    }
    return nodes, edges


def test_the_whole_graph_is_what_a_recount_gives(view: Seen) -> None:
    """Of the living documents alone; integers, and the weights that follow from them."""
    f, w = naive()
    part = whole(view, Bounds())
    assert dict(part.graph.nodes("frequency")) == f
    assert ties(part.graph) == w
    total_f, total_w = sum(f.values()), sum(w.values())
    for u, v, values in part.graph.edges(data=True):
        p = values["w"] / total_w
        expected = p * math.log2(p / (f[u] / total_f * f[v] / total_f))
        assert values["weight"] == pytest.approx(expected, rel=1e-12)
        assert type(values["w"]) is int
    assert (part.concepts_left_out, part.ties_left_out) == (0, 0)


def test_nodes_carry_form_kind_and_community_path(view: Seen) -> None:
    nodes = whole(view, Bounds()).graph.nodes
    expected = {"label": "PORT", "kind": "other", "frequency": 4, "community": "1/3"}
    assert nodes["port"] == expected
    assert nodes["mill"]["community"] == "2"
    assert nodes["crew"]["community"] == ""


def test_a_community_is_its_concepts_and_the_ties_between_them(view: Seen) -> None:
    part = of_community(view, 1, Bounds())
    assert set(part.graph) == {"port", "ship", "crane", "oil", "tanker"}
    assert ties(part.graph) == {
        pair: count for pair, count in naive()[1].items() if set(pair) <= set(part.graph)
    }
    assert set(of_community(view, 0, Bounds()).graph) == set(naive()[0])


def test_a_neighbourhood_grows_by_rings(view: Seen) -> None:
    _, w = naive()
    full = nx.Graph(list(w))
    for radius in (1, 2, 3):
        part = around(view, "crane", radius, Bounds())
        assert set(part.graph) == set(nx.ego_graph(full, "crane", radius))
        assert part.centre == "crane"


def test_a_ring_that_does_not_fit_keeps_the_heaviest_ties(view: Seen) -> None:
    full = whole(view, Bounds()).graph
    by_weight = sorted(full["port"], key=lambda other: -full["port"][other]["weight"])
    part = around(view, "port", 2, Bounds(concepts=3))
    assert set(part.graph) == {"port", *by_weight[:2]}
    assert part.concepts_left_out == len(by_weight) - 2


def test_bounds_keep_the_most_frequent_concepts(view: Seen) -> None:
    f, _ = naive()
    part = whole(view, Bounds(concepts=4))
    assert sorted(dict(part.graph.nodes("frequency")).values()) == sorted(f.values())[-4:]
    assert part.concepts_left_out == len(f) - 4


def test_bounds_keep_the_heaviest_ties(view: Seen) -> None:
    def heaviest(part: Part) -> list[float]:
        return sorted((tie["weight"] for *_, tie in part.graph.edges(data=True)), reverse=True)

    unbounded = heaviest(whole(view, Bounds()))
    part = whole(view, Bounds(ties=3))
    assert heaviest(part) == unbounded[:3]
    assert part.ties_left_out == len(unbounded) - 3 > 0


def test_what_is_not_there_is_told(view: Seen, tmp_path: Path) -> None:
    with pytest.raises(UnknownPartError, match="no community 77"):
        of_community(view, 77, Bounds())
    for key in ("atlantis", "g"):  # never seen; named by the title of a withdrawn document
        with pytest.raises(UnknownPartError, match=key):
            around(view, key, 1, Bounds())
    writer = open_writer(tmp_path)
    with writer.pin() as empty, pytest.raises(UnknownPartError, match="no concepts yet"):
        whole(empty, Bounds())
    writer.close()


READERS = {
    graphml: nx.read_graphml,
    gexf: nx.read_gexf,
    node_link: lambda file: nx.node_link_graph(json.load(file), edges="edges"),
}


@pytest.mark.parametrize("write", READERS, ids=lambda write: write.__name__)
def test_networkx_reads_back_what_was_written(view: Seen, write) -> None:
    part = whole(view, Bounds())
    assert plain(READERS[write](BytesIO(write(part)))) == plain(part.graph)
    assert write(part) == write(part)


def test_graphml_and_json_say_themselves_what_is_missing(view: Seen) -> None:
    part = whole(view, Bounds(concepts=4, ties=2))
    for write in (graphml, node_link):
        told = READERS[write](BytesIO(write(part))).graph
        assert told["concepts_left_out"] == part.concepts_left_out
        assert told["ties_left_out"] == part.ties_left_out
        assert told["generation"] == part.generation


HOSTILE = "</text><script>alert(1)</script>\x1b]0;\x00\u202e & \"'<\u2028\ud800"


@pytest.fixture
def hostile(view: Seen) -> Part:
    return whole(Seen(view.snapshot, {"port": HOSTILE, "ship": ""}), Bounds())


@pytest.mark.parametrize("write", READERS, ids=lambda write: write.__name__)
def test_hostile_forms_stay_text(hostile: Part, write) -> None:
    found = READERS[write](BytesIO(write(hostile))).nodes["port"]["label"]
    assert found == (HOSTILE if write is node_link else xml_text(HOSTILE))


def test_hostile_forms_stay_text_in_a_picture(hostile: Part) -> None:
    root = ET.fromstring(svg(hostile))  # noqa: S314  our own bytes
    assert {element.tag.rpartition("}")[2] for element in root.iter()} == {
        "svg", "title", "rect", "text", "line", "circle",
    }  # fmt: skip
    texts = [element.text or "" for element in root.iter() if element.tag.endswith("title")]
    assert any("<script>alert(1)</script>" in text for text in texts)
    assert not any("\u202e" in text for text in texts)


def test_different_keys_stay_different_in_xml() -> None:
    assert len({xml_text(key) for key in ("a\x1b", "a\x1c", "a\ufffd", "a\ufffd001b", "a")}) == 5


def discs(picture: bytes) -> dict[str, tuple[float, str]]:
    """Radius and colour by what the disc's title names."""
    root = ET.fromstring(picture)  # noqa: S314  our own bytes
    found = {}
    for element in root.iter("{http://www.w3.org/2000/svg}circle"):
        for title in element:
            name = (title.text or "").partition(":")[0]
            found[name] = (float(element.attrib["r"]), element.attrib["fill"])
    return found


def test_size_is_frequency_and_colour_the_part_of_the_community(view: Seen) -> None:
    found = discs(svg(of_community(view, 1, Bounds())))
    assert found["SHIP"][0] > found["OIL"][0] > found["CRANE"][0]
    assert found["PORT"][1] == found["CRANE"][1] != found["OIL"][1] == found["TANKER"][1]
    alone = svg(of_community(view, 2, Bounds()))
    assert len({colour for _, colour in discs(alone).values()}) == 1
    assert b"community 2: " in alone


def test_labels_do_not_overlap() -> None:
    """Eighty concepts of one dense community; boxes estimated as generously as they are drawn."""
    graph = nx.gnm_random_graph(80, 600, seed=3)
    graph = nx.relabel_nodes(graph, {n: f"concept {n}" for n in graph})
    for n, key in enumerate(graph):
        graph.nodes[key].update(label=key, kind="other", frequency=1 + n, community=f"1/{n % 5}")
    for n, (_, _, values) in enumerate(graph.edges(data=True)):
        values.update(w=1 + n % 7, weight=0.001 * (1 + n % 7))
    picture = svg(Part("made up", 1, graph, 0, 0))
    boxes = []
    for element in ET.fromstring(picture).iter("{http://www.w3.org/2000/svg}text"):  # noqa: S314
        if element.attrib.get("text-anchor") == "middle":
            size = float(element.attrib["font-size"])
            half = len(element.text or "") * size * 0.5 / 2
            boxes.append((float(element.attrib["x"]), float(element.attrib["y"]), half, size))
    assert len(boxes) == 80
    hits = [
        (a, b)
        for a, b in combinations(boxes, 2)
        if abs(a[0] - b[0]) < a[2] + b[2] and abs(a[1] - b[1]) < (a[3] + b[3]) / 2
    ]
    assert hits == []


def test_the_ties_drawn_hold_the_picture_together(view: Seen) -> None:
    """As many pieces as there are with all positive ties; the centre shows more of its own."""
    part = around(view, "port", 3, Bounds())
    positive = nx.Graph([(u, v) for u, v, t in part.graph.edges(data="weight") if t > 0])
    drawn = backbone(part, PictureSettings(ties_each=0, ties_of_centre=0))
    assert nx.is_forest(drawn)
    assert nx.number_connected_components(drawn.subgraph(positive)) == (
        nx.number_connected_components(positive)
    )
    full = backbone(part, PictureSettings(ties_each=0))
    assert set(full["port"]) == set(positive["port"])


def test_a_picture_of_one_concept_and_of_too_many(view: Seen) -> None:
    one = whole(view, Bounds(concepts=1))
    assert len(discs(svg(one))) == 1
    with pytest.raises(UnknownPartError, match="at most 3 concepts"):
        svg(whole(view, Bounds()), PictureSettings(most=3))
