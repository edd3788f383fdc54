"""What the dashboards show: titles, units and queries. Every metric is one that is exported."""

from dataclasses import dataclass

RATE = "$__rate_interval"


@dataclass(frozen=True, slots=True)
class Query:
    """A PromQL expression and what its lines are called."""

    expression: str
    legend: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """One picture: ``unit`` is Grafana's, ``kind`` ``timeseries`` or ``stat``; widths of 24."""

    title: str
    about: str
    unit: str
    queries: tuple[Query, ...]
    kind: str = "timeseries"
    width: int = 8


@dataclass(frozen=True, slots=True)
class Dashboard:
    """A page of panels; ``name`` is its file and its address."""

    name: str
    title: str
    panels: tuple[Panel, ...]


def _one(expression: str, legend: str = "") -> tuple[Query, ...]:
    return (Query(f"{expression}", legend),)


def _stat(title: str, about: str, unit: str, expression: str) -> Panel:
    return Panel(title, about, unit, _one(expression), "stat", 4)


def _own(metric: str) -> str:
    return f'{metric}{{job="$job"}}'


def _rate(metric: str, by: str = "") -> str:
    rated = f"rate({_own(metric)}[{RATE}])"
    return f"sum by ({by}) ({rated})" if by else f"sum({rated})"


def _quantiles(
    metric: str, by: str = "", *, levels: tuple[float, ...] = (0.95,)
) -> tuple[Query, ...]:
    labels = f"le, {by}" if by else "le"
    return tuple(
        Query(
            f"histogram_quantile({level}, sum by ({labels}) "
            f"(rate({_own(metric + '_bucket')}[{RATE}])))",
            f"{{{{{by}}}}} p{level * 100:g}" if by else f"p{level * 100:g}",
        )
        for level in levels
    )


OVERVIEW = Dashboard(
    "overview",
    "Tidegraph: overview",
    (
        _stat(
            "Freshness",
            "Age of the oldest record that is not yet searchable; 0 when idle.",
            "s",
            _own("tidegraph_freshness_seconds"),
        ),
        _stat("Lag", "Records not yet read.", "short", _own("tidegraph_consumer_lag_records")),
        _stat("Source", "1 while the source answers.", "none", _own("tidegraph_source_up")),
        _stat("Documents", "In the index.", "short", _own("tidegraph_indexed_documents")),
        _stat("Concepts", "In the index.", "short", _own("tidegraph_indexed_concepts")),
        _stat("Memory", "Process and workers.", "bytes", _own("tidegraph_memory_bytes")),
        Panel(
            "Freshness and lag",
            "Both rise together while catching up; lag alone with a position that stands still "
            "is a fault.",
            "short",
            (
                Query(_own("tidegraph_freshness_seconds"), "freshness, seconds"),
                Query(_own("tidegraph_consumer_lag_records"), "lag, records"),
            ),
        ),
        Panel(
            "Documents by outcome",
            "What records did to the index.",
            "ops",
            _one(_rate("tidegraph_documents_total", "outcome"), "{{outcome}}"),
        ),
        Panel(
            "Searches by outcome",
            "Questions answered.",
            "ops",
            _one(_rate("tidegraph_searches_total", "outcome"), "{{outcome}}"),
        ),
        Panel(
            "Failures",
            "Work that failed unforeseen, by unit; any is worth a look at the log.",
            "ops",
            _one(_rate("tidegraph_errors_total", "unit"), "{{unit}}"),
        ),
        Panel(
            "Communities",
            "Number at each level.",
            "short",
            _one(_own("tidegraph_communities"), "C{{level}}"),
        ),
        Panel(
            "Disk",
            "The store, its write-ahead log, and what is left on the volume.",
            "bytes",
            (
                Query(_own("tidegraph_store_bytes"), "store"),
                Query(_own("tidegraph_wal_bytes"), "write-ahead log"),
                Query(_own("tidegraph_disk_free_bytes"), "free"),
            ),
        ),
        Panel(
            "Followers",
            "How far those on other hosts are behind their writer.",
            "short",
            (
                Query(_own("tidegraph_follower_behind_seconds"), "{{instance}} seconds"),
                Query(_own("tidegraph_follower_behind_generations"), "{{instance}} generations"),
            ),
        ),
    ),
)

