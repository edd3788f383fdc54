"""Reads of the command line: from the running service, else from the store by the same routes.

Without a service the same application answers in this process over a follower of the store, so
that there is one code path and one form of every answer.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from deploy import service_file
from deploy.errors import ServiceError, UsageError
from deploy.settings import Settings
from index.store.connection import open_readonly, store_path

NOT_FOUND = 404
UNAUTHORISED = 401
UNPROCESSABLE = 422
FIRST_ERROR = 400

Follow = Callable[[Settings], AbstractContextManager[Any]]
"""Gives the FastAPI application over the store."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The JSON of an answer, and who gave it."""

    body: Any
    where: str


class Reads:
    """Asks one service; made by ``reading``."""

    def __init__(self, client: httpx.AsyncClient, where: str) -> None:
        self._client = client
        self.where = where

    async def get(self, path: str, params: Mapping[str, Any] | None = None) -> Any:
        """The JSON at a path. Raises ``ServiceError``, or ``UsageError`` for what cannot be."""
        given = {key: value for key, value in (params or {}).items() if value is not None}
        return await self._asked("GET", path, params=given)

    async def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """The JSON that a body is answered with; errors as ``get``."""
        return await self._asked("POST", path, json=body)

    async def send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """The JSON, None where there is none, of another request; errors as ``get``."""
        return await self._asked(method, path, json=body)

    async def _asked(self, method: str, path: str, **request: Any) -> Any:
        try:
            response = await self._client.request(method, path, **request)
        except httpx.HTTPError as error:
            reason = str(error) or type(error).__name__
            raise ServiceError(f"{self.where} did not answer: {reason}") from error
        if response.status_code < FIRST_ERROR:
            return response.json() if response.content else None
        raise _refused(response, self.where)


def _refused(response: httpx.Response, where: str) -> Exception:
    try:
        detail = str(response.json()["detail"])
    except (ValueError, KeyError, TypeError):
        detail = f"{where} answered {response.status_code} {response.reason_phrase}"
    if response.status_code == UNAUTHORISED:
        detail += " Set TIDEGRAPH_API_KEYS (or api_keys in the settings file) to a key."
    kind = UsageError if response.status_code in {NOT_FOUND, UNPROCESSABLE} else ServiceError
    return kind(detail)


def _store(settings: Settings) -> AbstractContextManager[Any]:
    """The store itself, for everything but questions."""
    return _following(settings, questions=False)


def _asked_store(settings: Settings) -> AbstractContextManager[Any]:
    """The store itself, for questions too; loads the language models."""
    return _following(settings, questions=True)


def _following(settings: Settings, *, questions: bool) -> AbstractContextManager[Any]:
    open_readonly(store_path(settings.data)).close()  # before what is slow to import
    from deploy.assembly.serving import following  # noqa: PLC0415

    return following(settings, questions=questions)


@asynccontextmanager
async def reading(settings: Settings, follow: Follow) -> AsyncIterator[Reads]:
    """Reads of a data directory: by the service that holds it, else by the store."""
    record = service_file.find(settings.data)
    if record is not None:
        headers = {}
        if settings.api_keys:
            headers["Authorization"] = f"Bearer {settings.api_keys[0].get_secret_value()}"
        async with httpx.AsyncClient(
            base_url=record.url,
            headers=headers,
            timeout=httpx.Timeout(120, connect=5),
            trust_env=False,  # no proxy may see the key, or is needed for this host
        ) as client:
            yield Reads(client, f"the service at {record.url}")
        return
    with follow(settings) as app:
        transport = httpx.ASGITransport(app=app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client,
        ):
            yield Reads(client, f"the store in {settings.data}")


def read(
    settings: Settings,
    path: str,
    params: Mapping[str, Any] | None = None,
    *,
    follow: Follow = _store,
) -> Reply:
    """One ``get``, from synchronous code."""

    async def asked() -> Reply:
        async with reading(settings, follow) as reads:
            return Reply(await reads.get(path, params), reads.where)

    return asyncio.run(asked())


def ask(settings: Settings, body: Mapping[str, Any], *, follow: Follow = _asked_store) -> Reply:
    """One question, from synchronous code."""

    async def asked() -> Reply:
        async with reading(settings, follow) as reads:
            return Reply(await reads.post("/v1/search", body), reads.where)

    return asyncio.run(asked())


def send(
    settings: Settings,
    method: str,
    path: str,
    body: Mapping[str, Any] | None = None,
    *,
    follow: Follow = _store,
) -> Reply:
    """One request of another method, from synchronous code."""

    async def asked() -> Reply:
        async with reading(settings, follow) as reads:
            return Reply(await reads.send(method, path, body), reads.where)

    return asyncio.run(asked())
