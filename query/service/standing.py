"""Standing questions over HTTP: created, listed, paused, removed, and their updates as events."""

import re
import secrets
from collections.abc import AsyncIterator
from typing import Annotated, Any

import anyio
from fastapi import Body, Depends, Header, Path, Query, Request, Response
from pydantic import Field, StrictBool
from sse_starlette.sse import EventSourceResponse
from starlette.concurrency import run_in_threadpool

from query.service.ask import PING_SECONDS, question_of
from query.service.models import (
    CitationModel,
    JsonScalar,
    Model,
    Moment,
    QuestionRequest,
    WholeNumber,
    when,
)
from query.service.problems import ProblemError, payer_of
from query.service.reading import PROBLEMS, ServiceGiven
from query.service.routing import Router
from query.standing.store import StandingStore
from query.standing.types import (
    Standing,
    StandingStoreError,
    Terms,
    UnknownStandingError,
    Update,
)
from query.types import Mode, Preset, TimeAxis

router = Router(prefix="/v1/standing", tags=["standing"], responses=PROBLEMS)

LOOK_SECONDS = 0.5
"""Between two looks of an event stream for an update; a look is one read by primary key."""
STREAMS = 64
"""Event streams of standing questions at once."""
_BODY: dict[int | str, dict[str, Any]] = {
    400: {**PROBLEMS[422], "description": "The body cannot be read as JSON at all"},
    408: {**PROBLEMS[422], "description": "The body did not arrive in time"},
    413: {**PROBLEMS[422], "description": "The body is too large"},
}
_DIGITS = 15
_ID = re.compile(r"[0-9a-f]{16}\Z")


class StandingRequest(QuestionRequest):
    """A question that stays. Spans of its window move with the stream."""

    webhook: str | None = Field(
        default=None, description="Address that updates are posted to, signed", max_length=2000
    )
    tests_a_day: WholeNumber | None = Field(
        default=None,
        description="Chunks tested for the first time in a day (UTC); the service's default "
        "when left out",
        ge=0,
    )


class StandingChange(Model):
    """What is to become of a standing question."""

    paused: StrictBool = Field(description="Whether it sleeps; one that wakes up is asked anew")


class ToldModel(Model):
    """A claim with the quoted sentences that carry it."""

    text: str
    sources: list[CitationModel]


class RewordedModel(Model):
    """A claim before and after."""

    before: ToldModel
    after: ToldModel


class ChangesModel(Model):
    """What became of the claims: all changes from the first on add up to the claims."""

    added: list[ToldModel]
    withdrawn: list[ToldModel]
    reworded: list[RewordedModel] = Field(description="The same said in other words")
    sourced: list[RewordedModel] = Field(description="The same words, carried by other sources")


class UpdateModel(Model):
    """A new answer to a standing question, and what changed against the one before."""

    id: str
    number: int = Field(description="From 1; the id of its event")
    question: str
    generation: int
    at: Moment
    outcome: str
    answer: str = Field(description="Cites by [n], n counting citations from 1")
    citations: list[CitationModel]
    claims: list[ToldModel]
    changes: ChangesModel
    tests: int = Field(description="Chunks tested for the first time")
    remembered: int = Field(description="Chunks whose former verdict was known")
    untested: int = Field(description="Chunks that found the day's tests spent")
    assessor: str


class StandingModel(Model):
    """A standing question and how it stands."""

    id: str
    question: str
    budget: int
    mode: Mode
    since: str | None
    until: str | None
    time: TimeAxis
    source: list[str]
    lang: list[str]
    where: dict[str, JsonScalar]
    webhook: str
    tests_a_day: int
    window: bool = Field(description="Whether times in its words become a window")
    amounts: bool = Field(description="Whether amounts in its words become filters")
    preset: Preset | None
    created_at: Moment
    paused: bool
    updates: int = Field(description="Number of the newest update; 0 before the first")
    generation: int = Field(description="The last one asked; 0 before the first")
    asked_at: Moment | None
    outcome: str
    answer: str
    claims: list[ToldModel]
    tests_today: int
    problem: str = Field(description="What is wrong with its askings, or nothing")
    undelivered: str = Field(description="What is wrong with its deliveries, or nothing")
    secret: str | None = Field(
        default=None, description="Signs what the webhook is sent; told once, at creation"
    )


class StandingListModel(Model):
    """All standing questions, oldest first."""

    available: bool = Field(description="Whether this service keeps standing questions")
    most: int = Field(description="How many there may be")
    standing: list[StandingModel]


class UpdatesModel(Model):
    """Updates of a standing question, oldest first; a bounded number is kept."""

    updates: list[UpdateModel]


async def _store_of(service: ServiceGiven) -> StandingStore:
    if service.standing is None:
        detail = "This service keeps no standing questions."
        raise ProblemError(503, "standing_unavailable", detail)
    return service.standing


StoreGiven = Annotated[StandingStore, Depends(_store_of)]
Id = Annotated[str, Path(description="The id of a standing question")]


@router.post("", status_code=201, responses=_BODY)
def create_standing(
    asked: StandingRequest, request: Request, service: ServiceGiven, store: StoreGiven
) -> StandingModel:
    """Have a question asked again by every generation that touches it.

    The response holds the secret that signs what its webhook is sent; it is not told again.
    """
    question = question_of(asked, service)
    webhook = (asked.webhook or "").strip()
    if webhook:
        service.check_webhook(webhook)
    allowed = service.limits.standing_tests_a_day
    tests = allowed if asked.tests_a_day is None else min(asked.tests_a_day, allowed)
    terms = Terms(
        question=question.text,
        budget=question.budget,
        mode=question.mode,
        since=asked.since,
        until=asked.until,
        time=asked.time,
        source=tuple(asked.source),
        lang=tuple(asked.lang),
        where=asked.where,
        webhook=webhook,
        tests_a_day=tests,
        window=question.window,
        amounts=question.amounts,
        preset=question.preset,
        payer=payer_of(request),
    )
    made = store.create(secrets.token_hex(8), terms, secrets.token_hex(32), service.clock())
    return shown(made, secret=bool(webhook))


