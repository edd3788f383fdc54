"""What the service tells of the running index; whoever puts it together fills it in."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from index.types import Millis


@dataclass(frozen=True, slots=True)
class VectorStatus:
    """A vector index beside the store; ``None`` means not known in this process.

    ``index`` is its kind, ``generation`` the last one that it holds whole, ``lag`` the generations
    that it is behind, ``problem`` why it cannot be used now ("" while it can). While it is
    ``building`` its graph it takes nothing in and the snapshot is searched.
    """

    index: str
    generation: int | None
    lag: int | None
    points: int | None
    problem: str
    building: bool


@dataclass(frozen=True, slots=True)
class GroupingStatus:
    """How the communities keep up with the stream, in the process that writes.

    ``epoch`` counts the full runs that were adopted, ``adopted`` and ``refused`` those of this
    process. ``changed`` is the share of all co-occurrences that came or went since the last full
    run, ``gain`` the modularity of C0 that it had over the hierarchy in force, ``quality`` the
    modularity of C0 now, ``seconds`` how long the run took.
    """

    epoch: int
    running: bool
    adopted: int
    refused: int
    changed: float
    gain: float | None
    quality: float | None
    seconds: float


@dataclass(frozen=True, slots=True)
class FollowStatus:
    """How a follower on another host stands to its writer; ``None`` means not known.

    ``writer`` is its address, ``generation`` the newest that it told of. ``behind_seconds``:
    everything that it had committed so long ago is here. ``fetching``: a whole copy of the store
    is on its way. ``problem``: why it cannot follow now ("" while it can).
    """

    writer: str
    generation: int | None
    behind_generations: int | None
    behind_seconds: float | None
    fetching: bool
    problem: str


@dataclass(frozen=True, slots=True)
class CheckpointStatus:
    """The arrays beside the store, for the next start; ``generation`` None where there are none.

    ``current``: they are of the generation in force, so that a start now would use them.
    ``problem``: why the process that writes used none or wrote none last ("" else, and elsewhere).
    """

    generation: int | None = None
    bytes: int = 0
    written_at: Millis | None = None
    current: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ExpiryStatus:
    """What the window does. ``horizon``: event times before it are outside; None: no window.

    ``due`` documents are hidden and wait to be taken out; ``expired`` and ``late`` count since the
    store began those that were, and those that came too late to be indexed.
    """

    horizon: Millis | None = None
    due: int = 0
    expired: int = 0
    late: int = 0


@dataclass(frozen=True, slots=True)
class Operations:
    """What the operations view shows; ``None`` and "" mean not known in this process.

    ``documents_per_second`` and ``generations_per_minute`` are means over the last minute.
    ``queue_depth`` counts records read and not yet committed, ``queue_bytes`` their bytes.
    ``rejects`` counts rejected records by reason since the store began. Sizes are in bytes.
    ``vectors`` is None where the snapshot alone is searched.
    """

    version: str = ""
    collection: str = "default"
    role: str = ""
    assessor: str = ""
    uptime_seconds: float = 0.0
    documents_per_second: float | None = None
    generations_per_minute: float | None = None
    queue_depth: int | None = None
    queue_bytes: int | None = None
    rejects: Mapping[str, int] = field(default_factory=dict)
    dead_letters_pending: int | None = None
    memory_bytes: int | None = None
    store_bytes: int | None = None
    wal_bytes: int | None = None
    disk_free_bytes: int | None = None
    degraded: tuple[str, ...] = ()
    vectors: VectorStatus | None = None
    grouping: GroupingStatus | None = None
    follows: FollowStatus | None = None
    checkpoint: CheckpointStatus = field(default_factory=CheckpointStatus)


@dataclass(frozen=True, slots=True)
class StatusReport:
    """One look at the index and the stream that feeds it.

    ``communities`` counts the communities of each level from C0 (0 stands for C0),
    ``modularity`` by the same levels. ``positions``: next offset by (topic, partition).
    ``lag`` counts records of the source not yet read, None where the source cannot tell.
    ``freshness_seconds`` is the age of the oldest record not yet searchable, 0 when idle, None
    where it is not known. Times are milliseconds since 1970, None before the first generation.
    """

    generation: int
    documents: int
    chunks: int
    concepts: int
    edges: int
    communities: Mapping[int, int]
    modularity: Mapping[int, float]
    positions: Mapping[tuple[str, int], int]
    lag: int | None
    freshness_seconds: float | None
    committed_at: Millis | None = None
    watermark: Millis | None = None
    newest_arrival: Millis | None = None
    operations: Operations = field(default_factory=Operations)
    expiry: ExpiryStatus = field(default_factory=ExpiryStatus)
