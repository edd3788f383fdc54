"""Errors as ``application/problem+json`` (RFC 9457)."""

import json
import time
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match, Route

from index.errors import SnapshotRetiredError
from query.errors import PayerCeilingError, QueryError, UnknownCommunityError, UnknownConceptError
from query.standing.types import StandingStoreError, UnknownStandingError

MEDIA_TYPE = "application/problem+json"
_NOT_ALLOWED = 405
_DAY = 24 * 3600
TYPE_PREFIX = "urn:tidegraph:problem:"


class ProblemField(BaseModel):
    """One part of a request that was refused, and why."""

    field: str
    reason: str


class Problem(BaseModel):
    """An error as RFC 9457 gives it; ``instance`` names the request."""

    type: str = Field(description="A lasting name of the problem, for programs")
    title: str
    status: int
    detail: str = Field(description="What was wrong, and what to do")
    instance: str = Field(description="urn:request: and the request's id")
    errors: list[ProblemField] = Field(
        default_factory=list, description="The refused parts of the request"
    )


class ProblemError(Exception):
    """A refusal with its status, lasting code and explanation."""

    def __init__(
        self, status: int, code: str, detail: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.headers = dict(headers or {})


def problem(
    status: int, code: str, detail: str, request_id: str, errors: list[ProblemField] | None = None
) -> Problem:
    """A problem with the title of its status."""
    return Problem(
        type=TYPE_PREFIX + code,
        title=HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        instance=f"urn:request:{request_id}",
        errors=errors or [],
    )


def problem_body(body: Problem) -> bytes:
    """The body as ASCII: what a client sent may hold text that UTF-8 cannot carry."""
    return json.dumps(body.model_dump(), ensure_ascii=True).encode()


def problem_response(body: Problem, headers: Mapping[str, str] | None = None) -> Response:
    """The response of a problem; never cached."""
    return Response(
        problem_body(body),
        status_code=body.status,
        media_type=MEDIA_TYPE,
        headers={"Cache-Control": "no-store", **(headers or {})},
    )


def as_problem_error(error: Exception) -> ProblemError | None:
    """What an error of the lower floors means to a client; None for one not foreseen."""
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, SnapshotRetiredError):
        detail = "The search outlived its snapshot of the index: ask again, or with less budget."
        return ProblemError(503, "snapshot_retired", detail, {"Retry-After": "1"})
    if isinstance(error, StandingStoreError):
        return ProblemError(503, error.code, str(error), {"Retry-After": "5"})
    if isinstance(error, UnknownCommunityError | UnknownConceptError | UnknownStandingError):
        return ProblemError(404, error.code, str(error))
    if isinstance(error, QueryError):
        later = isinstance(error, PayerCeilingError)
        headers = {"Retry-After": str(_to_midnight())} if later else None
        return ProblemError(429 if later else 422, error.code, str(error), headers)
    return None


def _to_midnight() -> int:
    """Seconds until the next day (UTC) begins."""
    return _DAY - int(time.time()) % _DAY


def internal() -> ProblemError:
    """What a client is told of an error that nobody foresaw: nothing but where to look."""
    detail = "The service met an error of its own; the request's id finds it in the log."
    return ProblemError(500, "internal", detail)


def install(app: FastAPI) -> None:
    """Answer every foreseen error of an application as a problem."""
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    for kind in (ProblemError, QueryError, SnapshotRetiredError):
        app.add_exception_handler(kind, _foreseen)


def request_id_of(request: Request) -> str:
    """The id that the edge gave the request."""
    return str(request.state.request_id)


def payer_of(request: Request) -> str:
    """The account of the request's key, "" for an open service."""
    return str(request.state.payer)


async def _foreseen(request: Request, error: Exception) -> Response:
    known = as_problem_error(error)
    if known is None:
        raise error
    body = problem(known.status, known.code, known.detail, request_id_of(request))
    return problem_response(body, known.headers)


async def _http_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    code = HTTPStatus(error.status_code).phrase.lower().replace(" ", "_").replace("'", "")
    detail = {
        404: f"There is nothing at {request.url.path}.",
        405: f"{request.method} is not possible at {request.url.path}.",
    }.get(error.status_code, str(error.detail))
    body = problem(error.status_code, code, detail, request_id_of(request))
    headers = {"Allow": _allowed(request)} if error.status_code == _NOT_ALLOWED else error.headers
    return problem_response(body, headers)


def _allowed(request: Request) -> str:
    """The methods of all routes at an address; the framework names those of the first one."""
    methods: set[str] = set()
    for route in request.app.router.routes:
        if isinstance(route, Route) and route.matches(request.scope)[0] is not Match.NONE:
            methods |= route.methods or set()
    return ", ".join(sorted(methods))


async def _invalid(request: Request, error: Exception) -> Response:
    if not isinstance(error, RequestValidationError):
        raise error
    errors = [_refused(found) for found in error.errors()]
    detail = "; ".join(f"{e.field}: {e.reason}" if e.field else e.reason for e in errors)
    code = "not_json" if any(e["type"] == "json_invalid" for e in error.errors()) else "invalid"
    return problem_response(problem(422, code, detail, request_id_of(request), errors))


def _refused(found: Mapping[str, Any]) -> ProblemField:
    where = [str(part) for part in found["loc"] if part not in {"body", "query", "path"}]
    if found["type"] == "json_invalid":
        return ProblemField(field="", reason=f"The body is not JSON: {found['ctx']['error']}")
    empty = found["type"] == "string_too_short" and found["ctx"]["min_length"] == 1
    return ProblemField(field=".".join(where), reason="It is empty" if empty else str(found["msg"]))
