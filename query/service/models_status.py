"""The JSON of how the index, its stream and its process are doing."""

from pydantic import Field

from query.service.models import Model, Moment, Positions


class VectorStatusModel(Model):
    """A vector index beside the store; null where it is not known here."""

    index: str
    generation: int | None = Field(description="The last one that it holds whole")
    lag: int | None = Field(description="Generations that it is behind")
    points: int | None
    problem: str = Field(description="Why it cannot be used now, or nothing")
    building: bool = Field(
        description="Whether it builds its graph; the snapshot is searched meanwhile"
    )


class GroupingStatusModel(Model):
    """How the communities keep up with the stream; null where another process writes."""

    epoch: int = Field(description="Full runs adopted")
    running: bool = Field(description="Whether a full run is under way")
    adopted: int = Field(description="Full runs of this process that were adopted")
    refused: int = Field(description="Full runs of this process that were not clearly better")
    changed: float = Field(description="Share of co-occurrences changed since the last full run")
    gain: float | None = Field(description="Modularity of C0 that the last full run had more")
    quality: float | None = Field(description="Modularity of C0 now")
    seconds: float = Field(description="How long the last full run took")


class FollowModel(Model):
    """How a follower on another host stands to its writer; null where nobody is followed."""

    writer: str = Field(description="The address that is followed")
    generation: int | None = Field(description="The writer's newest, as far as it is known")
    behind_generations: int | None = Field(description="Generations that this store is behind")
    behind_seconds: float | None = Field(
        description="Everything that the writer had committed so long ago is here"
    )
    fetching: bool = Field(description="Whether a whole copy of the store is on its way")
    problem: str = Field(description="Why it cannot follow now, or nothing")


class CheckpointModel(Model):
    """The arrays of counts and communities beside the store, which a start reads in seconds."""

    generation: int | None = Field(description="Which it is of; null where there is none")
    bytes: int
    written_at: Moment | None
    current: bool = Field(description="Whether a start now would use it")
    problem: str = Field(description="Why none was used or written last, or nothing")


class OperationsModel(Model):
    """How the process and its stream are doing; null where it is not known here."""

    version: str
    collection: str
    role: str
    assessor: str
    uptime_seconds: float
    documents_per_second: float | None
    generations_per_minute: float | None
    queue_depth: int | None
    queue_bytes: int | None
    rejects: dict[str, int] = Field(description="Rejected records by reason")
    dead_letters_pending: int | None
    memory_bytes: int | None
    store_bytes: int | None
    wal_bytes: int | None
    degraded: list[str]
    vectors: VectorStatusModel | None = Field(
        description="The vector index, where there is one beside the store"
    )
    grouping: GroupingStatusModel | None = Field(
        default=None, description="How the communities keep up with the stream"
    )
    follows: FollowModel | None = Field(
        default=None, description="How the store follows a writer on another host"
    )
    checkpoint: CheckpointModel | None = Field(
        default=None, description="The checkpoint beside the store; small graphs need none"
    )


class OriginModel(Model):
    """Where a store stands, for followers on other hosts."""

    generation: int
    digest: str = Field(description="Over schema, analyzer and all generations up to this one")
    schema_version: int
    fingerprint: str = Field(description="The analyzer that the store was built with, as JSON")
    committed_at: Moment
    store_bytes: int


class ExpiryModel(Model):
    """What the window does to documents that grow old."""

    horizon: Moment | None = Field(
        description="Event times before it are outside the window; null without a window"
    )
    due: int = Field(description="Documents outside, hidden and not yet taken out")
    expired: int = Field(description="Documents that were taken out since the store began")
    late: int = Field(description="Documents that came too late to be indexed")


class StatusModel(Model):
    """The index and the stream that feeds it."""

    generation: int
    documents: int
    chunks: int
    concepts: int
    edges: int
    communities: dict[int, int] = Field(description="Communities of each level, 0 for C0")
    modularity: dict[int, float] = Field(description="Modularity of each level")
    positions: Positions
    lag: int | None = Field(description="Records of the source not yet read")
    freshness_seconds: float | None = Field(
        description="Age of the oldest record not yet searchable; 0 when idle"
    )
    committed_at: Moment | None
    watermark: Moment | None
    newest_arrival: Moment | None
    operations: OperationsModel
    expiry: ExpiryModel
