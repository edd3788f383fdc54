"""The report of one generation, which shells turn into metrics and a line of log."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from index.admission import DocumentOutcome
from index.communities.dynamic import Work


@dataclass(frozen=True, slots=True)
class GenerationReport:
    """What a generation did, for one line of the log and the metrics.

    ``expired``: documents that the window took; ``due``: those that still wait for it. ``drained``:
    it did nothing else, for the stream was idle.
    """

    generation: int
    outcomes: Mapping[DocumentOutcome, int] = field(default_factory=dict)
    rejected: Mapping[str, int] = field(default_factory=dict)
    chunks_added: int = 0
    chunks_retracted: int = 0
    concepts_new: int = 0
    pairs_changed: int = 0
    concepts_moved: int = 0
    work: Work = field(default_factory=Work)
    documents: int = 0
    chunks: int = 0
    seconds: float = 0.0
    expired: int = 0
    due: int = 0
    drained: bool = False
