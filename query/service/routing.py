"""A router whose plain functions take one turn of a thread for each request."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool


class Router(APIRouter):
    """Routes plain functions to threads.

    The framework does so itself, and then takes a second turn to look at what came of it; while
    the store is written each turn may have to wait for the interpreter.
    """

    def add_api_route(self, path: str, endpoint: Callable[..., Any], **settings: Any) -> None:
        """See ``APIRouter.add_api_route``."""
        super().add_api_route(path, _in_thread(endpoint), **settings)


def _in_thread(endpoint: Callable[..., Any]) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(endpoint):
        return endpoint

    @functools.wraps(endpoint)
    async def turned(**given: Any) -> Any:
        return await run_in_threadpool(endpoint, **given)

    return turned
