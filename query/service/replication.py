"""The store for followers on other hosts: where it stands, what changed, a whole copy."""

import base64
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from fastapi import Query, Response
from starlette.responses import FileResponse, StreamingResponse
from starlette.types import Receive, Scope, Send

from index.errors import StoreError
from index.replica.errors import CheckpointNeededError, NoRoomError
from index.replica.mark import Mark
from index.replica.origin import Body, Origin
from index.types import from_millis
from query.service.models_status import OriginModel
from query.service.problems import Problem, ProblemError
from query.service.reading import PROBLEMS, ServiceGiven
from query.service.routing import Router

GENERATION = "Tidegraph-Generation"
DIGEST = "Repr-Digest"
MEDIA_TYPE = "application/vnd.sqlite3"

router = Router(prefix="/v1/replication", tags=["replication"])

_T = TypeVar("_T")
_PIECE = 1 << 16
_AGAIN_SECONDS = 1
_FILE: dict[str, Any] = {"content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}
_REFUSED: dict[int | str, dict[str, Any]] = {
    status: PROBLEMS[status] for status in (401, 404, 422, 429, 503)
}


@router.get("", responses={status: PROBLEMS[status] for status in (401, 404, 429, 503)})
def get_origin(service: ServiceGiven, response: Response) -> OriginModel:
    """Tell where the store stands, and what a follower must have in common with it."""
    response.headers["Cache-Control"] = "no-store"
    state = _told(_origin(service).state)
    return OriginModel(
        generation=state.mark.generation,
        digest=state.mark.digest,
        schema_version=state.schema,
        fingerprint=state.fingerprint,
        committed_at=from_millis(state.committed_at),
        store_bytes=state.store_bytes,
    )


@router.get(
    "/generations",
    response_class=StreamingResponse,
    responses={
        **_REFUSED,
        200: {**_FILE, "description": "A SQLite file of the rows that changed"},
        204: {"description": "Nothing has changed"},
        409: {"model": Problem, "description": "Only a checkpoint leads on from there"},
    },
)
def get_generations(
    service: ServiceGiven,
    after: Annotated[int, Query(ge=0, lt=1 << 62, description="The follower's generation")],
    digest: Annotated[str, Query(max_length=64, description="The digest that it has of it")],
) -> Response:
    """Give all that changed since a generation, as one step to the newest."""
    origin = _origin(service)
    since = Mark(after, digest)
    body = _told(lambda: origin.changes(since))
    if body is None:
        return Response(status_code=204, headers={GENERATION: str(after)})
    return _BodyResponse(body)


@router.get(
    "/checkpoint",
    response_class=FileResponse,
    responses={
        **_REFUSED,
        200: {**_FILE, "description": "A whole copy of the store"},
        202: {"description": "The copy is being made; `Retry-After` says when to ask again"},
        206: {**_FILE, "description": "A part of the copy"},
        507: {"model": Problem, "description": "The writer's volume has no room for a copy"},
    },
)
def get_checkpoint(
    service: ServiceGiven,
    above: Annotated[
        int, Query(ge=-1, lt=1 << 62, description="The copy must be newer, where there is newer")
    ] = -1,
) -> Response:
    """Give a copy of the whole store; parts of it by `Range` with `If-Range`."""
    origin = _origin(service)
    checkpoint = _told(lambda: origin.checkpoint(above))
    if checkpoint is None:
        return Response(status_code=202, headers={"Retry-After": str(_AGAIN_SECONDS)})
    return FileResponse(
        checkpoint.path,
        media_type=MEDIA_TYPE,
        headers={
            "ETag": f'"{checkpoint.digest.hex()}"',
            **_headers(checkpoint.digest, checkpoint.mark.generation),
        },
    )


def _origin(service: ServiceGiven) -> Origin:
    if service.origin is None:
        raise ProblemError(
            404, "no_replication", "This service gives its store to nobody: it has no API key."
        )
    return service.origin


def _told(ask: Callable[[], _T]) -> _T:
    try:
        return ask()
    except CheckpointNeededError as error:
        raise ProblemError(409, "checkpoint_needed", str(error)) from error
    except NoRoomError as error:
        raise ProblemError(507, "no_room", str(error)) from error
    except StoreError as error:
        raise ProblemError(503, "store_error", str(error), {"Retry-After": "5"}) from error


def _headers(digest: bytes, generation: int) -> dict[str, str]:
    return {
        GENERATION: str(generation),
        DIGEST: f"sha-256=:{base64.b64encode(digest).decode()}:",  # RFC 9530
        "Cache-Control": "no-store",
    }


class _BodyResponse(StreamingResponse):
    """Sends a file of changes and closes it, even where the client is gone before it begins."""

    def __init__(self, body: Body) -> None:
        super().__init__(
            iter(lambda: body.file.read(_PIECE), b""),
            media_type=MEDIA_TYPE,
            headers={"Content-Length": str(body.size), **_headers(body.digest, body.generation)},
        )
        self._file = body.file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one response."""
        with self._file:
            await super().__call__(scope, receive, send)
