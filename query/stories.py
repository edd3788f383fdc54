"""What is new: changes by arrival, told as stories, and counted over time."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from index.analysis.sentences import sentence_spans
from index.change_log import DELETE, EDIT, INSERT, KINDS, ChangeColumns
from index.communities.hierarchy import Hierarchy
from index.types import Int64Array, Millis, from_millis, to_millis
from index.view import StoredDocument, View
from query.briefs import brief_of_change
from query.changes import Time, concerning, expired, shown, within
from query.claims import cite
from query.errors import UnknownConceptError
from query.graph import SearchGraph
from query.homes import Lists, deepest_homes
from query.labels import named_by
from query.names import matching
from query.types import Citation
from query.types_news import DocumentBrief, News, Story, TimeRow

ENOUGH = 0.15
"""A story is the deepest community with this part of a document's idf; ours."""
NAMED = 5
"""Concepts that a story is named by."""
SHOWN = 10
"""Documents listed for one story."""
LONGEST_QUOTE = 400
EARLIEST = to_millis(datetime.min.replace(tzinfo=UTC))
"""The first moment that can be written down."""


@dataclass(frozen=True, slots=True, eq=False)
class _Arrivals:
    """The changes of a window, oldest first, and the story of each.

    ``story`` int64[n] is the community of each change's document; ``last`` bool[n] marks the
    last change of each document.
    """

    changes: ChangeColumns
    story: Int64Array
    last: np.ndarray


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
    asked = Time.OBSERVED.between(since, until)
    changes = within(view.change_columns(asked), Time.OBSERVED, since, until)
    if concepts is not None:
        changes = concerning(changes, concepts, view.snapshot.concept_count)
    gone = expired(changes)
    changes = shown(changes, view.snapshot.head.horizon)
    arrivals = _told(graph, changes)
    order = _most_recent_first(arrivals)
    displays = view.displays([] if concepts is None else concepts[:SHOWN].tolist())
    return News(
        about=about,
        matched=tuple(displays.values()),
        since=since,
        until=until,
        changes=len(changes),
        stories_count=len(order),
        stories=_stories(view, graph, arrivals, order[:limit].tolist(), about),
        generation=view.snapshot.generation,
        expired=gone,
    )


def _told(graph: SearchGraph, changes: ChangeColumns) -> _Arrivals:
    """Changes in order of arrival with their stories, a document's changes in one."""
    count = len(changes)
    changes = changes.take(np.argsort(changes.observed_at, kind="stable"))
    _, document = np.unique(changes.document, return_inverse=True)
    place = np.arange(count)
    documents = int(document.max(initial=-1)) + 1
    last, telling = np.zeros(documents, np.int64), np.zeros(documents, np.int64)
    np.maximum.at(last, document, place)
    # A withdrawal that names nothing belongs where the document last stood.
    np.maximum.at(telling, document, place + count * (changes.end > changes.begin))
    standing = changes.take(telling % max(count, 1))
    named = Lists(standing.begin, standing.end, standing.concepts)
    story = deepest_homes(named, graph.branches, graph.idf, ENOUGH)
    return _Arrivals(changes, story[document], last[document] == place)


def _most_recent_first(arrivals: _Arrivals) -> Int64Array:
    """Stories by their newest arrival, then by their documents.

    The root, of what belongs to no story, is no story itself and comes last.
    """
    ids, at = np.unique(arrivals.story, return_inverse=True)
    newest = np.full(len(ids), np.iinfo(np.int64).min)
    np.maximum.at(newest, at, arrivals.changes.observed_at)
    documents = np.bincount(at, arrivals.last, minlength=len(ids))
    order = np.lexsort((ids, -documents, -newest, ids == Hierarchy.ROOT))
    sorted_ids: Int64Array = ids[order]
    return sorted_ids


