"""Every metric of the program, declared in one place; names, units and labels are public.

Base units (seconds, bytes), ``_total`` for counters, labels from closed lists only. What stands at
the moment of a scrape comes from a ``StatusReport``; a value that is not known is left out, so that
an alert can tell unknown from zero.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import product

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from query.service.status import StatusReport
from query.standing.types import Channel

FAST = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
SLOW = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)


class Metrics:
    """The metrics with their registry; one for a process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.build = self._gauge("build_info", "Release that runs; always 1.", "version")
        self.documents = self._counter(
            "documents", "Records committed, by what they did.", "outcome"
        )
        self.expired = self._counter("documents_expired", "Documents that the window took.")
        self.dead_letters = self._counter("dead_letters", "Rejected records.", "reason")
        self.outbox = self._counter(
            "dead_letters_published", "Dead letters published to their topic.", "outcome"
        )
        self.outbox_failures = self._counter(
            "dead_letter_topic_failures", "Attempts to publish dead letters that failed."
        )
        self.rejects_share = self._gauge(
            "rejects_share", "Share of rejected records among the last 1,000."
        )
        self.rejects_over = self._gauge(
            "rejects_over", "1 while that share is above the setting rejects_share."
        )
        self.chunks_added = self._counter("chunks_added", "Chunks that came.")
        self.chunks_retracted = self._counter("chunks_retracted", "Chunks that went.")
        self.pairs_changed = self._counter("pairs_changed", "Co-occurrences whose count changed.")
        self.generations = self._counter("generations", "Generations committed.")
        self.commit = self._histogram("commit_seconds", "Time of a generation's commit.", FAST)
        self.batch = self._histogram("batch_seconds", "Time of a batch, by stage.", SLOW, "stage")
        self.community_runs = self._counter("community_runs", "Runs that found communities.")
        self.community_run = self._histogram(
            "community_run_seconds", "Time of a run that finds communities.", SLOW
        )
        self.concepts_moved = self._counter(
            "concepts_moved", "Concepts that changed their community."
        )
        self.ties_scanned = self._counter(
            "community_ties_scanned", "Ties looked at to keep the communities."
        )
        self.community_changes = self._counter(
            "community_changes", "Communities cut apart, split, made whole again.", "change"
        )
        self.concepts_waiting = self._gauge(
            "concepts_waiting", "Concepts that wait for a move, for want of work allowed."
        )
        self.requests = self._counter("requests", "HTTP requests.", "method", "route", "status")
        self.request = self._histogram("request_seconds", "Time of a request.", FAST, "route")
        self.searches = self._counter("searches", "Searches.", "mode", "outcome", "stopped")
        self.search = self._histogram("search_seconds", "Time of a search.", FAST, "mode")
        self.search_stage = self._histogram(
            "search_stage_seconds", "Time of a stage of a search.", FAST, "stage"
        )
        self.first_event = self._histogram(
            "search_first_event_seconds", "Time until a search told something.", FAST
        )
        self.relevance_tests = self._counter(
            "relevance_tests", "Chunks tested for relevance.", "assessor"
        )
        self.feed_polls = self._counter("feed_polls", "Polls of feeds.", "outcome")
        self.feed_entries = self._counter("feed_entries", "Entries published.", "change")
        self.feed_poll = self._histogram("feed_poll_seconds", "Time of a poll of a feed.", SLOW)
        self.vector_points = self._counter(
            "vector_points_changed", "Points written to the vector index.", "change"
        )
        self.vector_failures = self._counter(
            "vector_failures", "Steps of the vector index's follower that failed."
        )
        self.model_calls = self._counter(
            "model_calls", "Calls that models answered.", "role", "price"
        )
        self.model_tokens = self._counter("model_tokens", "Tokens of models.", "role", "kind")
        self.model_money = self._counter(
            "model_money", "Spending on models, in the currency of the prices.", "role"
        )
        self.embedder_waits = self._counter(
            "embedder_waits", "Tries after which documents waited, for the embedder was away."
        )
        self._declare_hosts()
        self.standing_asked = self._counter(
            "standing_asked", "Askings of standing questions.", "outcome"
        )
        self.standing_tests = self._counter(
            "standing_tests", "Chunks tested for the first time for a standing question."
        )
        self.standing_deliveries = self._counter(
            "standing_deliveries",
            "Attempts to deliver an update of a standing question.",
            "channel",
            "outcome",
        )
        self.errors = self._counter("errors", "Work that failed unforeseen.", "unit")
        # Known from the start: a rule sees no increase in a series that begins with its first one.
        for outcome in ("failed", "updated", "unchanged"):
            self.standing_asked.labels(outcome)
        for channel, outcome in product(Channel, ("given_up", "deferred", "delivered")):
            self.standing_deliveries.labels(channel.value, outcome)

    def _declare_hosts(self) -> None:
        """What is counted where the work is spread over many hosts."""
        self.analyses_held = self._gauge(
            "analyses_held_partitions",
            "Partitions that wait: their next record was analysed by another analyzer, or is "
            "missing from the topic of analyses.",
        )
        self.analyses_unreadable = self._counter(
            "analyses_unreadable", "Records of the topic of analyses that were none."
        )
        self.extracted = self._counter(
            "extracted_records", "Records published to the topic of analyses.", "outcome"
        )
        self.extract = self._histogram(
            "extract_seconds", "Time of an extractor's batch, by stage.", SLOW, "stage"
        )
        self.extract_lag = self._gauge(
            "extract_lag_records", "Records that this extractor's partitions hold unread."
        )
        self.extract_partitions = self._gauge(
            "extract_partitions", "Partitions that this extractor has of its group's."
        )
        self.follower_steps = self._counter(
            "follower_steps", "Steps of a follower on another host, by what they did.", "kind"
        )
        self.follower_bytes = self._counter(
            "follower_received_bytes", "Bytes that a follower took from its writer.", "kind"
        )

    def follow(self, status: Callable[[], StatusReport]) -> None:
        """Export what a status tells at each scrape. Call once."""
        self.registry.register(_Standing(status))

    def exposition(self) -> bytes:
        """All metrics in Prometheus' text format."""
        return generate_latest(self.registry)

    def names(self) -> set[str]:
        """The names of all samples that may be exported, for checks of dashboards and rules."""
        return {sample for metric in self._declared() for sample in _sample_names(metric)} | set(
            _STANDING
        )

    def _declared(self) -> Iterator[Metric]:
        yield from self.registry.collect()

    def _counter(self, name: str, about: str, *labels: str) -> Counter:
        return Counter(f"tidegraph_{name}", about, labels, registry=self.registry)

    def _gauge(self, name: str, about: str, *labels: str) -> Gauge:
        return Gauge(f"tidegraph_{name}", about, labels, registry=self.registry)

    def _histogram(
        self, name: str, about: str, buckets: tuple[float, ...], *labels: str
    ) -> Histogram:
        return Histogram(
            f"tidegraph_{name}", about, labels, buckets=buckets, registry=self.registry
        )


