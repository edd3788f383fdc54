"""Telemetry: one report, its metrics and its one line."""

import io
import json
import logging
from dataclasses import replace
from typing import Any

import pytest
import structlog

from deploy.telemetry import logs
from deploy.telemetry.answers import PROBES
from deploy.telemetry.metrics import Metrics
from deploy.telemetry.observe import Telemetry
from index.admission import DocumentOutcome
from index.communities.dynamic import Work
from index.report import GenerationReport
from index.types import Millis
from query.errors import BadBudgetError, PayerCeilingError
from query.service.service import RequestReport, SearchReport
from query.service.status import Operations, StatusReport
from stream.consumer import BatchReport

GENERATION = GenerationReport(
    generation=7,
    outcomes={DocumentOutcome.INSERTED: 3, DocumentOutcome.REJECTED: 1},
    rejected={"not_json": 1},
    chunks_added=5,
    chunks_retracted=2,
    documents=30,
    seconds=0.02,
)
BATCH = BatchReport(
    generation=GENERATION,
    records=4,
    bytes=400,
    waited=0.1,
    analyzed=0.2,
    committed=0.02,
    freshness=0.3,
    lag=9,
)
SEARCH = SearchReport(
    request_id="r1",
    mode="lazy",
    assessor="offline",
    budget=100,
    outcome="answered",
    stopped="budget_spent",
    tests=100,
    generation=7,
    seconds=0.05,
    first_event_seconds=0.01,
    stages={"rank": 0.02},
)


@pytest.fixture
def lines() -> io.StringIO:
    """What is logged, as JSON."""
    stream = io.StringIO()
    logs.configure("json", "info", stream)
    return stream


