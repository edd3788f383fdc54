"""The service: requests, searches, what models cost, questions that stay."""

from deploy.telemetry.sink import Sink, Takes
from query.model.spending import Spent
from query.service.problems import as_problem_error
from query.service.service import RequestReport, SearchReport
from query.standing.delivery import DeliveryReport
from query.standing.runner import AskedReport

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
"""Methods that are label values; a client may send any word."""

PROBES = frozenset({"/healthz", "/readyz", "/metrics", "/v1/replication/generations"})
"""Routes that are asked all the time, by probes and followers; their lines are for debugging."""

SERVER_ERROR = 500


def _request(sink: Sink, report: RequestReport) -> None:
    method = report.method if report.method in METHODS else "other"
    sink.metrics.requests.labels(method, report.route, str(report.status)).inc()
    sink.metrics.request.labels(report.route).observe(report.seconds)
    if report.error is not None:
        sink.failed("request", report.error)
    write = sink.journal.debug if report.route in PROBES else sink.journal.info
    if report.status >= SERVER_ERROR:
        write = sink.journal.error
    write(
        "request",
        request=report.request_id,
        method=method,
        route=report.route,
        status=report.status,
        seconds=round(report.seconds, 4),
    )


def _search(sink: Sink, report: SearchReport) -> None:
    metrics = sink.metrics
    metrics.searches.labels(report.mode, report.outcome, report.stopped).inc()
    metrics.search.labels(report.mode).observe(report.seconds)
    for stage, seconds in report.stages.items():
        metrics.search_stage.labels(stage).observe(seconds)
    if report.first_event_seconds is not None:
        metrics.first_event.observe(report.first_event_seconds)
    metrics.relevance_tests.labels(report.assessor).inc(report.tests)
    if report.error is not None and as_problem_error(report.error) is None:
        sink.failed("search", report.error)
    sink.journal.info(
        "search",
        request=report.request_id,
        mode=report.mode,
        assessor=report.assessor,
        budget=report.budget,
        tests=report.tests,
        outcome=report.outcome,
        stopped=report.stopped,
        generation=report.generation,
        seconds=round(report.seconds, 4),
    )


def _spent(sink: Sink, call: Spent) -> None:
    """Count a call to a model; a call without a known price adds no money, and is told."""
    metrics, role, cost = sink.metrics, call.role.value, call.cost
    metrics.model_calls.labels(role, "known" if cost.money is not None else "unknown").inc()
    metrics.model_tokens.labels(role, "prompt").inc(cost.prompt_tokens)
    metrics.model_tokens.labels(role, "reply").inc(cost.completion_tokens)
    metrics.model_money.labels(role).inc(cost.money or 0.0)


def _asked(sink: Sink, report: AskedReport) -> None:
    outcome = "failed" if report.problem else "updated" if report.number else "unchanged"
    sink.metrics.standing_asked.labels(outcome).inc()
    sink.metrics.standing_tests.inc(report.tests)
    write = sink.journal.warning if report.problem else sink.journal.info
    write(
        "standing question",
        id=report.id,
        generation=report.generation,
        update=report.number or None,
        outcome=report.outcome or None,
        tests=report.tests,
        remembered=report.remembered,
        untested=report.untested,
        added=report.added,
        withdrawn=report.withdrawn,
        reworded=report.reworded,
        problem=report.problem or None,
    )


def _delivered(sink: Sink, report: DeliveryReport) -> None:
    failed = "given_up" if report.given_up else "deferred"
    outcome = failed if report.problem else "delivered"
    sink.metrics.standing_deliveries.labels(report.channel, outcome).inc()
    write = sink.journal.warning if report.problem else sink.journal.info
    write(
        "update delivered" if not report.problem else "update not delivered",
        id=report.id,
        update=report.number,
        channel=report.channel,
        attempt=report.attempt,
        given_up=report.given_up or None,
        problem=report.problem or None,
    )


TAKES: Takes = {
    RequestReport: _request,
    SearchReport: _search,
    Spent: _spent,
    AskedReport: _asked,
    DeliveryReport: _delivered,
}
