"""What the routes that read have in common: the service, a pinned view, and entity tags."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Request, Response

from index.snapshot import Head
from index.view import View
from query.service.problems import Problem
from query.service.service import Service

PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": description}
    for status, description in {
        401: "An API key is needed",
        404: "There is no such thing",
        422: "The request cannot be; `errors` and `detail` say why",
        429: "Too many requests; `Retry-After` says when",
        503: "The snapshot was retired; ask again",
    }.items()
}
"""The problems that every route below ``/v1`` may answer with."""

TAGGED: dict[int | str, dict[str, Any]] = {
    **PROBLEMS,
    304: {"description": "Nothing has changed since the response of that entity tag"},
}
"""The same with the answer to ``If-None-Match``, for routes that read a generation."""


class NotModified(Exception):  # noqa: N818  an answer, not an error
    """What the client has is what the generation would give."""

    def __init__(self, tag: str) -> None:
        super().__init__(tag)
        self.tag = tag


# What routes are given is worked out by coroutines: the framework hands a plain function to a
# thread, and each such turn may have to wait for the interpreter while the store is written.


async def _service_of(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


ServiceGiven = Annotated[Service, Depends(_service_of)]
"""The service of the application, as a parameter of a route."""


class Reader:
    """Pins views for one request and tags its response by generation.

    The tag also names the moment of its commit and the start of the process: another store, also
    one that takes the place of this one, may count the same generations.
    """

    def __init__(self, request: Request, response: Response, service: Service) -> None:
        self._request = request
        self._response = response
        self._service = service

    @contextmanager
    def pinned(self, *, tagged: bool = True) -> Iterator[View]:
        """A view of the newest generation; ``tagged`` where nothing but it makes the response.

        Raises:
            NotModified: the client named the tag of the newest generation.
        """
        if tagged:
            self._unless_known(self._service.source.latest().head)
        with self._service.source.pin() as view:
            if tagged:
                self._response.headers["ETag"] = self._tag(view.snapshot.head)
            self._response.headers["Cache-Control"] = "private, no-cache"
            yield view

    def _unless_known(self, head: Head) -> None:
        tag = self._tag(head)
        known = self._request.headers.get("if-none-match", "")
        if tag in {part.strip() for part in known.split(",")}:
            raise NotModified(tag)

    def _tag(self, head: Head) -> str:
        boot = self._request.app.state.boot
        return f'W/"{head.generation}-{head.committed_at:x}-{boot}"'


async def _reader_of(request: Request, response: Response, service: ServiceGiven) -> Reader:
    return Reader(request, response, service)


ReaderGiven = Annotated[Reader, Depends(_reader_of)]
"""A reader for the request, as a parameter of a route."""


def install(app: FastAPI) -> None:
    """Answer ``NotModified`` with 304."""
    app.add_exception_handler(NotModified, _not_modified)


async def _not_modified(request: Request, error: Exception) -> Response:
    del request
    tag = error.tag if isinstance(error, NotModified) else ""
    return Response(status_code=304, headers={"ETag": tag, "Cache-Control": "private, no-cache"})