def _stories(
    view: View, graph: SearchGraph, arrivals: _Arrivals, shown: list[int], about: str | None
) -> tuple[Story, ...]:
    """Stories in the order given; what they show is read from the store at once for all."""
    changes = arrivals.changes
    rows = [np.flatnonzero(arrivals.story == community) for community in shown]
    newest = [_newest(arrivals, held) for held in rows]
    wanted = {changes.ids[changes.document[at]] for held in newest for at in held}
    wanted |= {changes.name(held[0]) for held in rows}
    documents = view.documents_named(sorted(wanted))
    inside = [community for community in shown if community != Hierarchy.ROOT]
    names = dict(zip(inside, named_by(view, graph, inside, NAMED), strict=True))
    return tuple(
        _story(
            graph,
            arrivals,
            community,
            held,
            tuple(brief_of_change(changes, at, documents) for at in (int(held[0]), *latest)),
            names.get(community, ()),
            _quote(view, [changes.name(at) for at in latest], documents, about),
        )
        for community, held, latest in zip(shown, rows, newest, strict=True)
    )


def _newest(arrivals: _Arrivals, rows: Int64Array) -> list[int]:
    """The last changes of the documents of a story, newest first, as many as are shown."""
    changes = arrivals.changes
    last = rows[arrivals.last[rows]]
    moments = changes.observed_at[last]
    shown: list[int] = last[moments >= np.sort(moments)[-SHOWN:][0]].tolist()
    shown.sort(key=lambda at: (-changes.observed_at[at], changes.name(at)))
    return shown[:SHOWN]


def _story(
    graph: SearchGraph,
    arrivals: _Arrivals,
    community: int,
    rows: Int64Array,
    briefs: tuple[DocumentBrief, ...],
    concepts: tuple[str, ...],
    quote: Citation | None,
) -> Story:
    """One story from its changes ``rows``; ``briefs`` are its first and its newest documents."""
    changes = arrivals.changes
    kinds = np.bincount(changes.kind[rows], minlength=len(KINDS)).tolist()
    codes, firsts = np.unique(changes.source[rows], return_index=True)
    sources = [changes.sources[code] for code in codes[np.argsort(firsts)].tolist()]
    return Story(
        community=community,
        level=graph.snapshot.hierarchy.level_of(community),
        concepts=concepts,
        first=briefs[0],
        other_sources=tuple(name for name in sources[1:] if name),
        documents=briefs[1:],
        document_count=int(np.count_nonzero(arrivals.last[rows])),
        inserts=kinds[INSERT],
        edits=kinds[EDIT],
        withdrawals=kinds[DELETE],
        newest_at=Millis(int(changes.observed_at[rows[-1]])),
        quote=quote,
    )


def _quote(
    view: View, newest: list[str], documents: Mapping[str, StoredDocument], about: str | None
) -> Citation | None:
    """The first sentence (that names what is asked about) of the newest living document."""
    wanted = (about or "").casefold()
    for name in newest:
        document = documents.get(name)
        if document is None:
            continue
        first: Citation | None = None
        for chunk in view.document_chunks(document.number):
            for sentence in sentence_spans(chunk.text):
                start, end = sentence
                if first is not None and wanted not in chunk.text[start:end].casefold():
                    continue
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
    time: Time = Time.OBSERVED,
) -> tuple[TimeRow, ...]:
    """Changes that concern a concept, one row for each interval of arrival or event time.

    Rows begin at multiples of the interval since 1970, none before the year 1; the first and the
    last may be cut by the window.

    Raises:
        UnknownConceptError: The index holds no such concept.
    """
    concepts = matching(graph, concept)
    if not len(concepts):
        raise UnknownConceptError(f"the index holds no concept {concept!r}")
    first, end, kinds = since // interval, -(-until // interval), len(KINDS)
    counts = np.zeros((end - first) * kinds, np.int64)
    for part in view.change_parts(time.between(since, until)):
        changes = within(shown(part, view.snapshot.head.horizon), time, since, until)
        changes = concerning(changes, concepts, view.snapshot.concept_count)
        place = time.of(changes) // interval - first
        counts += np.bincount(place * kinds + changes.kind, minlength=len(counts))
    return tuple(
        TimeRow(
            start=from_millis(max(EARLIEST, (first + at) * interval))
            .isoformat()
            .replace("+00:00", "Z"),
            documents=row[INSERT],
            edits=row[EDIT],
            withdrawals=row[DELETE],
        )
        for at, row in enumerate(counts.reshape(-1, kinds).tolist())
    )