@router.get("")
def list_standing(service: ServiceGiven, response: Response) -> StandingListModel:
    """List the standing questions, with their claims as they stand."""
    response.headers["Cache-Control"] = "no-store"
    store = service.standing
    if store is None:
        return StandingListModel(available=False, most=0, standing=[])
    found = [shown(one) for one in store.all()]
    return StandingListModel(available=True, most=store.settings.most, standing=found)


@router.get("/{standing}")
def get_standing(standing: Id, store: StoreGiven, response: Response) -> StandingModel:
    """Show a standing question with its claims as they stand."""
    response.headers["Cache-Control"] = "no-store"
    return shown(store.get(_checked(standing)))


@router.patch("/{standing}", responses=_BODY)
def change_standing(
    standing: Id, change: Annotated[StandingChange, Body()], store: StoreGiven
) -> StandingModel:
    """Pause a standing question, or have it asked again."""
    return shown(store.pause(_checked(standing), paused=change.paused))


@router.delete("/{standing}", status_code=204)
def remove_standing(standing: Id, store: StoreGiven) -> None:
    """Forget a standing question and its updates."""
    store.remove(_checked(standing))


@router.get("/{standing}/updates")
def list_updates(
    standing: Id,
    store: StoreGiven,
    response: Response,
    after: Annotated[int, Query(ge=0, le=2**53, description="Only larger numbers")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000, description="How many at most")] = 100,
) -> UpdatesModel:
    """List the updates of a standing question that are still kept."""
    response.headers["Cache-Control"] = "no-store"
    store.get(_checked(standing))
    found = store.updates(standing, after=after, limit=limit)
    return UpdatesModel(updates=[UpdateModel.model_validate(update) for update in found])


_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Events `update`, each with its number as id and an update as data, those "
        "still kept first; at last `removed`",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    },
}


@router.get("/{standing}/events", responses=_STREAM, response_class=EventSourceResponse)
async def tell_updates(
    standing: Id,
    request: Request,
    store: StoreGiven,
    last_event_id: Annotated[
        str | None, Header(description="Number of the last update that was received")
    ] = None,
) -> Response:
    """Tell updates as server-sent events, from the one after ``Last-Event-ID`` on."""
    await run_in_threadpool(store.get, _checked(standing))
    streams: Streams = request.app.state.standing_streams
    if streams.open >= STREAMS:
        detail = "Too many event streams are open: close one, or read the updates."
        raise ProblemError(429, "too_many_streams", detail, {"Retry-After": "10"})
    return EventSourceResponse(
        streams.told(store, standing, _number(last_event_id)), ping=PING_SECONDS
    )


class Streams:
    """The event streams of an application; used from its event loop.

    They end with the store, so that a service that stops does not wait for them.
    """

    def __init__(self) -> None:
        self.open = 0

    async def told(
        self, store: StandingStore, name: str, after: int
    ) -> AsyncIterator[dict[str, str]]:
        """Updates as they come, until the question is removed or the service ends."""
        self.open += 1
        try:
            while True:
                try:
                    found = await run_in_threadpool(store.updates, name, after=after, limit=20)
                    if not found:
                        await run_in_threadpool(store.get, name)
                except UnknownStandingError:
                    yield {"event": "removed", "data": "{}"}
                    return
                except StandingStoreError:
                    return
                for update in found:
                    after = update.number
                    body = update_json(update).decode()
                    yield {"id": str(after), "event": "update", "data": body}
                if not found:
                    await anyio.sleep(LOOK_SECONDS)
        finally:
            self.open -= 1


def update_json(update: Update) -> bytes:
    """An update as its event has it, and as webhooks and the topic get it."""
    return UpdateModel.model_validate(update).model_dump_json().encode()


def shown(one: Standing, *, secret: bool = False) -> StandingModel:
    """A standing question as clients see it."""
    terms, state = one.terms, one.state
    return StandingModel(
        id=one.id,
        question=terms.question,
        budget=terms.budget,
        mode=terms.mode,
        since=terms.since,
        until=terms.until,
        time=terms.time,
        source=list(terms.source),
        lang=list(terms.lang),
        where=dict(terms.where),
        webhook=terms.webhook,
        tests_a_day=terms.tests_a_day,
        window=terms.window,
        amounts=terms.amounts,
        preset=terms.preset,
        created_at=when(one.created_at),
        paused=one.paused,
        updates=one.updates,
        generation=state.generation,
        asked_at=when(state.asked_at or None),
        outcome=state.outcome,
        answer=state.answer,
        claims=[ToldModel.model_validate(claim) for claim in state.claims],
        tests_today=state.spent,
        problem=state.problem,
        undelivered=one.undelivered,
        secret=one.secret if secret else None,
    )


def _checked(name: str) -> str:
    if not _ID.match(name):
        raise UnknownStandingError(f"There is no standing question {name[:40]!r}.")
    return name


def _number(text: str | None) -> int:
    """The number of an update; 0, from the beginning, for what is none."""
    known = text is not None and text.isascii() and text.isdecimal() and len(text) <= _DIGITS
    return int(text or 0) if known else 0
