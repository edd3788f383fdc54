"""The whole schema against the real routes: what it promises is what they do.

``TIDEGRAPH_TEST_EXAMPLES`` asks for more requests of each route than the suite makes.
"""

import atexit
import os
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import GenerationMode
from schemathesis.config import GenerationConfig, ProjectConfig, ProjectsConfig, SchemathesisConfig
from schemathesis.specs.openapi import checks

from query.assessor import OfflineAssessor
from query.news import Newsroom
from query.search import Engine
from query.service.app import create_app
from query.service.service import Limits
from query.standing.store import StandingStore
from query.standing.types import StandingSettings
from tests.query.memory import MemorySource
from tests.query.service.fakes import Desk
from tests.query.small import DAY, LANGUAGE, stories

EXAMPLES = int(os.environ.get("TIDEGRAPH_TEST_EXAMPLES", "15"))
RELATIONS = {
    "bad_filter": ("window", "rows"),
    "bad_budget": ("budget",),
    "bad_mode": ("context", "level"),
    "question_too_long": ("characters",),
    "empty_question": ("empty",),
}
"""What a schema cannot say: how two values relate, and the limits that are settings."""


FOLDER = TemporaryDirectory()
STANDING = StandingStore(Path(FOLDER.name), StandingSettings(most=10**6))
atexit.register(FOLDER.cleanup)
atexit.register(STANDING.close)


def service():
    """The real search and newsroom over a small index in memory, without limits on haste."""
    source = MemorySource(stories())
    return replace(
        Desk(limits=Limits(rate=1e9, burst=10**9)).service(),
        engine=Engine(source, LANGUAGE, OfflineAssessor()),
        news=Newsroom(),
        source=source,
        standing=STANDING,
        check_webhook=lambda _: None,
        clock=lambda: 7 * DAY,
    )


def configured():
    generation = GenerationConfig(
        modes=[GenerationMode.POSITIVE, GenerationMode.NEGATIVE], deterministic=True
    )
    project = ProjectConfig(generation=generation)
    return SchemathesisConfig(projects=ProjectsConfig(default=project))


application = create_app(service())


async def app(scope, receive, send):
    """The application but for its lifespan, which would end with each request's client."""
    if scope["type"] == "http":
        await application(scope, receive, send)
        return
    for step in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{step}.complete"})


schema = schemathesis.openapi.from_asgi("/openapi.json", app, config=configured())


def refused_only_for_a_relation(context, response, case):
    """What the schema allows is refused for what a schema cannot say, and for nothing else."""
    if case.meta.generation.mode is GenerationMode.POSITIVE and response.status_code == 422:
        problem = response.json()
        words = RELATIONS.get(problem["type"].rpartition(":")[2], ())
        assert any(word in problem["detail"] for word in words), problem


@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
def test_no_request_breaks_a_route_or_the_schema(case):
    response = case.call()
    case.validate_response(
        response,
        additional_checks=[refused_only_for_a_relation],
        excluded_checks=[checks.positive_data_acceptance],
    )
