"""From one frozen report to its metrics and its line of log."""

from collections.abc import Callable, Mapping
from typing import Any

from deploy.assembly.replica import StepFailure
from deploy.telemetry.logs import logger
from deploy.telemetry.metrics import Metrics
from index.errors import EmbedderAwayError
from index.replica.replica import Step
from index.report import GenerationReport
from index.store.migrate import MigrationReport
from index.vectors.protocol import FollowFailure, FollowReport
from query.model.spending import Spent
from query.service.service import RequestReport, SearchReport
from query.standing.delivery import DeliveryReport
from query.standing.runner import AskedReport
from stream.analyses_source import AnalysesReport
from stream.consumer import BatchReport
from stream.extract import ExtractReport
from stream.feeds.poll import PollReport
from stream.outbox import OutboxReport

Report = (
    BatchReport
    | GenerationReport
    | RequestReport
    | SearchReport
    | PollReport
    | OutboxReport
    | FollowReport
    | FollowFailure
    | AnalysesReport
    | ExtractReport
    | MigrationReport
)

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
"""Methods that are label values; a client may send any word."""

PROBES = frozenset({"/healthz", "/readyz", "/metrics"})
"""Routes that are asked all the time; their lines are for debugging."""

SERVER_ERROR = 500


class Telemetry:
    """Takes the reports of all shells; may be called from any thread."""

    def __init__(self, metrics: Metrics, log: Any = None) -> None:
        self.metrics = metrics
        self._log = logger() if log is None else log
        self._takes: dict[type[Report], Callable[[Any], None]] = {
            BatchReport: self._batch,
            GenerationReport: self._generation,
            RequestReport: self._request,
            SearchReport: self._search,
            PollReport: self._poll,
            OutboxReport: self._outbox,
            FollowReport: self._followed,
            FollowFailure: self._follow_failed,
            AnalysesReport: self._analyses,
            ExtractReport: self._extracted,
            MigrationReport: self._migrating,
        }

    def observe(self, report: Report) -> None:
        """Count a report and write its line."""
        self._takes[type(report)](report)

    def failed(self, unit: str, error: BaseException) -> None:
        """Count and log work that failed unforeseen; ``unit`` from a closed list."""
        self.metrics.errors.labels(unit).inc()
        self._log.error(f"{unit} failed", error=str(error) or type(error).__name__, exc_info=error)

    def warned(self, unit: str, problem: str) -> None:
        """Count and log what went wrong and is tried again; ``unit`` from a closed list."""
        self.metrics.errors.labels(unit).inc()
        self._log.warning(unit, problem=problem)

    def waits_for_embedder(self, error: EmbedderAwayError, seconds: float) -> None:
        """Count and log that documents wait, and for how long until it is tried again."""
        self.metrics.embedder_waits.inc()
        self._log.warning("documents wait for the embedder", error=str(error), retry_in=seconds)

    def spent(self, call: Spent) -> None:
        """Count a call to a model; a call without a known price adds no money, and is told."""
        metrics, role, cost = self.metrics, call.role.value, call.cost
        metrics.model_calls.labels(role, "known" if cost.money is not None else "unknown").inc()
        metrics.model_tokens.labels(role, "prompt").inc(cost.prompt_tokens)
        metrics.model_tokens.labels(role, "reply").inc(cost.completion_tokens)
        metrics.model_money.labels(role).inc(cost.money or 0.0)

    def _batch(self, report: BatchReport) -> None:
        metrics, generation = self.metrics, report.generation
        for outcome, count in generation.outcomes.items():
            metrics.documents.labels(outcome.value).inc(count)
        for reason, count in generation.rejected.items():
            metrics.dead_letters.labels(reason).inc(count)
        metrics.generations.inc()
        metrics.chunks_added.inc(generation.chunks_added)
        metrics.chunks_retracted.inc(generation.chunks_retracted)
        metrics.expired.inc(generation.expired)
        metrics.pairs_changed.inc(generation.pairs_changed)
        metrics.commit.observe(generation.seconds)
        self._grouped(generation)
        for stage, seconds in (
            ("waited", report.waited),
            ("analyzed", report.analyzed),
            ("committed", report.committed),
        ):
            metrics.batch.labels(stage).observe(seconds)
        self._log.info(
            "generation",
            generation=generation.generation,
            records=report.records,
            bytes=report.bytes,
            **_counts(generation.outcomes),
            rejected_for=dict(generation.rejected) or None,
            chunks_added=generation.chunks_added,
            chunks_retracted=generation.chunks_retracted,
            documents=generation.documents,
            expired=generation.expired or None,
            due=generation.due or None,
            **_work(generation),
            waited=round(report.waited, 4),
            analyzed=round(report.analyzed, 4),
            committed=round(report.committed, 4),
            freshness=round(report.freshness, 3),
            lag=report.lag,
        )

    def _generation(self, report: GenerationReport) -> None:
        (self._drained if report.drained else self._communities)(report)

    def _drained(self, report: GenerationReport) -> None:
        metrics = self.metrics
        metrics.generations.inc()
        metrics.expired.inc(report.expired)
        metrics.chunks_retracted.inc(report.chunks_retracted)
        metrics.pairs_changed.inc(report.pairs_changed)
        metrics.commit.observe(report.seconds)
        self._grouped(report)
        self._log.info(
            "expired",
            generation=report.generation,
            expired=report.expired,
            due=report.due,
            chunks_retracted=report.chunks_retracted,
            documents=report.documents,
            **_work(report),
            seconds=round(report.seconds, 4),
        )

    def _communities(self, report: GenerationReport) -> None:
        self.metrics.generations.inc()
        self.metrics.community_runs.inc()
        self.metrics.commit.observe(report.seconds)
        self._grouped(report)
        self._log.info(
            "communities",
            generation=report.generation,
            **(_work(report) or {"concepts_moved": report.concepts_moved}),
            seconds=round(report.seconds, 4),
        )

    def _grouped(self, report: GenerationReport) -> None:
        """Count what the communities cost and what became of them."""
        metrics, work = self.metrics, report.work
        metrics.concepts_moved.inc(report.concepts_moved)
        metrics.ties_scanned.inc(work.scanned)
        for change, count in _changes(report).items():
            metrics.community_changes.labels(change).inc(count)
        metrics.concepts_waiting.set(work.carried)

    def _search(self, report: SearchReport) -> None:
        metrics = self.metrics
        metrics.searches.labels(report.mode, report.outcome, report.stopped).inc()
        metrics.search.labels(report.mode).observe(report.seconds)
        for stage, seconds in report.stages.items():
            metrics.search_stage.labels(stage).observe(seconds)
        if report.first_event_seconds is not None:
            metrics.first_event.observe(report.first_event_seconds)
        metrics.relevance_tests.labels(report.assessor).inc(report.tests)
        if report.error is not None:
            self.failed("search", report.error)
        self._log.info(
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

    def _poll(self, report: PollReport) -> None:
        self.metrics.feed_polls.labels(report.outcome).inc()
        self.metrics.feed_entries.labels("new").inc(report.new)
        self.metrics.feed_entries.labels("changed").inc(report.changed)
        self.metrics.feed_poll.observe(report.seconds)
        write = self._log.warning if report.outcome == "failed" else self._log.info
        write(
            "feed",
            url=report.url,
            outcome=report.outcome,
            backfill=report.backfill,
            found=report.found,
            new=report.new,
            changed=report.changed,
            repeated=report.repeated,
            undated=report.undated,
            empty=report.empty,
            refused=report.refused,
            problem=report.problem or None,
            seconds=round(report.seconds, 4),
        )

    def standing(self, report: AskedReport | DeliveryReport) -> None:
        """Count and log what became of a standing question or of one of its updates."""
        if isinstance(report, AskedReport):
            self._asked(report)
        else:
            self._delivered(report)

    def _asked(self, report: AskedReport) -> None:
        outcome = "failed" if report.problem else "updated" if report.number else "unchanged"
        self.metrics.standing_asked.labels(outcome).inc()
        self.metrics.standing_tests.inc(report.tests)
        write = self._log.warning if report.problem else self._log.info
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

    def _delivered(self, report: DeliveryReport) -> None:
        failed = "given_up" if report.given_up else "deferred"
        outcome = failed if report.problem else "delivered"
        self.metrics.standing_deliveries.labels(report.channel, outcome).inc()
        write = self._log.warning if report.problem else self._log.info
        write(
            "update delivered" if not report.problem else "update not delivered",
            id=report.id,
            update=report.number,
            channel=report.channel,
            attempt=report.attempt,
            given_up=report.given_up or None,
            problem=report.problem or None,
        )

    def _outbox(self, report: OutboxReport) -> None:
        outbox = self.metrics.outbox
        outbox.labels("whole").inc(report.published - report.without_value)
        outbox.labels("without_value").inc(report.without_value)
        outbox.labels("lost").inc(report.lost)
        if report.problem:
            self.metrics.outbox_failures.inc()
            self._log.warning("dead letters wait", problem=report.problem)
            return
        self._log.info(
            "dead letters",
            published=report.published,
            without_value=report.without_value,
            lost=report.lost,
        )

    def _followed(self, report: FollowReport) -> None:
        self.metrics.vector_points.labels("upserted").inc(report.upserted)
        self.metrics.vector_points.labels("deleted").inc(report.deleted)
        write = self._log.info if report.done or report.reset else self._log.debug
        write(
            "vectors",
            index=report.index,
            generation=report.generation,
            behind=report.behind,
            points=report.points,
            upserted=report.upserted,
            deleted=report.deleted,
            made_anew=report.reset or None,
            seconds=round(report.seconds, 4),
        )

    def _follow_failed(self, report: FollowFailure) -> None:
        self.metrics.vector_failures.inc()
        self._log.warning(
            "vectors", index=report.index, problem=report.problem, again_in=report.wait
        )

    def stepped(self, report: Step | StepFailure) -> None:
        """Count and log a step of a follower on another host."""
        if isinstance(report, StepFailure):
            self.metrics.follower_steps.labels("failed").inc()
            self._log.warning("does not follow", problem=report.problem, again_in=report.wait)
            return
        self.metrics.follower_steps.labels(report.kind).inc()
        self.metrics.follower_bytes.labels(report.kind).inc(report.bytes)
        self._log.info(
            "followed",
            kind=report.kind,
            generation=report.generation,
            bytes=report.bytes,
            seconds=round(report.seconds, 4),
            why=report.why or None,
        )

    def _analyses(self, report: AnalysesReport) -> None:
        self.metrics.analyses_held.set(len(report.held))
        self.metrics.analyses_unreadable.inc(report.unreadable)
        for (topic, partition), why in report.held.items():
            self._log.warning("analyses held", topic=topic, partition=partition, why=why)
        if report.unreadable:
            self._log.warning("analyses unreadable", records=report.unreadable)
        if not report.held:
            self._log.info("analyses go on")

    def _extracted(self, report: ExtractReport) -> None:
        metrics = self.metrics
        metrics.extracted.labels("analyzed").inc(report.documents)
        metrics.extracted.labels("rejected").inc(report.rejected)
        others = report.records - report.documents - report.rejected
        metrics.extracted.labels("no_document").inc(max(0, others))
        metrics.extract.labels("waited").observe(report.waited)
        metrics.extract.labels("published").observe(report.published)
        self._log.info(
            "extracted",
            records=report.records,
            documents=report.documents,
            rejected=report.rejected or None,
            bytes=report.bytes,
            published_bytes=report.published_bytes,
            left_out=report.left_out or None,
            dropped=report.dropped or None,
            committed=report.committed,
            partitions=report.partitions,
            waited=round(report.waited, 4),
            published=round(report.published, 4),
            freshness=round(report.freshness, 3),
            lag=report.lag,
        )

    def _migrating(self, report: MigrationReport) -> None:
        # A warning, so that a bounded run shows it too.
        self._log.warning(
            "the store changes its schema",
            store=str(report.store),
            schema=report.schema,
            becomes=report.wanted,
            copy=str(report.copy),
            bytes=report.bytes,
        )

    def _request(self, report: RequestReport) -> None:
        method = report.method if report.method in METHODS else "other"
        self.metrics.requests.labels(method, report.route, str(report.status)).inc()
        self.metrics.request.labels(report.route).observe(report.seconds)
        if report.error is not None:
            self.failed("request", report.error)
        write = self._log.debug if report.route in PROBES else self._log.info
        if report.status >= SERVER_ERROR:
            write = self._log.error
        write(
            "request",
            request=report.request_id,
            method=method,
            route=report.route,
            status=report.status,
            seconds=round(report.seconds, 4),
        )


def _counts(outcomes: Mapping[Any, int]) -> dict[str, int]:
    return {outcome.value: count for outcome, count in outcomes.items() if count}


def _changes(report: GenerationReport) -> dict[str, int]:
    work = report.work
    return {"cut": work.cut, "split": work.split, "merged": work.merged_back}


def _work(report: GenerationReport) -> dict[str, int]:
    """What the communities did, for a line of log; nothing where they stood still."""
    if not report.work.scanned:
        return {}
    return {
        "concepts_moved": report.concepts_moved,
        "ties_scanned": report.work.scanned,
        "moves": report.work.moves,
        **_changes(report),
        "carried": report.work.carried,
    }
