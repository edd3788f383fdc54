"""The page at ``/`` and its files, read once from the package."""

from collections.abc import Mapping
from hashlib import blake2b
from importlib.resources import files

from fastapi import APIRouter, Request
from starlette.responses import Response

_TYPES: Mapping[str, str] = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "svg": "image/svg+xml",
}
OPENAPI = "openapi.json"


def page_files() -> dict[str, bytes]:
    """The files of the page by name."""
    folder = files("query.page")
    return {
        entry.name: entry.read_bytes()
        for entry in folder.iterdir()
        if entry.name.rpartition(".")[2] in _TYPES
    }


def page_router() -> APIRouter:
    """Routes for the page's files and the OpenAPI document; ``/`` is ``index.html``."""
    router = APIRouter(include_in_schema=False)
    for name, content in {**page_files(), OPENAPI: _openapi()}.items():
        _add(router, "/" if name == "index.html" else f"/{name}", name, content)
    return router


def _openapi() -> bytes:
    return files("query.service").joinpath(OPENAPI).read_bytes()


def _add(router: APIRouter, path: str, name: str, content: bytes) -> None:
    headers = {
        "ETag": f'"{blake2b(content, digest_size=12).hexdigest()}"',
        "Cache-Control": "no-cache",
    }
    media_type = _TYPES[name.rpartition(".")[2]]

    async def give(request: Request) -> Response:
        if request.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=media_type, headers=headers)

    router.add_api_route(path, give, methods=["GET", "HEAD"], name=name)
