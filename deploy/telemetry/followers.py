"""Who follows the store: the vector index, and copies on other hosts."""

from deploy.assembly.replica import StepFailure
from deploy.telemetry.sink import Sink, Takes
from index.replica.replica import Fetching, Step
from index.vectors.protocol import FollowFailure, FollowReport


def _indexed(sink: Sink, report: FollowReport) -> None:
    sink.metrics.vector_points.labels("upserted").inc(report.upserted)
    sink.metrics.vector_points.labels("deleted").inc(report.deleted)
    write = sink.journal.info if report.done or report.reset else sink.journal.debug
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


def _index_failed(sink: Sink, report: FollowFailure) -> None:
    sink.metrics.vector_failures.inc()
    sink.journal.warning(
        "vectors", index=report.index, problem=report.problem, again_in=report.wait
    )


def _stepped(sink: Sink, report: Step) -> None:
    sink.metrics.follower_steps.labels(report.kind).inc()
    sink.metrics.follower_bytes.labels(report.kind).inc(report.bytes)
    sink.journal.info(
        "followed",
        kind=report.kind,
        generation=report.generation,
        bytes=report.bytes,
        seconds=round(report.seconds, 4),
        why=report.why or None,
    )


def _fetching(sink: Sink, report: Fetching) -> None:
    sink.journal.info("fetches the store", bytes=report.bytes, why=report.why)


def _step_failed(sink: Sink, report: StepFailure) -> None:
    sink.metrics.follower_steps.labels("failed").inc()
    sink.journal.warning("does not follow", problem=report.problem, again_in=report.wait)


TAKES: Takes = {
    FollowReport: _indexed,
    FollowFailure: _index_failed,
    Step: _stepped,
    StepFailure: _step_failed,
    Fetching: _fetching,
}
