"""Communities and concepts as they stand: sizes, growth, neighbours, newest documents."""

from collections.abc import Sequence

import numpy as np

from index.types import Float64Array, Int64Array, Millis
from index.view import View
from query.briefs import newest, newest_of
from query.errors import UnknownCommunityError
from query.graph import SearchGraph
from query.homes import Placed
from query.labels import named_by, top_members
from query.names import exactly
from query.types_news import (
    Communities,
    CommunityBrief,
    CommunityCard,
    ConceptCard,
    ConceptNeighbour,
    Order,
)

NAMED = 8
SAMPLES = 3
NEIGHBOURS = 25
DOCUMENTS = 10


def communities(
    view: View, graph: SearchGraph, level: int, order: Order, since: Millis, limit: int
) -> Communities:
    """The largest or the fastest growing communities of a level.

    Growth compares arrivals since ``since`` with those expected from the community's share of
    all documents; communities that grew are ordered by how far beyond chance that is,
    ``(recent - expected) / sqrt(expected + 1)``.

    Raises:
        UnknownCommunityError: The hierarchy has no such level.
    """
    hierarchy = graph.snapshot.hierarchy
    if level < 0 or level >= max(hierarchy.depth, 1):
        raise UnknownCommunityError(
            f"there is no level {level}; the levels are 0 to {max(hierarchy.depth - 1, 0)}"
        )
    held = graph.placed(level)
    first = _largest(held) if order is Order.SIZE else _growing(graph, held, since)
    return Communities(
        level=level,
        levels=hierarchy.depth,
        count=hierarchy.levels[level] if hierarchy.depth else 0,
        since=since,
        communities=_briefs(view, graph, level, held.ids[first[:limit]].tolist(), since),
        generation=graph.snapshot.generation,
    )


def _largest(held: Placed) -> Int64Array:
    """Places among ``held.ids``, those of the most documents first."""
    found: Int64Array = np.lexsort((held.ids, -np.diff(held.bounds)))
    return found


def _growing(graph: SearchGraph, held: Placed, since: Millis) -> Int64Array:
    """Places among ``held.ids`` of those that grew, the furthest beyond chance first."""
    recent, expected = _arrivals(graph, held, since)
    beyond = (recent - expected) / np.sqrt(expected + 1)
    found: Int64Array = np.lexsort((held.ids, -beyond))
    return found[(recent > expected)[found]]


def community(view: View, graph: SearchGraph, number: int, since: Millis) -> CommunityCard:
    """One community and the ones inside it, the largest first.

    Raises:
        UnknownCommunityError: No such community lives.
    """
    hierarchy = graph.snapshot.hierarchy
    if not hierarchy.has(number):
        raise UnknownCommunityError(f"there is no community {number}")
    level = hierarchy.level_of(number)
    keys = graph.snapshot.vocabulary.keys(top_members(graph, number, NEIGHBOURS).tolist())
    inside = hierarchy.children(number)
    order = sorted(inside.tolist(), key=lambda c: (-hierarchy.size_of(c), c))
    return CommunityCard(
        brief=_briefs(view, graph, level, [number], since)[0],
        keys=tuple(keys),
        children=_briefs(view, graph, level + 1, order, since),
        generation=graph.snapshot.generation,
    )


def _arrivals(graph: SearchGraph, held: Placed, since: Millis) -> tuple[Float64Array, Float64Array]:
    """Recent documents of each community of ``held.ids``, and those expected of it."""
    observed = graph.snapshot.observed_at
    alive = graph.documents_alive
    total = np.diff(held.bounds).astype(np.float64)
    of = np.repeat(np.arange(len(held.ids)), np.diff(held.bounds))
    fresh = observed[held.document] >= since
    recent = np.bincount(of, fresh, minlength=len(held.ids)).astype(np.float64)
    living = int(np.count_nonzero(alive))
    share = int(np.count_nonzero(alive & (observed >= since))) / max(living, 1)
    return recent, total * share


def _briefs(
    view: View, graph: SearchGraph, level: int, communities: Sequence[int], since: Millis
) -> tuple[CommunityBrief, ...]:
    """Communities of one level in the order given; what they show is read at once for all."""
    if not communities:
        return ()
    hierarchy = graph.snapshot.hierarchy
    held = graph.placed(level)
    recent, expected = _arrivals(graph, held, since)
    counted = {c: at for at, c in enumerate(held.ids.tolist())}
    names = named_by(view, graph, communities, NAMED)
    documents = [held.documents_of(community) for community in communities]
    samples = newest_of(view, documents, SAMPLES)
    found = []
    for place, community in enumerate(communities):
        at = counted.get(community)
        arrived, due = (0, 0.0) if at is None else (int(recent[at]), float(expected[at]))
        found.append(
            CommunityBrief(
                id=community,
                level=level,
                parent=hierarchy.parent_of(community),
                concept_count=hierarchy.size_of(community),
                concepts=names[place],
                documents=len(documents[place]),
                recent=arrived,
                growth=arrived / due if due else 0.0,
                samples=samples[place],
            )
        )
    return tuple(found)


def concept(view: View, graph: SearchGraph, name: str) -> ConceptCard:
    """One concept by key or name: what it is seen with, and its newest documents.

    Raises:
        UnknownConceptError: The snapshot holds none that is spelled so.
    """
    snapshot = graph.snapshot
    number = exactly(graph, name)
    rows = snapshot.concept_chunks[[number]].indices
    rows = rows[snapshot.shown[rows]]
    titled = snapshot.concept_titles[[number]].indices
    documents = np.union1d(
        snapshot.chunk_document[rows], titled[graph.documents_alive[titled]]
    ).astype(np.int64)
    leaf = int(snapshot.hierarchy.leaf[number])
    inside = leaf != snapshot.hierarchy.NONE
    return ConceptCard(
        key=snapshot.vocabulary.key(number),
        display=view.displays([number])[number],
        kind=snapshot.vocabulary.kind(number).value,
        frequency=int(snapshot.frequency[number]),
        document_count=len(documents),
        communities=snapshot.hierarchy.path(leaf) if inside else (),
        neighbours=_neighbours(view, graph, number, rows),
        documents=newest(view, documents, DOCUMENTS),
        generation=snapshot.generation,
    )


def _neighbours(
    view: View, graph: SearchGraph, number: int, rows: Int64Array
) -> tuple[ConceptNeighbour, ...]:
    """The heaviest neighbours, counted from the postings, with exact weights."""
    snapshot = graph.snapshot
    named = graph.chunks[rows].indices
    together = np.bincount(named, minlength=snapshot.concept_count)
    together[number] = 0
    beside = np.flatnonzero(together)
    sums = snapshot.head.totals
    if not len(beside) or not sums.weight_sum or not sums.frequency_sum:
        return ()
    pair = together[beside] / sums.weight_sum
    own = snapshot.frequency[number] / sums.frequency_sum
    others = snapshot.frequency[beside] / sums.frequency_sum
    weight = pair * np.log2(pair / (own * others))
    order = np.lexsort((beside, -weight))[:NEIGHBOURS]
    chosen = beside[order].tolist()
    displays = view.displays(chosen)
    return tuple(
        ConceptNeighbour(
            key=snapshot.vocabulary.key(other),
            display=displays[other],
            kind=snapshot.vocabulary.kind(other).value,
            together=int(together[other]),
            weight=float(weight[at]),
        )
        for other, at in zip(chosen, order.tolist(), strict=True)
    )
