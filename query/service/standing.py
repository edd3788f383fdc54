"""Standing questions over HTTP: created, listed, paused, removed, and their updates as events."""

import re
import secrets
from collections.abc import AsyncIterator
from typing import Annotated, Any

import anyio
from fastapi import Body, Depends, Header, Path, Query, Request, Response
from sse_starlette.sse import EventSourceResponse
from starlette.concurrency import run_in_threadpool

from query.service.ask import PING_SECONDS, question_of
from query.service.models_standing import (
    StandingChange,
    StandingListModel,
    StandingModel,
    StandingRequest,
    UpdateModel,
    UpdatesModel,
    shown,
    update_json,
)
from query.service.problems import ProblemError, payer_of
from query.service.reading import PROBLEMS, ServiceGiven
from query.service.routing import Router
from query.standing.store import StandingStore
from query.standing.types import (
    StandingStoreError,
    Terms,
    UnknownStandingError,
)

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
    return shown(made, service.clock(), secret=bool(webhook))


@router.get("")
def list_standing(service: ServiceGiven, response: Response) -> StandingListModel:
    """List the standing questions, with their claims as they stand."""
    response.headers["Cache-Control"] = "no-store"
    store = service.standing
    if store is None:
        return StandingListModel(available=False, most=0, standing=[])
    now = service.clock()
    found = [shown(one, now) for one in store.all()]
    return StandingListModel(available=True, most=store.settings.most, standing=found)


@router.get("/{standing}")
def get_standing(
    standing: Id, service: ServiceGiven, store: StoreGiven, response: Response
) -> StandingModel:
    """Show a standing question with its claims as they stand."""
    response.headers["Cache-Control"] = "no-store"
    return shown(store.get(_checked(standing)), service.clock())


@router.patch("/{standing}", responses=_BODY)
def change_standing(
    standing: Id,
    change: Annotated[StandingChange, Body()],
    service: ServiceGiven,
    store: StoreGiven,
) -> StandingModel:
    """Pause a standing question, or have it asked again."""
    return shown(store.pause(_checked(standing), paused=change.paused), service.clock())


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


def _checked(name: str) -> str:
    if not _ID.match(name):
        raise UnknownStandingError(f"There is no standing question {name[:40]!r}.")
    return name


def _number(text: str | None) -> int:
    """The number of an update; 0, from the beginning, for what is none."""
    known = text is not None and text.isascii() and text.isdecimal() and len(text) <= _DIGITS
    return int(text or 0) if known else 0
