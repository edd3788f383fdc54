"""A part of the concept graph in the formats that other programs read.

networkx, Gephi and Cytoscape read GraphML; Gephi reads GEXF; ``networkx.node_link_graph`` and
d3 read the JSON. The same part gives the same bytes.
"""

import json
import re
from io import BytesIO

import networkx as nx
from networkx.readwrite.gexf import GEXFWriter

from index.concept_graph import Part

_ESCAPED = re.compile("[\x00-\x08\x0b-\x1f\x7f\x85\ud800-\udfff\ufffd-\uffff]")
"""What XML cannot hold or does not hand back as it was, and the mark that stands for it."""


def xml_text(text: str) -> str:
    """A text as XML can hold it, two different ones staying different.

    A control character or half a surrogate pair becomes U+FFFD and its four hexadecimal digits.
    """
    return _ESCAPED.sub(lambda found: f"\ufffd{ord(found[0]):04x}", text)


def graphml(part: Part) -> bytes:
    """The part as GraphML, UTF-8; what was left out stands in the graph's own attributes."""
    out = BytesIO()
    nx.write_graphml(_for_xml(part), out)
    return out.getvalue()


def gexf(part: Part) -> bytes:
    """The part as GEXF 1.2, UTF-8, without the date that the writer would put in."""
    writer = GEXFWriter(encoding="utf-8", prettyprint=True, version="1.2draft")
    for meta in writer.xml.iter("meta"):
        meta.attrib.pop("lastmodifieddate", None)
    writer.add_graph(_for_xml(part))
    out = BytesIO()
    writer.write(out)
    return out.getvalue()


def node_link(part: Part) -> bytes:
    """The part as node-link JSON with the keys ``nodes`` and ``edges``, ASCII."""
    body = nx.node_link_data(_told(part, part.graph), edges="edges")
    return (json.dumps(body, indent=1) + "\n").encode("ascii")


def _for_xml(part: Part) -> nx.Graph:
    """A copy whose every text XML can hold."""
    clean = nx.Graph(**_texts(part.graph.graph))
    for key, values in part.graph.nodes(data=True):
        clean.add_node(xml_text(key), **_texts(values))
    for u, v, values in part.graph.edges(data=True):
        clean.add_edge(xml_text(u), xml_text(v), **values)
    return _told(part, clean)


def _texts(values: dict[str, str | int]) -> dict[str, str | int]:
    return {k: xml_text(v) if isinstance(v, str) else v for k, v in values.items()}


def _told(part: Part, graph: nx.Graph) -> nx.Graph:
    """The graph, saying itself how much of the part it is."""
    told = graph.copy()
    told.graph |= {
        "concepts_left_out": part.concepts_left_out,
        "ties_left_out": part.ties_left_out,
    }
    return told