def _sample_names(metric: Metric) -> Iterable[str]:
    suffixes = {
        "counter": ("_total",),
        "histogram": ("_bucket", "_count", "_sum"),
    }.get(metric.type, ("",))
    return (metric.name + suffix for suffix in suffixes)


_STANDING = {
    "tidegraph_generation": "Number of the newest generation.",
    "tidegraph_indexed_documents": "Documents in the newest generation.",
    "tidegraph_expiring_documents": "Documents outside the window that are not taken out yet.",
    "tidegraph_indexed_chunks": "Chunks in the newest generation.",
    "tidegraph_indexed_concepts": "Concepts in the newest generation.",
    "tidegraph_indexed_edges": "Distinct co-occurring pairs in the newest generation.",
    "tidegraph_committed_timestamp_seconds": "Moment of the newest generation.",
    "tidegraph_newest_arrival_timestamp_seconds": "Moment of the newest document's arrival.",
    "tidegraph_communities": "Communities of a level.",
    "tidegraph_modularity": "Modularity of a level.",
    "tidegraph_position_offset": "Next offset of a partition.",
    "tidegraph_consumer_lag_records": "Records of the source not yet read.",
    "tidegraph_freshness_seconds": "Age of the oldest record not yet searchable; 0 when idle.",
    "tidegraph_source_up": "1 while the source answers, 0 while it does not.",
    "tidegraph_queue_depth_records": "Records read and not yet committed.",
    "tidegraph_queue_bytes": "Bytes of the records read and not yet committed.",
    "tidegraph_dead_letters_pending": "Rejected records that wait for somebody.",
    "tidegraph_memory_bytes": "Resident memory of the process and its workers.",
    "tidegraph_store_bytes": "Size of the store.",
    "tidegraph_disk_free_bytes": "Free space on the volume of the data directory.",
    "tidegraph_wal_bytes": "Size of the store's write-ahead log.",
    "tidegraph_vector_index_up": "Whether the vector index beside the store can be used.",
    "tidegraph_vector_index_lag_generations": "Generations that the vector index is behind.",
    "tidegraph_vector_index_points": "Points in the vector index.",
    "tidegraph_follower_up": "1 while a follower can follow its writer, 0 while it cannot.",
    "tidegraph_follower_behind_generations": "Generations that a follower is behind its writer.",
    "tidegraph_follower_behind_seconds": "All that the writer had committed so long ago is here.",
}