def told(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(f"tidegraph_{name}", labels)


def test_a_batch_is_one_line_and_its_counts(lines: io.StringIO) -> None:
    metrics = Metrics()
    Telemetry(metrics).observe(BATCH)
    (line,) = told(lines)
    assert line["event"] == "generation"
    assert line["level"] == "info"
    assert (line["generation"], line["inserted"], line["lag"]) == (7, 3, 9)
    assert line["rejected_for"] == {"not_json": 1}
    assert value(metrics, "documents_total", outcome="inserted") == 3
    assert value(metrics, "dead_letters_total", reason="not_json") == 1
    assert value(metrics, "chunks_added_total") == 5
    assert value(metrics, "chunks_retracted_total") == 2
    assert value(metrics, "batch_seconds_sum", stage="analyzed") == pytest.approx(0.2)


def test_an_adoption_of_communities_is_counted_apart_from_batches(lines: io.StringIO) -> None:
    metrics = Metrics()
    Telemetry(metrics).observe(GenerationReport(generation=8, concepts_moved=12, seconds=0.5))
    assert told(lines)[0]["event"] == "communities"
    assert value(metrics, "concepts_moved_total") == 12
    assert value(metrics, "documents_total", outcome="inserted") is None


def test_an_expiry_of_its_own_is_counted_apart_from_runs(lines: io.StringIO) -> None:
    metrics = Metrics()
    report = GenerationReport(generation=8, expired=5, due=2, chunks_retracted=9, drained=True)
    Telemetry(metrics).observe(report)
    [line] = told(lines)
    assert (line["event"], line["expired"], line["due"]) == ("expired", 5, 2)
    assert value(metrics, "documents_expired_total") == 5
    assert value(metrics, "community_runs_total") == 0


def test_what_the_communities_cost_stands_in_the_line_of_a_batch(lines: io.StringIO) -> None:
    metrics = Metrics()
    work = Work(ties_changed=9, scanned=400, moves=7, cut=1, split=2, merged_back=3, carried=4)
    generation = replace(BATCH.generation, work=work, concepts_moved=5)
    Telemetry(metrics).observe(replace(BATCH, generation=generation))
    line = told(lines)[0]
    kept = ("concepts_moved", "ties_scanned", "moves", "cut", "split", "merged", "carried")
    assert [line[name] for name in kept] == [5, 400, 7, 1, 2, 3, 4]
    assert value(metrics, "community_ties_scanned_total") == 400
    assert value(metrics, "community_changes_total", change="split") == 2
    assert value(metrics, "concepts_waiting") == 4


@pytest.mark.parametrize(
    ("error", "failures"),
    [
        (BadBudgetError("0 is no budget"), None),
        (PayerCeilingError("spent for today"), None),
        (RuntimeError("broken"), 1),
    ],
)
def test_a_refused_question_is_no_failure_of_the_service(
    lines: io.StringIO, error: Exception, failures: float | None
) -> None:
    metrics = Metrics()
    Telemetry(metrics).observe(replace(SEARCH, outcome="", stopped="", error=error))
    assert value(metrics, "errors_total", unit="search") == failures
    assert [line["event"] for line in told(lines)] == ["search failed"] * bool(failures) + [
        "search"
    ]


def test_a_search_is_counted_by_how_it_ended(lines: io.StringIO) -> None:
    metrics = Metrics()
    Telemetry(metrics).observe(SEARCH)
    assert told(lines)[0]["tests"] == 100
    labels = {"mode": "lazy", "outcome": "answered", "stopped": "budget_spent"}
    assert value(metrics, "searches_total", **labels) == 1
    assert value(metrics, "relevance_tests_total", assessor="offline") == 100
    assert value(metrics, "search_stage_seconds_count", stage="rank") == 1


@pytest.mark.parametrize("route", sorted(PROBES))
def test_what_is_asked_all_the_time_is_counted_but_not_logged(
    route: str, lines: io.StringIO
) -> None:
    metrics = Metrics()
    Telemetry(metrics).observe(RequestReport("r", "GET", route, 200, 0.001))
    assert told(lines) == []
    labels = {"method": "GET", "route": route, "status": "200"}
    assert value(metrics, "requests_total", **labels) == 1


def test_a_method_that_a_client_made_up_is_no_label(lines: io.StringIO) -> None:
    metrics = Metrics()
    Telemetry(metrics).observe(RequestReport("r", "PWN", "/v1/search", 405, 0.001))
    labels = {"method": "other", "route": "/v1/search", "status": "405"}
    assert value(metrics, "requests_total", **labels) == 1


def test_an_error_that_nobody_foresaw_is_logged_with_its_trace(lines: io.StringIO) -> None:
    metrics = Metrics()
    report = RequestReport("r", "GET", "/v1/new", 500, 0.001, error=ValueError("broken"))
    Telemetry(metrics).observe(report)
    failed, request = told(lines)
    assert failed["event"] == "request failed"
    assert "ValueError: broken" in failed["exception"]
    assert request["level"] == "error"
    assert value(metrics, "errors_total", unit="request") == 1


def status(**changes: Any) -> StatusReport:
    given: dict[str, Any] = {
        "generation": 7,
        "documents": 30,
        "chunks": 50,
        "concepts": 400,
        "edges": 900,
        "communities": {0: 3, 1: 9},
        "modularity": {0: 0.5, 1: 0.4},
        "positions": {("news", 0): 31},
        "lag": 4,
        "freshness_seconds": 0.5,
        "committed_at": Millis(2000),
        "operations": Operations(queue_depth=2),
    }
    return StatusReport(**{**given, **changes})


def test_what_stands_is_exported_at_each_scrape() -> None:
    metrics = Metrics()
    current = [status()]
    metrics.follow(lambda: current[0])
    assert value(metrics, "indexed_documents") == 30
    assert value(metrics, "communities", level="1") == 9
    assert value(metrics, "position_offset", topic="news", partition="0") == 31
    assert value(metrics, "committed_timestamp_seconds") == 2.0
    current[0] = status(documents=31)
    assert value(metrics, "indexed_documents") == 31


def test_what_is_not_known_is_absent_and_not_zero() -> None:
    metrics = Metrics()
    metrics.follow(lambda: status(lag=None, freshness_seconds=None))
    assert value(metrics, "consumer_lag_records") is None
    assert value(metrics, "freshness_seconds") is None
    assert "tidegraph_consumer_lag_records" in metrics.names()


def test_every_metric_has_prefix_base_unit_and_help() -> None:
    metrics = Metrics()
    metrics.follow(status)
    for family in metrics.registry.collect():
        if family.name.startswith("process_"):
            continue
        assert family.name.startswith("tidegraph_")
        assert family.documentation.endswith(".")
        assert not family.name.endswith(("_ms", "_millis", "_mb", "_kb", "_minutes"))


def test_the_exposition_is_text_with_our_names() -> None:
    metrics = Metrics()
    Telemetry(metrics).observe(BATCH)
    text = metrics.exposition().decode()
    assert 'tidegraph_documents_total{outcome="inserted"} 3.0' in text


def test_a_level_hides_what_is_below_it(lines: io.StringIO) -> None:
    logs.configure("json", "warning", lines)
    logs.logger().info("hidden")
    logs.logger().warning("shown")
    assert [line["event"] for line in told(lines)] == ["shown"]


def test_libraries_log_in_the_same_form_from_warning_on(lines: io.StringIO) -> None:
    logging.getLogger("some.library").info("chatter")
    logging.getLogger("some.library").warning("trouble")
    (line,) = told(lines)
    assert (line["event"], line["logger"]) == ("trouble", "some.library")


def test_lone_surrogates_in_a_line_do_no_harm(lines: io.StringIO) -> None:
    logs.logger().info("said", title="\ud800")
    assert told(lines)[0]["title"] == "\ud800"


def test_the_console_form_is_for_people() -> None:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    stream = io.StringIO()
    try:
        logs.configure("console", "info", stream)
        logs.logger().info("generation", records=3)
    finally:
        structlog.reset_defaults()
        root.handlers[:] = handlers
        root.setLevel(level)
    assert "generation" in stream.getvalue()
    assert "records=3" in stream.getvalue()


def test_what_a_library_says_again_and_again_is_logged_once_a_minute():
    now = [0.0]
    seldom = logs.Seldom(60.0, lambda: now[0])

    def said(message, *values):
        record = logging.LogRecord("kafka.net", logging.ERROR, "", 1, message, values, None)
        return record.getMessage() if seldom.filter(record) else None

    assert said("node %d is away for %.1f s", 1, 0.5) == "node 1 is away for 0.5 s"
    now[0] = 30.0
    assert said("node %d is away for %.1f s", 2, 30.5) is None
    assert said("another matter") == "another matter"
    now[0] = 61.0
    assert said("node %d is away for %.1f s", 1, 61.5) == (
        "node 1 is away for 61.5 s (1 more like it before)"
    )
    now[0] = 200.0
    assert said("node %d is away for %.1f s", 1, 200.5) == "node 1 is away for 200.5 s"
