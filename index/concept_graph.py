"""A bounded part of a snapshot's concept graph, as a networkx graph.

Nodes are concept keys with ``label`` (the form people write), ``kind``, ``frequency`` (chunks
that name it) and ``community`` (ids from C0 down to its own, ``"3/17/40"``, or ``""``). Edges
carry ``w`` (chunks that name both, an exact integer from the postings) and ``weight`` (pointwise
mutual information as ``index.counts.pmi`` reads it; negative where two concepts meet less often
than chance would have it). Arrays serve everything else: networkx takes 365 bytes an edge.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import networkx as nx
import numpy as np
from scipy.sparse import csr_matrix, triu

from index.counts.pmi import weights
from index.errors import UnknownPartError
from index.snapshot import Snapshot
from index.types import Float64Array, Int32Array, Int64Array
from index.view import View

_AT_ONCE = 64
"""Concepts whose neighbours are read in one step; bounds memory where hubs are among them."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The most that a part may hold; what lies beyond is left out and told."""

    concepts: int = 1_000
    ties: int = 50_000


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the concept graph. ``name`` says which, for people; ``centre`` is a key.

    ``concepts_left_out`` counts those that belong to the part and did not fit in the bounds; of
    a neighbourhood at least so many, since what lies behind them was not looked at.
    ``ties_left_out`` counts ties between concepts that are in.
    """

    name: str
    generation: int
    graph: nx.Graph
    concepts_left_out: int
    ties_left_out: int
    centre: str | None = None


@dataclass(frozen=True, slots=True)
class _Ties:
    """Pairs ``u < v`` of places (not numbers) with their counts and weights; int64, float64."""

    u: Int64Array
    v: Int64Array
    w: Int64Array
    weight: Float64Array


def whole(view: View, bounds: Bounds) -> Part:
    """The most frequent concepts of all, and their ties.

    Raises:
        UnknownPartError: No chunk names a concept.
    """
    occurring = np.flatnonzero(view.snapshot.frequency > 0)
    if not len(occurring):
        raise UnknownPartError("the index holds no concepts yet")
    return _most_frequent(view, "all concepts", occurring, bounds)


def of_community(view: View, community: int, bounds: Bounds) -> Part:
    """The most frequent concepts of a community (0: of the whole corpus), and their ties.

    Raises:
        UnknownPartError: The snapshot holds no such community, or nothing is left in it.
    """
    hierarchy = view.snapshot.hierarchy
    if community == hierarchy.ROOT:
        return whole(view, bounds)
    if not hierarchy.has(community):
        raise UnknownPartError(
            f"generation {view.snapshot.generation} holds no community {community}"
        )
    members = hierarchy.members(community)
    members = members[view.snapshot.frequency[members] > 0]
    if not len(members):
        raise UnknownPartError(f"all concepts of community {community} were withdrawn")
    return _most_frequent(view, f"community {community}", members, bounds)


def around(view: View, key: str, radius: int, bounds: Bounds) -> Part:
    """A concept and those that at most ``radius`` ties lead to; the strongest ties first.

    Ring by ring; of a ring that does not fit, those with the heaviest tie to the ring before.

    Raises:
        UnknownPartError: No living chunk names the concept.
    """
    snapshot = view.snapshot
    centre = snapshot.concept(key)
    if centre is None or not snapshot.frequency[centre]:
        raise UnknownPartError(f"no chunk of generation {snapshot.generation} names {key!r}")
    chosen = frontier = np.array([centre], np.int64)
    left_out = 0
    for _ in range(radius):
        ring = _ring(snapshot, frontier, chosen)
        room = bounds.concepts - len(chosen)
        frontier = ring[:room]
        chosen = np.concatenate([chosen, frontier])
        left_out = len(ring) - len(frontier)
        if left_out or not len(frontier):
            break
    name = f"around {view.displays([centre])[centre]}"
    return replace(_part(view, name, chosen, left_out, bounds), centre=key)


def _ring(snapshot: Snapshot, frontier: Int64Array, inside: Int64Array) -> Int64Array:
    """Concepts tied to the frontier and not inside yet, by their heaviest tie to it."""
    best = np.full(snapshot.concept_count, -np.inf)
    for some in _batches(frontier):
        rows, postings = _postings(snapshot, some)
        met = (postings @ snapshot.chunk_concepts[rows].astype(np.int64)).tocoo()
        weight = _weights(snapshot, some[met.row], met.col, met.data)
        np.maximum.at(best, met.col, weight)
    best[inside] = -np.inf
    found = np.flatnonzero(best > -np.inf)
    ordered: Int64Array = found[np.argsort(-best[found], kind="stable")]
    return ordered


def _batches(numbers: Int64Array) -> Iterator[Int64Array]:
    for start in range(0, len(numbers), _AT_ONCE):
        yield numbers[start : start + _AT_ONCE]


def _most_frequent(
    view: View, name: str, concepts: Int32Array | Int64Array, bounds: Bounds
) -> Part:
    order = np.argsort(-view.snapshot.frequency[concepts], kind="stable")
    chosen = concepts[order[: bounds.concepts]].astype(np.int64)
    return _part(view, name, chosen, len(concepts) - len(chosen), bounds)


def _part(view: View, name: str, chosen: Int64Array, left_out: int, bounds: Bounds) -> Part:
    """The concepts as nodes and their heaviest ties as edges, in that order."""
    snapshot = view.snapshot
    ties = _ties(snapshot, chosen)
    kept = np.argsort(-ties.weight, kind="stable")[: bounds.ties]
    graph = nx.Graph(part=name, generation=snapshot.generation)
    keys = snapshot.vocabulary.keys(chosen.tolist())
    displays = view.displays(chosen.tolist())
    for number, key in zip(chosen.tolist(), keys, strict=True):
        graph.add_node(
            str(key),
            label=displays[number],
            kind=str(snapshot.vocabulary.kind(number)),
            frequency=int(snapshot.frequency[number]),
            community=_path(snapshot, number),
        )
    for at in kept.tolist():
        u, v = keys[ties.u[at]], keys[ties.v[at]]
        graph.add_edge(str(u), str(v), w=int(ties.w[at]), weight=float(ties.weight[at]))
    return Part(name, snapshot.generation, graph, left_out, len(ties.w) - len(kept))


def _path(snapshot: Snapshot, concept: int) -> str:
    leaf = int(snapshot.hierarchy.leaf[concept])
    if leaf == snapshot.hierarchy.NONE:
        return ""
    return "/".join(map(str, snapshot.hierarchy.path(leaf)))


def _ties(snapshot: Snapshot, chosen: Int64Array) -> _Ties:
    _, postings = _postings(snapshot, chosen)
    pairs = triu(postings @ postings.T, k=1).tocoo()
    u, v, w = pairs.row.astype(np.int64), pairs.col.astype(np.int64), pairs.data
    return _Ties(u, v, w, _weights(snapshot, chosen[u], chosen[v], w))


def _postings(snapshot: Snapshot, concepts: Int64Array) -> tuple[Int64Array, csr_matrix]:
    """Living chunk rows that name any of the concepts, and which names which.

    int64[rows] and int64[len(concepts), rows] of ones: integers, so that products are exact.
    """
    held = snapshot.concept_chunks[concepts]
    rows = np.unique(held.indices).astype(np.int64)
    rows = rows[snapshot.alive[rows]]
    return rows, held[:, rows].astype(np.int64)


def _weights(snapshot: Snapshot, u: Int64Array, v: Int64Array, w: Int64Array) -> Float64Array:
    totals, f = snapshot.head.totals, snapshot.frequency
    # A concept of one store names no more than 2**31 chunks, so the counts fit.
    return weights(w.astype(np.int32), f[u], f[v], totals.frequency_sum, totals.weight_sum)
