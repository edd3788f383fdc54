"""A community over time: which documents count in it, and when they came."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from index.change_log import DELETE, EDIT, ChangeColumns, ChangesAsked
from index.types import Int64Array, Millis
from index.view import ChangeKind, StoredDocument, View
from query.briefs import brief_of_change
from query.changes import READABLE, shown
from query.graph import SearchGraph
from query.homes import Lists, Placed, homes
from query.types_news import DocumentBrief

BARS = 24
"""Intervals that a timeline has at most."""
OUTLIERS = 0.01
"""Share of the oldest documents that a timeline leaves out: one wrong date would flatten it."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """Documents by event time: ``documents[i]`` in the i-th interval from ``start``."""

    start: Millis
    interval_seconds: int
    documents: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SourceCount:
    """Documents of a source."""

    source: str
    documents: int


@dataclass(frozen=True, slots=True)
class Told:
    """A community's own documents and changes, newest first.

    ``edits`` and ``withdrawals`` count the changes on record since the oldest document told.
    """

    documents: tuple[DocumentBrief, ...]
    document_count: int
    sources: tuple[SourceCount, ...]
    edits: int
    withdrawals: int


def timelines(
    graph: SearchGraph, placed: Placed, communities: Sequence[int]
) -> Mapping[int, Timeline]:
    """The timeline of each community of a level, all over the same intervals."""
    event_at = graph.snapshot.event_at
    start, interval, bars = _intervals(event_at[graph.documents_alive])
    found = {}
    for wanted in communities:
        at = (event_at[placed.documents_of(wanted)] - start) // interval
        counts = np.bincount(at[(at >= 0) & (at < bars)], minlength=bars)
        found[wanted] = Timeline(Millis(start), interval // 1000, tuple(counts.tolist()))
    return found


def _intervals(moments: Int64Array) -> tuple[int, int, int]:
    """Start, length and number of intervals that cover moments, but for the oldest few."""
    if not len(moments):
        return 0, READABLE[0], 1
    first = int(np.quantile(moments, OUTLIERS, method="lower"))
    last = int(moments.max())
    fitting = (length for length in READABLE if last // length - first // length < BARS)
    interval = next(fitting, READABLE[-1])
    start = first // interval * interval
    return start, interval, min(BARS, (last - start) // interval + 1)


def tell(view: View, graph: SearchGraph, placed: Placed, community: int, limit: int) -> Told:
    """Tell a community's story from its newest ``limit`` documents and their changes.

    ``placed`` is of the community's level.
    """
    snapshot = view.snapshot
    rows = placed.documents_of(community)
    names = snapshot.labels.sources
    sources = Counter(names[code] for code in snapshot.source[rows].tolist())
    newest = rows[np.argsort(-snapshot.event_at[rows], kind="stable")[:limit]]
    stored = view.documents(snapshot.documents[newest].tolist())
    oldest = min((d.observed_at for d in stored.values()), default=snapshot.head.newest_arrival)
    ids = {document.id for document in stored.values()}
    edited, gone, briefs = _changed(view, graph, community, oldest, ids, limit)
    for document in stored.values():
        kind = ChangeKind.EDIT if edited[document.id] else ChangeKind.INSERT
        briefs.append(_living(document, kind))
    briefs.sort(key=_newest_first)
    return Told(
        documents=tuple(briefs[:limit]),
        document_count=len(rows) + gone,
        sources=tuple(SourceCount(*pair) for pair in sources.most_common(20)),
        edits=sum(edited[d.id] for d in stored.values()),
        withdrawals=gone,
    )


def _changed(
    view: View, graph: SearchGraph, community: int, oldest: Millis, ids: set[str], limit: int
) -> tuple[Counter[str], int, list[DocumentBrief]]:
    """Edits of the documents ``ids``, and how many were withdrawn, with the newest of those."""
    level = view.snapshot.hierarchy.level_of(community)
    edited, gone, briefs = Counter[str](), 0, list[DocumentBrief]()
    for part in view.change_parts(ChangesAsked(since=oldest, kinds=(EDIT, DELETE))):
        changes = shown(part, view.snapshot.head.horizon)
        recent = changes.observed_at >= oldest
        edits = changes.document[np.flatnonzero(recent & (changes.kind == EDIT))].tolist()
        edited.update(name for code in edits if (name := changes.ids[code]) in ids)
        withdrawn = changes.take(np.flatnonzero(recent & (changes.kind == DELETE)))
        ours = np.flatnonzero(_homes(graph, level, withdrawn) == community).tolist()
        gone += len(ours)
        briefs += [brief_of_change(withdrawn, at, {}) for at in ours]
        briefs = sorted(briefs, key=_newest_first)[:limit]
    return edited, gone, briefs


def _newest_first(brief: DocumentBrief) -> tuple[int, str]:
    return -brief.event_at, brief.document_id


def _homes(graph: SearchGraph, level: int, changes: ChangeColumns) -> Int64Array:
    """int64[n]: where documents are (or were) at home at a level, by their concepts together."""
    named = Lists(changes.begin, changes.end, changes.concepts)
    found, _ = homes(named, graph.branches, level, graph.idf)
    return found


def _living(document: StoredDocument, change: str) -> DocumentBrief:
    return DocumentBrief(
        document_id=document.id,
        title=document.title,
        source=document.source,
        url=document.url,
        observed_at=document.observed_at,
        event_at=document.event_at,
        change=change,
        lang=document.lang,
    )
