"""``POST /v1/search``: a question answered whole, or told as it unfolds."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from contextlib import aclosing
from dataclasses import replace
from typing import Annotated, Any, TypeVar

import orjson
from fastapi import Depends, Request
from sse_starlette.sse import EventSourceResponse
from starlette.responses import Response

from index.types import Millis
from query.errors import BadBudgetError, EmptyQuestionError, QuestionTooLongError
from query.presets import budget_of
from query.service.models import AnswerModel, QuestionRequest, SearchRequest
from query.service.problems import (
    as_problem_error,
    internal,
    payer_of,
    problem,
    problem_body,
    request_id_of,
)
from query.service.reading import PROBLEMS, ServiceGiven
from query.service.routing import Router
from query.service.searches import Searches
from query.service.service import Limits, Service
from query.service.times import moment
from query.types import CONTEXT, Answer, EventKind, Filters, Question, SearchEvent, TimeAxis

T = TypeVar("T")

router = Router(prefix="/v1", tags=["search"])

PING_SECONDS = 10
"""How often a silent stream shows that it lives; proxies close what is silent for longer."""

_STREAM = (
    "The answer; or, for `Accept: text/event-stream`, events `started`, `ranked`, `tested`, "
    "`descended`, `claim` and at last `answer` (whose data is this same JSON) or `problem`"
)
_RESPONSES: dict[int | str, dict[str, Any]] = {
    **{status: PROBLEMS[status] for status in (401, 422, 429, 503)},
    200: {
        "model": AnswerModel,
        "description": _STREAM,
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    },
    400: {**PROBLEMS[422], "description": "The body cannot be read as JSON at all"},
    408: {**PROBLEMS[422], "description": "The body did not arrive in time"},
    413: {**PROBLEMS[422], "description": "The body is too large"},
}


async def _searches_of(request: Request) -> Searches:
    searches: Searches = request.app.state.searches
    return searches


@router.post("/search", responses=_RESPONSES, response_model=AnswerModel)
async def search(
    asked: SearchRequest,
    request: Request,
    service: ServiceGiven,
    searches: Annotated[Searches, Depends(_searches_of)],
) -> Response:
    """Answer a question from the newest generation, every statement with its sources.

    With ``Accept: text/event-stream`` the search is told as it unfolds. A client that hangs up
    stops its search.
    """
    question = replace(question_of(asked, service), payer=payer_of(request))
    request_id = request_id_of(request)
    events = searches.events(question, request_id)
    if _wants_stream(request):
        first = await _while_connected(request, _first(events))
        if first is None:
            return _gone()
        return EventSourceResponse(_told(first, events, request_id), ping=PING_SECONDS)
    answer = await _while_connected(request, _answer(events))
    if answer is None:
        return _gone()
    body = AnswerModel.model_validate(answer).model_dump_json()
    return Response(body, media_type="application/json", headers={"Cache-Control": "no-store"})


def question_of(body: QuestionRequest, service: Service) -> Question:
    """The question of a request, held against the limits.

    Raises:
        EmptyQuestionError: it has nothing but white space.
        QuestionTooLongError: it has more characters than allowed.
        BadBudgetError: the budget is outside the limits.
        BadFilterError: a time is none, or the window is empty.
    """
    limits = service.limits
    if not body.question.strip():
        raise EmptyQuestionError("The question is empty: ask something.")
    if len(body.question) > limits.question_characters:
        raise QuestionTooLongError(
            f"The question has {len(body.question)} characters; "
            f"at most {limits.question_characters} are read."
        )
    budget = budget_of(body.preset, body.budget, limits.default_budget)
    _check_budget(budget, limits)
    once = body if isinstance(body, SearchRequest) else None
    return Question(
        body.question.strip(),
        budget,
        body.mode,
        _filters(body, service),
        window=body.window,
        amounts=body.amounts,
        preset=body.preset,
        context=CONTEXT if once is None else once.context,
        level=None if once is None else once.level,
    )


def _check_budget(budget: int, limits: Limits) -> None:
    if not 1 <= budget <= limits.largest_budget:
        raise BadBudgetError(
            f"A budget of {budget} relevance tests is not possible: "
            f"give 1 to {limits.largest_budget}."
        )


def _filters(body: QuestionRequest, service: Service) -> Filters:
    """Spans count back from now for arrivals, from the watermark for the documents' own time."""
    now = service.clock()
    if body.time is TimeAxis.EVENT:
        now = service.source.latest().head.watermark
    return Filters(
        since=_moment(body.since, now),
        until=_moment(body.until, now),
        time=body.time,
        source=tuple(body.source),
        lang=tuple(body.lang),
        where=body.where,
    )


def _moment(text: str | None, now: Millis) -> Millis | None:
    return None if text is None else moment(text, now)


def _wants_stream(request: Request) -> bool:
    return "text/event-stream" in request.headers.get("accept", "")


def _gone() -> Response:
    """What nobody will read: the client has hung up. 499 is what proxies log for it."""
    return Response(status_code=499)


async def _answer(events: AsyncGenerator[SearchEvent, None]) -> Answer:
    async with aclosing(events):
        async for event in events:
            if event.answer is not None:
                return event.answer
    raise RuntimeError("The search ended without an answer.")


async def _first(events: AsyncGenerator[SearchEvent, None]) -> SearchEvent:
    return await anext(events)


async def _while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T | None:
    """The result of some work; None, and the work cancelled, when the client hangs up first."""
    task = asyncio.ensure_future(work)
    hang_up = asyncio.ensure_future(_hang_up(request))
    try:
        await asyncio.wait({task, hang_up}, return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        task.cancel()
        hang_up.cancel()
        await asyncio.gather(task, hang_up, return_exceptions=True)


async def _hang_up(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _told(
    first: SearchEvent, events: AsyncGenerator[SearchEvent, None], request_id: str
) -> AsyncIterator[dict[str, str]]:
    """The events as server-sent events; an error on the way becomes the last of them."""
    number = 1
    yield _told_event(number, first)
    try:
        async with aclosing(events):
            async for event in events:
                number += 1
                yield _told_event(number, event)
    except Exception as error:  # noqa: BLE001  the status is sent: only the stream can tell
        known = as_problem_error(error) or internal()
        body = problem(known.status, known.code, known.detail, request_id)
        yield {"event": "problem", "data": problem_body(body).decode()}


def _told_event(number: int, event: SearchEvent) -> dict[str, str]:
    if event.answer is None:
        body = orjson.dumps(_detail(event)).decode()
    else:
        body = AnswerModel.model_validate(event.answer).model_dump_json()
    return {"id": str(number), "event": event.kind.value, "data": body}


def _detail(event: SearchEvent) -> dict[str, object]:
    """The detail of a step, with the ids of communities as strings, as everywhere outside."""
    detail = dict(event.detail)
    if event.kind is EventKind.DESCENDED:
        return {name: _strings(value) for name, value in detail.items()}
    if detail.get("community") is not None:
        detail["community"] = str(detail["community"])
    return detail


def _strings(value: object) -> object:
    return [str(community) for community in value] if isinstance(value, list) else value
