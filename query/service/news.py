"""What can be had without a question: what is new, communities, concepts, counts over time."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from fastapi import Path, Query

from index.types import Millis
from index.view import View
from query.changes import Time
from query.errors import BadFilterError, UnknownCommunityError
from query.service.models import when
from query.service.models_news import (
    CommunityListModel,
    CommunityModel,
    CommunityStoryModel,
    ConceptItemModel,
    ConceptListModel,
    ConceptModel,
    DocumentBriefModel,
    NewsModel,
    SourceCountModel,
    SourceListModel,
    TimelineModel,
    TimeRowModel,
    TimeseriesModel,
)
from query.service.reading import TAGGED, ReaderGiven, ServiceGiven
from query.service.routing import Router
from query.service.story import tell, timelines
from query.service.times import LENGTH_PATTERN, MOMENT, MOMENT_SCHEMA, moment, span
from query.types_news import CommunityBrief, Order

router = Router(prefix="/v1", tags=["news"], responses=TAGGED)

FEWEST_SCANNED = 500
"""Keys looked at for a prefix, so that the most frequent of them can come first."""
LONGEST_ID = 18
"""Digits of an id."""
MOST_ROWS = 2_000
"""Intervals that one time series may have."""

Limit = Annotated[int, Query(ge=1, description="How many; bounded by the service")]
Since = Annotated[
    str, Query(description=f"First moment of arrival: {MOMENT}", json_schema_extra=MOMENT_SCHEMA)
]
Until = Annotated[
    str | None,
    Query(
        description=f"First moment after: {MOMENT}; now if left out",
        json_schema_extra=MOMENT_SCHEMA,
    ),
]
Recent = Annotated[
    str,
    Query(description=f"Growth counts arrivals since: {MOMENT}", json_schema_extra=MOMENT_SCHEMA),
]


@router.get("/new")
def new(
    reader: ReaderGiven,
    service: ServiceGiven,
    about: Annotated[str | None, Query(description="Only what concerns this concept")] = None,
    since: Since = "1h",
    until: Until = None,
    limit: Limit = 20,
) -> NewsModel:
    """Tell what arrived in a window, as stories; no model and no budget are used."""
    first, last = _window(service.clock(), since, until)
    with reader.pinned(tagged=False) as view:
        found = service.news.new(
            view,
            about=about,
            since=first,
            until=last,
            limit=min(limit, service.limits.page_size),
        )
    return NewsModel.model_validate(found)


@router.get("/timeseries")
def timeseries(
    reader: ReaderGiven,
    service: ServiceGiven,
    concept: Annotated[str, Query(description="The key or name of a concept")],
    interval: Annotated[
        str,
        Query(
            description="Length of a row: 15m, 1h, 1d, 1w",
            json_schema_extra={"pattern": LENGTH_PATTERN},
        ),
    ] = "1d",
    since: Since = "30d",
    until: Until = None,
    time: Annotated[Time, Query(description="Time of arrival, or of the event")] = Time.OBSERVED,
) -> TimeseriesModel:
    """Count the changes that concern a concept, by interval of arrival or of event time."""
    length = span(interval)
    if not length:
        raise BadFilterError(f"{interval[:40]!r} is no interval: give 15m, 1h, 1d or 1w.")
    first, last = _window(service.clock(), since, until)
    if (last - first) // length > MOST_ROWS:
        raise BadFilterError(f"That makes more than {MOST_ROWS} rows: take a longer interval.")
    with reader.pinned(tagged=False) as view:
        rows = service.news.timeseries(
            view, concept=concept, interval=length, since=first, until=last, time=time
        )
        return TimeseriesModel(
            concept=concept,
            time=time.value,
            interval_seconds=length // 1000,
            rows=[TimeRowModel.model_validate(row) for row in rows],
            generation=view.snapshot.generation,
        )


@router.get("/communities")
def list_communities(
    reader: ReaderGiven,
    service: ServiceGiven,
    level: Annotated[int, Query(ge=0, description="0 for C0, the widest")] = 0,
    order: Order = Order.SIZE,
    since: Recent = "24h",
    limit: Limit = 20,
) -> CommunityListModel:
    """List the largest or the fastest growing communities of a level, with their concepts."""
    limit = min(limit, service.limits.page_size)
    with reader.pinned() as view:
        found = service.news.communities(
            view, level=level, order=order, since=_arrival(view, since), limit=limit
        )
        return CommunityListModel(
            level=found.level,
            levels=found.levels,
            count=found.count,
            since=when(found.since),
            order=order.value,
            communities=_with_timelines(service, view, found.level, found.communities),
            generation=found.generation,
        )


@router.get("/communities/{community}")
def get_community(
    reader: ReaderGiven,
    service: ServiceGiven,
    community: Annotated[str, Path(description="The id of a community")],
    since: Recent = "24h",
    documents: Annotated[int, Query(ge=1, le=1000, description="Documents told at most")] = 50,
) -> CommunityStoryModel:
    """Tell one community: concepts, documents by time, sources, edits, withdrawals, parts."""
    if not (community.isascii() and community.isdecimal() and len(community) <= LONGEST_ID):
        raise UnknownCommunityError(f"There is no community {community[:40]!r}.")
    with reader.pinned() as view:
        card = service.news.community(view, int(community), since=_arrival(view, since))
        level = card.brief.level
        graph = service.graphs.of(view.snapshot)
        placed = graph.placed(level)
        told = tell(view, graph, placed, card.brief.id, documents)
        own = _with_timelines(service, view, level, (card.brief,))[0]
        return CommunityStoryModel(
            brief=own,
            keys=list(card.keys),
            concepts=_concepts(view, _numbers(view, card.keys)),
            children=_with_timelines(service, view, level + 1, card.children),
            documents=[DocumentBriefModel.model_validate(d) for d in told.documents],
            document_count=told.document_count,
            sources=[SourceCountModel.model_validate(s) for s in told.sources],
            edits=told.edits,
            withdrawals=told.withdrawals,
            generation=card.generation,
        )


@router.get("/concepts")
def list_concepts(
    reader: ReaderGiven,
    service: ServiceGiven,
    prefix: Annotated[str, Query(description="How the key begins")] = "",
    limit: Limit = 20,
) -> ConceptListModel:
    """List concepts by the beginning of their key, the most frequent first."""
    limit = min(limit, service.limits.page_size)
    with reader.pinned() as view:
        snapshot = view.snapshot
        scanned = snapshot.vocabulary.starting_with(
            prefix.lower(), snapshot.concept_count, max(FEWEST_SCANNED, limit)
        )
        living = [n for n in scanned if snapshot.frequency[n] > 0]
        living.sort(key=lambda n: (-int(snapshot.frequency[n]), n))
        shown = living[:limit]
        return ConceptListModel(concepts=_concepts(view, shown), generation=snapshot.generation)


@router.get("/concepts/{key:path}")
def get_concept(
    reader: ReaderGiven,
    service: ServiceGiven,
    key: Annotated[str, Path(description="The key of a concept")],
) -> ConceptModel:
    """Give one concept: what it is seen with, its communities, its newest documents."""
    with reader.pinned() as view:
        return ConceptModel.model_validate(service.news.concept(view, key))


@router.get("/sources")
def list_sources(reader: ReaderGiven, service: ServiceGiven) -> SourceListModel:
    """List the sources with their documents, for filters."""
    with reader.pinned() as view:
        snapshot = view.snapshot
        alive = service.graphs.of(snapshot).documents_alive
        counts = np.bincount(snapshot.source[alive], minlength=len(snapshot.labels.sources))
        order = np.argsort(-counts, kind="stable")[: service.limits.page_size].tolist()
        found = [
            SourceCountModel(source=snapshot.labels.sources[code], documents=int(counts[code]))
            for code in order
            if counts[code]
        ]
        return SourceListModel(sources=found, generation=snapshot.generation)


def _numbers(view: View, keys: Sequence[str]) -> list[int]:
    return [n for key in keys if (n := view.snapshot.concept(key)) is not None]


def _concepts(view: View, numbers: list[int]) -> list[ConceptItemModel]:
    snapshot = view.snapshot
    names = view.displays(numbers)
    return [
        ConceptItemModel(
            key=snapshot.vocabulary.key(n),
            display=names[n],
            kind=snapshot.vocabulary.kind(n).value,
            frequency=int(snapshot.frequency[n]),
        )
        for n in numbers
    ]


def _window(now: Millis, since: str, until: str | None) -> tuple[Millis, Millis]:
    first = moment(since, now)
    last = Millis(now + 1) if until is None else moment(until, now)
    if first >= last:
        raise BadFilterError("The window is empty: since must come before until.")
    return first, last


def _arrival(view: View, since: str) -> Millis:
    """A moment of arrival; spans count back from the newest one, so that a tag stays true."""
    return moment(since, view.snapshot.head.newest_arrival)


def _with_timelines(
    service: ServiceGiven, view: View, level: int, briefs: tuple[CommunityBrief, ...]
) -> list[CommunityModel]:
    if not briefs:
        return []
    graph = service.graphs.of(view.snapshot)
    placed = graph.placed(level)
    found = timelines(graph, placed, [brief.id for brief in briefs])
    return [
        CommunityModel.model_validate(brief).model_copy(
            update={"timeline": TimelineModel.model_validate(found[brief.id])}
        )
        for brief in briefs
    ]
