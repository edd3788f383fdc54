"""What rises: concepts and communities that grew faster than their past would have it."""

from typing import Annotated

from fastapi import Query

from index.types import Millis
from index.view import View
from query.changes import Time
from query.errors import BadFilterError
from query.service.models_news import TrendsModel
from query.service.reading import TAGGED, ReaderGiven, ServiceGiven
from query.service.routing import Router
from query.service.times import (
    EARLIEST,
    LENGTH_PATTERN,
    MOMENT,
    MOMENT_OR_NULL_SCHEMA,
    MOMENT_SCHEMA,
    moment,
    span,
)
from query.trends import Subject, TrendsAsked

router = Router(prefix="/v1", tags=["news"], responses=TAGGED)

_NEWEST = "the newest document"


@router.get("/trends")
def get_trends(
    reader: ReaderGiven,
    service: ServiceGiven,
    since: Annotated[
        str,
        Query(
            description=f"First recent moment: {MOMENT}; spans count back from {_NEWEST}",
            json_schema_extra=MOMENT_SCHEMA,
        ),
    ] = "24h",
    window: Annotated[
        str,
        Query(
            description="Length of the past before that: 24h, 7d",
            json_schema_extra={"pattern": LENGTH_PATTERN},
        ),
    ] = "7d",
    kind: Subject = Subject.CONCEPT,
    level: Annotated[
        int | None, Query(ge=0, description="Of communities; C1 where left out")
    ] = None,
    time: Annotated[Time, Query(description="Time of arrival, or of the event")] = Time.OBSERVED,
    until: Annotated[
        str | None,
        Query(
            description=f"First moment after: {MOMENT}; after {_NEWEST} if left out",
            json_schema_extra=MOMENT_OR_NULL_SCHEMA,
        ),
    ] = None,
    half_life: Annotated[
        str | None,
        Query(
            description="Age at which a document counts half for the score", pattern=LENGTH_PATTERN
        ),
    ] = None,
    limit: Annotated[int, Query(ge=1, description="How many; bounded by the service")] = 20,
) -> TrendsModel:
    """Tell what grew faster than its past would have it, with counts for a sparkline."""
    with reader.pinned() as view:
        now = _newest(view, time)
        asked = TrendsAsked(
            since=moment(since, now),
            until=Millis(now + 1) if until is None else moment(until, now),
            window=_length(window),
            subject=kind,
            time=time,
            level=level,
            half_life=None if half_life is None else _length(half_life),
            limit=min(limit, service.limits.page_size),
        )
        if asked.since - asked.window < EARLIEST:
            raise BadFilterError("The window begins before the calendar: take a shorter one.")
        return TrendsModel.model_validate(service.news.trends(view, asked))


def _newest(view: View, time: Time) -> Millis:
    """The newest moment of the stream, so that an answer follows from the generation alone."""
    head = view.snapshot.head
    return head.newest_arrival if time is Time.OBSERVED else head.watermark


def _length(text: str) -> Millis:
    length = span(text)
    if not length:
        raise BadFilterError(f"{text[:40]!r} is no length: give 90m, 24h, 7d or 2w.")
    return length
