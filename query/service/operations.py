"""Status, health and metrics: for people, for probes, for Prometheus."""

from typing import Any

from fastapi import Response
from starlette.responses import PlainTextResponse

from query.service.models_status import StatusModel
from query.service.problems import ProblemError
from query.service.reading import PROBLEMS, ServiceGiven
from query.service.routing import Router

router = Router(tags=["operations"])

_EXPOSITION = "text/plain; version=0.0.4; charset=utf-8"
_TEXT: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
}


@router.get("/v1/status", responses={status: PROBLEMS[status] for status in (401, 429)})
def get_status(service: ServiceGiven, response: Response) -> StatusModel:
    """Tell what the index holds and how the stream that feeds it is doing."""
    response.headers["Cache-Control"] = "no-store"
    return StatusModel.model_validate(service.status())


@router.get("/healthz", response_class=PlainTextResponse, responses=_TEXT)
async def healthz() -> str:
    """Tell that the process is alive."""
    return "alive\n"


@router.get("/readyz", response_class=PlainTextResponse, responses={**_TEXT, 503: PROBLEMS[503]})
def readyz(service: ServiceGiven) -> str:
    """Tell whether a snapshot is loaded; lag is told and never fails it."""
    try:
        generation = service.source.latest().generation
    except Exception as error:
        raise ProblemError(503, "not_ready", "No snapshot is loaded yet.") from error
    report = service.status()
    lag = "unknown" if report.lag is None else str(report.lag)
    return f"ready: generation {generation}, lag {lag}\n"


@router.get("/metrics", response_class=PlainTextResponse, responses=_TEXT)
def metrics(service: ServiceGiven) -> Response:
    """Give the metrics as Prometheus reads them."""
    return Response(service.metrics(), media_type=_EXPOSITION)