class _Standing(Collector):
    """What stands at the moment of the scrape."""

    def __init__(self, status: Callable[[], StatusReport]) -> None:
        self._status = status

    def describe(self) -> Iterable[Metric]:
        """Nothing ahead of time, so that registering asks for no status."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """The gauges whose values are known."""
        status = self._status()
        for name, value in _plain(status):
            if value is not None:
                yield GaugeMetricFamily(name, _STANDING[name], value=value)
        for name, levels in (
            ("tidegraph_communities", status.communities),
            ("tidegraph_modularity", status.modularity),
        ):
            family = GaugeMetricFamily(name, _STANDING[name], labels=("level",))
            for level, value in levels.items():
                family.add_metric((str(level),), value)
            yield family
        offsets = GaugeMetricFamily(
            "tidegraph_position_offset",
            _STANDING["tidegraph_position_offset"],
            labels=("topic", "partition"),
        )
        for (topic, partition), offset in status.positions.items():
            offsets.add_metric((topic, str(partition)), offset)
        yield offsets


def _plain(status: StatusReport) -> Iterator[tuple[str, float | None]]:
    yield "tidegraph_generation", status.generation
    yield "tidegraph_indexed_documents", status.documents
    yield "tidegraph_expiring_documents", status.expiry.due
    yield "tidegraph_indexed_chunks", status.chunks
    yield "tidegraph_indexed_concepts", status.concepts
    yield "tidegraph_indexed_edges", status.edges
    yield "tidegraph_committed_timestamp_seconds", _seconds(status.committed_at)
    yield "tidegraph_newest_arrival_timestamp_seconds", _seconds(status.newest_arrival)
    yield "tidegraph_consumer_lag_records", status.lag
    yield "tidegraph_freshness_seconds", status.freshness_seconds
    operations = status.operations
    if operations.queue_depth is not None:
        yield "tidegraph_source_up", float("source" not in operations.degraded)
    yield "tidegraph_queue_depth_records", operations.queue_depth
    yield "tidegraph_queue_bytes", operations.queue_bytes
    yield "tidegraph_dead_letters_pending", operations.dead_letters_pending
    yield "tidegraph_memory_bytes", operations.memory_bytes
    yield "tidegraph_store_bytes", operations.store_bytes
    yield "tidegraph_wal_bytes", operations.wal_bytes
    if operations.vectors is not None:
        yield "tidegraph_vector_index_up", float(not operations.vectors.problem)
        yield "tidegraph_vector_index_lag_generations", operations.vectors.lag
        yield "tidegraph_vector_index_points", operations.vectors.points
    if operations.follows is not None:
        follows = operations.follows
        yield "tidegraph_follower_up", float(not follows.problem)
        yield "tidegraph_follower_behind_generations", follows.behind_generations
        yield "tidegraph_follower_behind_seconds", follows.behind_seconds
    yield "tidegraph_disk_free_bytes", operations.disk_free_bytes


def _seconds(millis: int | None) -> float | None:
    return None if millis is None else millis / 1000
