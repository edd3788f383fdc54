"""What is new: changes by arrival, told as stories, and counted over time."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from index.analysis.sentences import sentence_spans
from index.communities.hierarchy import Hierarchy
from index.types import Int64Array, Millis, from_millis
from index.view import ChangeKind, DocumentChange, View
from query.briefs import brief_of_change
from query.claims import cite
from query.communities import strongest
from query.errors import UnknownConceptError
from query.graph import SearchGraph
from query.labels import top_concepts
from query.names import matching
from query.types import Citation
from query.types_news import News, Story, TimeRow

ENOUGH = 0.15
"""A story is the deepest community with this part of a document's idf; ours."""
NAMED = 5
"""Concepts that a story is named by."""
SHOWN = 10
"""Documents listed for one story."""
LONGEST_QUOTE = 400


@dataclass(frozen=True, slots=True)
class _Told:
    """A document's changes in the window, oldest first, and the story that it belongs to."""

    changes: tuple[DocumentChange, ...]
    community: int

    @property
    def last(self) -> DocumentChange:
        return self.changes[-1]


def new(
    view: View, graph: SearchGraph, about: str | None, since: Millis, until: Millis, limit: int
) -> News:
    """The stories that arrivals in ``[since, until)`` touched, the most recent first.

    Args:
        view: The pinned view.
        graph: The graph of its snapshot.
        about: Only what names this concept; None for all.
        since: First moment of arrival.
        until: First moment after.
        limit: Stories at most.
    """
    concepts = None if about is None else matching(graph, about)
    changes = _concerning(view, concepts, since, until)
    stories: dict[int, list[_Told]] = {}
    for told in _by_document(changes, graph):
        stories.setdefault(told.community, []).append(told)
    newest = {c: max(t.last.observed_at for t in held) for c, held in stories.items()}
    root = Hierarchy.ROOT  # of what belongs to no story; it is no story itself and comes last
    order = sorted(stories, key=lambda c: (c == root, -newest[c], -len(stories[c]), c))
    displays = view.displays([] if concepts is None else concepts[:SHOWN].tolist())
    return News(
        about=about,
        matched=tuple(displays.values()),
        since=since,
        until=until,
        changes=len(changes),
        stories_count=len(stories),
        stories=tuple(
            _story(view, graph, community, stories[community], about) for community in order[:limit]
        ),
        generation=view.snapshot.generation,
    )


def _concerning(
    view: View, concepts: Int64Array | None, since: Millis, until: Millis
) -> list[DocumentChange]:
    changes = list(view.changes(since, until))
    if concepts is None or not changes:
        return changes
    wanted = np.zeros(view.snapshot.concept_count, np.bool_)
    wanted[concepts] = True
    owner = np.repeat(np.arange(len(changes)), [len(change.concepts) for change in changes])
    named = np.concatenate([change.concepts for change in changes])
    return [changes[at] for at in np.unique(owner[wanted[named]]).tolist()]


def _by_document(changes: Sequence[DocumentChange], graph: SearchGraph) -> list[_Told]:
    held: dict[str, list[DocumentChange]] = {}
    for change in changes:
        held.setdefault(change.document_id, []).append(change)
    # A withdrawal that names nothing belongs where the document last stood.
    named = [
        max(enumerate(group), key=lambda item: (len(item[1].concepts) > 0, item[0]))[1].concepts
        for group in held.values()
    ]
    homes = story_homes(graph, named)
    return [
        _Told(tuple(group), home) for group, home in zip(held.values(), homes.tolist(), strict=True)
    ]


def story_homes(graph: SearchGraph, named: Sequence[np.ndarray]) -> Int64Array:
    """int64[n]: for each list of concepts the deepest community with enough of its idf.

    Where no level has enough, the best community of C0; the root where there is none at all.
    """
    owner = np.repeat(np.arange(len(named)), [len(concepts) for concepts in named])
    concepts = np.concatenate(named).astype(np.int64) if len(named) else np.zeros(0, np.int64)
    total = np.bincount(owner, graph.idf[concepts], minlength=len(named))
    homes = np.full(len(named), Hierarchy.ROOT, np.int64)
    for level in range(len(graph.memberships)):
        community, affinity = strongest(graph, owner, concepts, len(named), level)
        enough = (community != Hierarchy.NONE) & ((level == 0) | (affinity >= ENOUGH * total))
        homes = np.where(enough, community, homes)
    return homes


def _story(
    view: View, graph: SearchGraph, community: int, told: Sequence[_Told], about: str | None
) -> Story:
    changes = sorted((c for t in told for c in t.changes), key=lambda c: c.observed_at)
    kinds = Counter(change.kind for change in changes)
    newest = sorted(told, key=lambda t: (-t.last.observed_at, t.last.document_id))
    sources = dict.fromkeys(change.source for change in changes)
    return Story(
        community=community,
        level=graph.snapshot.hierarchy.level_of(community),
        concepts=top_concepts(view, graph, community, NAMED) if community else (),
        first=brief_of_change(view, changes[0]),
        other_sources=tuple(name for name in sources if name and name != changes[0].source),
        documents=tuple(brief_of_change(view, t.last) for t in newest[:SHOWN]),
        document_count=len(told),
        inserts=kinds[ChangeKind.INSERT],
        edits=kinds[ChangeKind.EDIT],
        withdrawals=kinds[ChangeKind.DELETE],
        newest_at=changes[-1].observed_at,
        quote=_quote(view, newest, about),
    )


def _quote(view: View, newest: Sequence[_Told], about: str | None) -> Citation | None:
    """The first sentence (that names what is asked about) of the newest living document."""
    for told in newest[:SHOWN]:
        document = view.document(told.last.document_id)
        if document is None:
            continue
        wanted = (about or "").casefold()
        first: Citation | None = None
        for chunk in view.document_chunks(document.number):
            for sentence in sentence_spans(chunk.text):
                quote = cite(chunk, document, sentence, LONGEST_QUOTE)
                if quote is not None and wanted in quote.quote.casefold():
                    return quote
                first = first or quote
        if first is not None:
            return first
    return None


def timeseries(
    view: View,
    graph: SearchGraph,
    concept: str,
    interval: Millis,
    since: Millis,
    until: Millis,
) -> tuple[TimeRow, ...]:
    """Changes that concern a concept by arrival, one row for each interval.

    Rows begin at multiples of the interval since 1970; the first and the last may be cut by the
    window.

    Raises:
        UnknownConceptError: The index holds no such concept.
    """
    concepts = matching(graph, concept)
    if not len(concepts):
        raise UnknownConceptError(f"the index holds no concept {concept!r}")
    counts: Counter[tuple[int, str]] = Counter(
        (change.observed_at // interval, change.kind)
        for change in _concerning(view, concepts, since, until)
    )
    return tuple(
        TimeRow(
            start=from_millis(place * interval).isoformat().replace("+00:00", "Z"),
            documents=counts[place, ChangeKind.INSERT],
            edits=counts[place, ChangeKind.EDIT],
            withdrawals=counts[place, ChangeKind.DELETE],
        )
        for place in range(since // interval, -(-until // interval))
    )
