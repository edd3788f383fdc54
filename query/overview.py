"""Communities and concepts as they stand: sizes, growth, neighbours, newest documents."""

from dataclasses import dataclass

import numpy as np

from index.types import Float64Array, Int64Array, Millis
from index.view import View
from query.briefs import newest
from query.errors import UnknownCommunityError
from query.graph import SearchGraph
from query.labels import top_concepts, top_members
from query.names import exactly
from query.types_news import (
    Communities,
    CommunityBrief,
    CommunityCard,
    ConceptCard,
    ConceptNeighbour,
)

NAMED = 8
SAMPLES = 3
NEIGHBOURS = 25
DOCUMENTS = 10


@dataclass(frozen=True, slots=True, eq=False)
class _Level:
    """The communities of a level with their documents.

    ``community`` and ``document`` int64[p] are the distinct pairs, sorted by community, of
    communities and document rows with a chunk at home there; ``ids`` those with any.
    """

    community: Int64Array
    document: Int64Array
    ids: Int64Array

    def documents_of(self, community: int) -> Int64Array:
        """Document rows of one community."""
        first, last = np.searchsorted(self.community, [community, community + 1])
        return self.document[first:last]


def communities(
    view: View, graph: SearchGraph, level: int, since: Millis, limit: int
) -> Communities:
    """The largest and the fastest growing communities of a level.

    Growth compares arrivals since ``since`` with those expected from the community's share of
    all documents; communities are ordered by how far beyond chance that is,
    ``(recent - expected) / sqrt(expected + 1)``.

    Raises:
        UnknownCommunityError: The hierarchy has no such level.
    """
    hierarchy = graph.snapshot.hierarchy
    if level < 0 or level >= max(hierarchy.depth, 1):
        raise UnknownCommunityError(
            f"there is no level {level}; the levels are 0 to {max(hierarchy.depth - 1, 0)}"
        )
    held = _level(graph, level)
    total = np.array([len(held.documents_of(c)) for c in held.ids.tolist()], np.int64)
    recent, expected = _arrivals(graph, held, since)
    largest = np.lexsort((held.ids, -total))[:limit]
    beyond = (recent - expected) / np.sqrt(expected + 1)
    growing = np.lexsort((held.ids, -beyond))
    growing = growing[(recent > expected)[growing]][:limit]

    def told(order: Int64Array) -> tuple[CommunityBrief, ...]:
        return tuple(
            _brief(view, graph, held, int(held.ids[at]), int(recent[at]), float(expected[at]))
            for at in order
        )

    return Communities(
        level=level,
        levels=hierarchy.depth,
        count=hierarchy.levels[level] if hierarchy.depth else 0,
        since=since,
        largest=told(largest),
        growing=told(growing),
        generation=graph.snapshot.generation,
    )


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
        brief=_one(view, graph, number, level, since),
        keys=tuple(keys),
        children=tuple(_one(view, graph, child, level + 1, since) for child in order),
        generation=graph.snapshot.generation,
    )


def _one(view: View, graph: SearchGraph, number: int, level: int, since: Millis) -> CommunityBrief:
    held = _level(graph, level)
    recent, expected = _arrivals(graph, held, since)
    at = np.flatnonzero(held.ids == number)
    counted = (int(recent[at[0]]), float(expected[at[0]])) if len(at) else (0, 0.0)
    return _brief(view, graph, held, number, *counted)


def _level(graph: SearchGraph, level: int) -> _Level:
    snapshot = graph.snapshot
    home = graph.home(level)
    rows = np.flatnonzero(snapshot.alive & (home != snapshot.hierarchy.ROOT))
    pairs = np.unique(
        np.stack([home[rows], snapshot.chunk_document[rows].astype(np.int64)]), axis=1
    )
    return _Level(pairs[0], pairs[1], np.unique(pairs[0]))


def _arrivals(graph: SearchGraph, held: _Level, since: Millis) -> tuple[Float64Array, Float64Array]:
    """Recent documents of each community, and those expected of it."""
    observed = graph.snapshot.observed_at
    alive = graph.documents_alive
    of = np.searchsorted(held.ids, held.community)
    total = np.bincount(of, minlength=len(held.ids)).astype(np.float64)
    fresh = observed[held.document] >= since
    recent = np.bincount(of, fresh, minlength=len(held.ids)).astype(np.float64)
    living = int(np.count_nonzero(alive))
    share = int(np.count_nonzero(alive & (observed >= since))) / max(living, 1)
    return recent, total * share


def _brief(
    view: View, graph: SearchGraph, held: _Level, number: int, recent: int, expected: float
) -> CommunityBrief:
    hierarchy = graph.snapshot.hierarchy
    documents = held.documents_of(number)
    return CommunityBrief(
        id=number,
        level=hierarchy.level_of(number),
        parent=hierarchy.parent_of(number),
        concept_count=hierarchy.size_of(number),
        concepts=top_concepts(view, graph, number, NAMED),
        documents=len(documents),
        recent=recent,
        growth=recent / expected if expected else 0.0,
        samples=newest(view, documents, SAMPLES),
    )


def concept(view: View, graph: SearchGraph, name: str) -> ConceptCard:
    """One concept by key or name: what it is seen with, and its newest documents.

    Raises:
        UnknownConceptError: The snapshot holds none that is spelled so.
    """
    snapshot = graph.snapshot
    number = exactly(graph, name)
    rows = snapshot.concept_chunks[[number]].indices
    rows = rows[snapshot.alive[rows]]
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
