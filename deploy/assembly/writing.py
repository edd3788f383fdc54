"""The process that writes the index, from settings."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass

from deploy.assembly.language import Inline, analyzer_settings, load_analyzer
from deploy.assembly.streams import Origin, Told, consumer_settings, remember, source_of
from deploy.assembly.vectors import Vectors
from deploy.rates import Rates
from deploy.settings import Settings
from deploy.status import Status
from deploy.volume import check_volume
from index.analysis.analyzer import Analyzer
from index.analysis.pool import AnalysisPool
from index.checkpoint import CheckpointReport
from index.communities.dynamic import DynamicSettings
from index.communities.fullrun import GroupingSettings
from index.communities.keeper import CommunityKeeper
from index.expiry import parse_window
from index.reindex import ReindexReport
from index.reindex import reindex as reindex_store
from index.report import GenerationReport
from index.store.migrate import MigrationReport
from index.writer import Writer
from query.service.status import GroupingStatus
from stream.analyses_source import AnalysesReport, AnalysesSource
from stream.consumer import BatchReport, Consumer
from stream.loop import Analyzing
from stream.source import Partition, Source

Observed = BatchReport | GenerationReport | AnalysesReport | MigrationReport | CheckpointReport
Observe = Callable[[Observed], None]


@dataclass(frozen=True, slots=True)
class Ingestion:
    """A writer with the source and the consumer that feed it, and its analyzer for questions."""

    writer: Writer
    source: Source
    consumer: Consumer
    analyzer: Analyzer
    keeper: CommunityKeeper
    held: Callable[[], Mapping[Partition, str]] = dict

    def remaining(self) -> int:
        """Records between the writer's positions and the end that the source has now."""
        ends = self.source.end_offsets()
        return sum(max(0, end - self.writer.positions.get(at, 0)) for at, end in ends.items())


@contextmanager
def ingestion(
    settings: Settings, origin: Origin, observe: Observe, told: Told | None = None
) -> Iterator[Ingestion]:
    """Writer, pool, communities, source and consumer of one process."""
    tell = told or (lambda _what, _done, _total: None)
    elsewhere = bool(settings.analyses_topic) and origin.file is None
    source: Source
    pool: Analyzing
    check_volume(settings.data)
    with ExitStack() as stack:
        if not elsewhere:
            source = stack.enter_context(closing(source_of(settings, origin)))
        tell("loading the language models", 0, None)
        if not elsewhere:
            # First of all: its processes load their models while this one does.
            pool = stack.enter_context(
                closing(AnalysisPool(analyzer_settings(settings), settings.workers))
            )
        analyzer = load_analyzer(settings)
        tell("opening the store", 0, None)
        writer = stack.enter_context(closing(_writer(settings, analyzer, observe)))
        remember(settings, origin)
        keeper = stack.enter_context(closing(CommunityKeeper(writer, grouping(settings))))
        held: Callable[[], Mapping[Partition, str]] = dict
        withheld = None
        if elsewhere:
            analyses = _analyses(settings, analyzer, writer, observe)
            source = stack.enter_context(closing(analyses))
            pool, held, withheld = Inline(analyzer), analyses.held, analyses.behind
        consumer = Consumer(
            source,
            writer,
            pool,
            keeper,
            consumer_settings(settings, analyzed=elsewhere),
            observe=observe,
            withheld=withheld,
        )
        yield Ingestion(writer, source, consumer, analyzer, keeper, held)


def _writer(settings: Settings, analyzer: Analyzer, observe: Observe) -> Writer:
    return Writer.open(
        settings.data,
        fingerprint=analyzer.fingerprint,
        collection=settings.collection,
        dynamic=DynamicSettings(max_size=settings.community_size, seed=settings.seed),
        window=parse_window(settings.window),
        migrated=observe,
        checkpointed=observe,
        checkpoint_quiet=settings.checkpoint_quiet,
    )


def _analyses(
    settings: Settings, analyzer: Analyzer, writer: Writer, observe: Observe
) -> AnalysesSource:
    from deploy.assembly import extracting  # noqa: PLC0415  loads Kafka's client

    return extracting.analyses_source(
        settings, analyzer.fingerprint, lambda: writer.latest().head.positions, observe
    )


def grouping(settings: Settings) -> GroupingSettings:
    """How communities are kept."""
    return GroupingSettings(
        interval=settings.communities_every,
        share=settings.communities_share,
        drift=settings.communities_drift,
        margin=settings.communities_margin,
        max_size=settings.community_size,
        seed=settings.seed,
    )


def reindex(settings: Settings, told: Told) -> ReindexReport:
    """Build the store anew with the settings in force."""
    told("loading the language models", 0, None)
    analyzer = load_analyzer(settings)
    return reindex_store(
        settings.data,
        analyzer,
        progress=lambda done, total: told("indexing anew", done, total),
    )


def ingestion_status(
    settings: Settings, ingestion_: Ingestion, rates: Rates, vectors: Vectors | None = None
) -> Status:
    """The status of the process that writes."""
    return Status(
        settings.data,
        ingestion_.writer,
        role="run",
        collection=settings.collection,
        model=settings.model,
        consumer=ingestion_.consumer.status,
        rates=rates,
        vectors=None if vectors is None else vectors.status,
        grouping=lambda: GroupingStatus(**asdict(ingestion_.keeper.keep_up())),
        held=ingestion_.held,
        problem=lambda: ingestion_.writer.checkpoint_problem,
    )