INGESTION = Dashboard(
    "ingestion",
    "Tidegraph: ingestion",
    (
        Panel(
            "Stages of a batch",
            "Waiting for its turn, analysis, commit.",
            "s",
            _quantiles("tidegraph_batch_seconds", "stage"),
        ),
        Panel(
            "Commit of a generation",
            "One transaction, fsync included.",
            "s",
            _quantiles("tidegraph_commit_seconds", levels=(0.5, 0.95, 0.99)),
        ),
        Panel(
            "Queue",
            "Records read and not yet committed.",
            "short",
            _one(_own("tidegraph_queue_depth_records"), "records"),
        ),
        Panel(
            "Positions",
            "Next offset of each partition; a line that is flat while lag is above 0 hangs.",
            "short",
            _one(_own("tidegraph_position_offset"), "{{topic}}/{{partition}}"),
        ),
        Panel(
            "Chunks",
            "Added and retracted.",
            "ops",
            (
                Query(_rate("tidegraph_chunks_added_total"), "added"),
                Query(_rate("tidegraph_chunks_retracted_total"), "retracted"),
            ),
        ),
        Panel(
            "Pairs changed",
            "Co-occurrence counts that changed.",
            "ops",
            _one(_rate("tidegraph_pairs_changed_total"), "pairs"),
        ),
        Panel(
            "Rejected records",
            "By reason; they wait as dead letters.",
            "ops",
            _one(_rate("tidegraph_dead_letters_total", "reason"), "{{reason}}"),
        ),
        Panel(
            "Dead letters",
            "In the store, and failures to publish them to their topic.",
            "short",
            (
                Query(_own("tidegraph_dead_letters_pending"), "in the store"),
                Query(
                    f"increase({_own('tidegraph_dead_letter_topic_failures_total')}[{RATE}])",
                    "failures to publish",
                ),
            ),
        ),
        Panel(
            "Feeds",
            "Polls by outcome.",
            "ops",
            _one(_rate("tidegraph_feed_polls_total", "outcome"), "{{outcome}}"),
        ),
        Panel(
            "Concepts that moved",
            "Between communities.",
            "ops",
            _one(_rate("tidegraph_concepts_moved_total"), "concepts"),
        ),
        Panel(
            "Runs that find communities",
            "In the background.",
            "s",
            _quantiles("tidegraph_community_run_seconds"),
        ),
        Panel(
            "Vector index",
            "Generations that it is behind the store, and failures; questions go on without it.",
            "short",
            (
                Query(_own("tidegraph_vector_index_lag_generations"), "generations behind"),
                Query(
                    f"increase({_own('tidegraph_vector_failures_total')}[{RATE}])",
                    "failures",
                ),
            ),
        ),
        Panel(
            "Modularity",
            "Of each level.",
            "none",
            _one(_own("tidegraph_modularity"), "C{{level}}"),
        ),
        Panel(
            "Extracted records",
            "What extractors published, by what it was.",
            "ops",
            _one(_rate("tidegraph_extracted_records_total", "outcome"), "{{outcome}}"),
        ),
        Panel(
            "Stages of extraction",
            "From reading a batch to its commit, and publishing alone.",
            "s",
            _quantiles("tidegraph_extract_seconds", "stage"),
        ),
        Panel(
            "Extractors",
            "Records that each one's partitions hold unread, and how many partitions it has.",
            "short",
            (
                Query(_own("tidegraph_extract_lag_records") + " > 0", "{{instance}} lag"),
                Query(_own("tidegraph_extract_partitions") + " > 0", "{{instance}} partitions"),
            ),
        ),
        Panel(
            "Analyses that do not fit",
            "Partitions that wait for the writer's own analyzer, and records that nobody can read.",
            "short",
            (
                Query(_own("tidegraph_analyses_held_partitions"), "held partitions"),
                Query(
                    f"increase({_own('tidegraph_analyses_unreadable_total')}[{RATE}])",
                    "unreadable records",
                ),
            ),
        ),
    ),
)

SEARCH = Dashboard(
    "search",
    "Tidegraph: search and cost",
    (
        Panel(
            "Time of a search",
            "By mode.",
            "s",
            _quantiles("tidegraph_search_seconds", "mode", levels=(0.5, 0.95)),
        ),
        Panel(
            "Time until a search told something",
            "From the question to the first event.",
            "s",
            _quantiles("tidegraph_search_first_event_seconds"),
        ),
        Panel(
            "Stages of a search",
            "Where the time goes.",
            "s",
            _quantiles("tidegraph_search_stage_seconds", "stage"),
        ),
        Panel(
            "Searches by outcome and end",
            "How they ended.",
            "ops",
            _one(_rate("tidegraph_searches_total", "outcome, stopped"), "{{outcome}}: {{stopped}}"),
        ),
        Panel(
            "Relevance tests",
            "What the budget is spent on, by who tested.",
            "ops",
            _one(_rate("tidegraph_relevance_tests_total", "assessor"), "{{assessor}}"),
        ),
        Panel(
            "Requests by status",
            "All routes.",
            "ops",
            _one(_rate("tidegraph_requests_total", "status"), "{{status}}"),
        ),
        Panel(
            "Tokens of models",
            "By role and kind.",
            "ops",
            _one(_rate("tidegraph_model_tokens_total", "role, kind"), "{{role}}: {{kind}}"),
        ),
        Panel(
            "Spending on models",
            "In an hour, in the currency of the prices; calls of an unknown price are not in it.",
            "short",
            _one(
                f"sum by (role) (increase({_own('tidegraph_model_money_total')}[1h]))", "{{role}}"
            ),
        ),
        Panel(
            "Time of a request",
            "By route.",
            "s",
            _quantiles("tidegraph_request_seconds", "route"),
        ),
        Panel(
            "Standing questions asked",
            "By what came of it; failed ones are asked again.",
            "ops",
            _one(_rate("tidegraph_standing_asked_total", "outcome"), "{{outcome}}"),
        ),
        Panel(
            "Tests for standing questions",
            "Chunks tested for the first time.",
            "ops",
            _one(_rate("tidegraph_standing_tests_total"), "chunks"),
        ),
        Panel(
            "Updates delivered",
            "Attempts, by channel and outcome.",
            "ops",
            _one(
                _rate("tidegraph_standing_deliveries_total", "channel, outcome"),
                "{{channel}}: {{outcome}}",
            ),
        ),
    ),
)

DASHBOARDS = (OVERVIEW, INGESTION, SEARCH)
