"""Generations: what a batch brought, what expired, what the communities did."""

from collections.abc import Mapping
from typing import Any

from deploy.telemetry.sink import Sink, Takes
from index.checkpoint import CheckpointReport, Outcome
from index.report import GenerationReport
from index.store.migrate import MigrationReport
from stream.consumer import BatchReport


def _batch(sink: Sink, report: BatchReport) -> None:
    metrics, generation = sink.metrics, report.generation
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
    _grouped(sink, generation)
    for stage, seconds in (
        ("waited", report.waited),
        ("analyzed", report.analyzed),
        ("committed", report.committed),
    ):
        metrics.batch.labels(stage).observe(seconds)
    sink.journal.info(
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


def _generation(sink: Sink, report: GenerationReport) -> None:
    (_drained if report.drained else _communities)(sink, report)


def _drained(sink: Sink, report: GenerationReport) -> None:
    metrics = sink.metrics
    metrics.generations.inc()
    metrics.expired.inc(report.expired)
    metrics.chunks_retracted.inc(report.chunks_retracted)
    metrics.pairs_changed.inc(report.pairs_changed)
    metrics.commit.observe(report.seconds)
    _grouped(sink, report)
    sink.journal.info(
        "expired",
        generation=report.generation,
        expired=report.expired,
        due=report.due,
        chunks_retracted=report.chunks_retracted,
        documents=report.documents,
        **_work(report),
        seconds=round(report.seconds, 4),
    )


def _communities(sink: Sink, report: GenerationReport) -> None:
    sink.metrics.generations.inc()
    sink.metrics.community_runs.inc()
    sink.metrics.commit.observe(report.seconds)
    _grouped(sink, report)
    sink.journal.info(
        "communities",
        generation=report.generation,
        **(_work(report) or {"concepts_moved": report.concepts_moved}),
        seconds=round(report.seconds, 4),
    )


def _migrating(sink: Sink, report: MigrationReport) -> None:
    # A warning, so that a bounded run shows it too.
    sink.journal.warning(
        "the store changes its schema",
        store=str(report.store),
        schema=report.schema,
        becomes=report.wanted,
        copy=str(report.copy),
        bytes=report.bytes,
    )


_CHECKPOINTS = {
    Outcome.WRITTEN: "checkpoint written",
    Outcome.RESUMED: "the graph was read from its checkpoint",
    Outcome.UNUSABLE: "the checkpoint of the graph is of no use; it is counted from the chunks",
    Outcome.FAILED: "the checkpoint of the graph was not written; the next start takes longer",
}


def _checkpoint(sink: Sink, report: CheckpointReport) -> None:
    well = report.outcome in (Outcome.WRITTEN, Outcome.RESUMED)
    (sink.journal.info if well else sink.journal.warning)(
        _CHECKPOINTS[report.outcome],
        file=str(report.path),
        generation=report.generation,
        why=report.detail or None,
        bytes=report.bytes or None,
        seconds=round(report.seconds, 3),
    )


def _grouped(sink: Sink, report: GenerationReport) -> None:
    """Count what the communities cost and what became of them."""
    metrics, work = sink.metrics, report.work
    metrics.concepts_moved.inc(report.concepts_moved)
    metrics.ties_scanned.inc(work.scanned)
    for change, count in _changes(report).items():
        metrics.community_changes.labels(change).inc(count)
    metrics.concepts_waiting.set(work.carried)


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


TAKES: Takes = {
    BatchReport: _batch,
    CheckpointReport: _checkpoint,
    GenerationReport: _generation,
    MigrationReport: _migrating,
}
