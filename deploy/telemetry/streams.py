"""Streams beside the main one: feeds, dead letters, analyses of other hosts."""

from deploy.telemetry.sink import Sink, Takes
from stream.analyses_source import AnalysesReport
from stream.extract import ExtractReport
from stream.feeds.poll import PollReport
from stream.outbox import OutboxReport


def _poll(sink: Sink, report: PollReport) -> None:
    sink.metrics.feed_polls.labels(report.outcome).inc()
    sink.metrics.feed_entries.labels("new").inc(report.new)
    sink.metrics.feed_entries.labels("changed").inc(report.changed)
    sink.metrics.feed_poll.observe(report.seconds)
    write = sink.journal.warning if report.outcome == "failed" else sink.journal.info
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


def _outbox(sink: Sink, report: OutboxReport) -> None:
    counted = sink.metrics.outbox
    counted.labels("whole").inc(report.published - report.without_value)
    counted.labels("without_value").inc(report.without_value)
    counted.labels("lost").inc(report.lost)
    if report.problem:
        sink.metrics.outbox_failures.inc()
        sink.journal.warning("dead letters wait", problem=report.problem)
        return
    sink.journal.info(
        "dead letters",
        published=report.published,
        without_value=report.without_value,
        lost=report.lost,
    )


def _analyses(sink: Sink, report: AnalysesReport) -> None:
    sink.metrics.analyses_held.set(len(report.held))
    sink.metrics.analyses_unreadable.inc(report.unreadable)
    for (topic, partition), why in report.held.items():
        sink.journal.warning("analyses held", topic=topic, partition=partition, why=why)
    if report.unreadable:
        sink.journal.warning("analyses unreadable", records=report.unreadable)
    if not report.held:
        sink.journal.info("analyses go on")


def _extracted(sink: Sink, report: ExtractReport) -> None:
    metrics = sink.metrics
    metrics.extracted.labels("analyzed").inc(report.documents)
    metrics.extracted.labels("rejected").inc(report.rejected)
    others = report.records - report.documents - report.rejected
    metrics.extracted.labels("no_document").inc(max(0, others))
    metrics.extract.labels("waited").observe(report.waited)
    metrics.extract.labels("published").observe(report.published)
    sink.journal.info(
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


TAKES: Takes = {
    PollReport: _poll,
    OutboxReport: _outbox,
    AnalysesReport: _analyses,
    ExtractReport: _extracted,
}
