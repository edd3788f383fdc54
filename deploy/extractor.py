"""The process of an extractor: analyses for a writer elsewhere, until it is stopped."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import start_http_server

from deploy import watching
from deploy.assembly import extracting
from deploy.assembly.streams import check_topics
from deploy.errors import UsageError
from deploy.patience import patiently
from deploy.process import release
from deploy.settings import Settings
from deploy.telemetry.metrics import Metrics
from deploy.telemetry.observe import Telemetry
from stream.extract import ExtractReport


def extract(settings: Settings, stop: threading.Event) -> str:
    """Take part in the group until it is to stop; says what was done.

    Raises:
        UsageError: the settings name no brokers, or a topic or group twice.
        StreamError: a topic is not there, or records are gone that were not read.
    """
    check_topics(settings)
    metrics = Metrics()
    metrics.build.labels(release()).set(1)
    telemetry, done, started = Telemetry(metrics), _Done(), time.monotonic()

    def observe(report: ExtractReport) -> None:
        telemetry.observe(report)
        done.records += report.records
        done.documents += report.documents

    def failed(problem: str) -> None:
        telemetry.warned("extract", problem)

    with (
        _told(settings, metrics),
        extracting.extraction(settings, observe, failed) as extractor,
        watching.watched(settings, extractor.activity, telemetry),
    ):
        metrics.extract_lag.set_function(lambda: extractor.standing().lag)
        metrics.extract_partitions.set_function(lambda: extractor.standing().partitions)
        patiently(lambda: extractor.run(stop), stop, telemetry.waits_for_embedder)
    return (
        f"{done.records:,} records published with {done.documents:,} analyses "
        f"in {time.monotonic() - started:.1f} s"
    )


class _Done:
    records = 0
    documents = 0


@contextmanager
def _told(settings: Settings, metrics: Metrics) -> Iterator[None]:
    """Tell the metrics by HTTP where the settings name a port."""
    if not settings.extract_port:
        yield
        return
    try:
        server, thread = start_http_server(
            settings.extract_port, addr=settings.host, registry=metrics.registry
        )
    except OSError as error:
        raise UsageError(
            f"extract_port {settings.extract_port} at {settings.host}: {error.strerror or error}"
        ) from error
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
