"""The application: routes, edge and errors put together."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI

from query.service import (
    ask,
    documents,
    lineage,
    news,
    operations,
    problems,
    reading,
    replication,
    standing,
    trends,
)
from query.service.edge import Edge
from query.service.page import page_router
from query.service.searches import Searches
from query.service.service import Service

DESCRIPTION = """\
Questions to a LazyGraphRAG index that is kept live over a stream of documents, and all that it
holds. Times are ISO 8601 in UTC, ids are strings, errors are `application/problem+json`. Send
`X-Request-Id` to name a request; every response carries one. `GET`s carry an entity tag of the
generation that they stand for. Within `/v1` fields are only added.
"""


def create_app(service: Service) -> FastAPI:
    """The application over a service; its searches end with its lifespan."""
    app = application()
    app.state.service = service
    app.state.searches = Searches(service)
    app.state.standing_streams = standing.Streams()
    app.state.boot = f"{service.clock():x}"
    app.include_router(page_router())
    app.add_middleware(Edge, service=service)
    return app


def application() -> FastAPI:
    """The routes alone, without a service to answer them: what the schema is made from."""
    app = FastAPI(
        title="Tidegraph",
        version=version("tidegraph"),
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=_lifespan,
    )
    for module in (ask, documents, lineage, news, trends, standing, replication, operations):
        app.include_router(module.router)
    problems.install(app)
    reading.install(app)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    yield
    app.state.searches.close()
