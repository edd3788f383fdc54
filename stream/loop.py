"""What the loops that read a stream share: how batches are cut, and what analyses them."""

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Protocol

from index.types import Analysis, Document, Rejected
from stream.envelope import Envelope
from stream.message import MessageLimits


class Analyzing(Protocol):
    """What analyses documents in the background: ``index.analysis.pool.AnalysisPool``."""

    workers: int

    def submit(self, documents: Sequence[Document]) -> "Future[list[Analysis | Rejected]]":
        """Analyse documents; the result keeps their order."""


@dataclass(frozen=True, slots=True)
class ConsumerSettings:
    """How batches are cut. ``batch_age`` and ``poll_wait`` in seconds, ``batch_bytes`` in bytes."""

    batch_records: int = 200
    batch_bytes: int = 4_000_000
    batch_age: float = 0.2
    poll_wait: float = 0.1
    limits: MessageLimits = field(default_factory=MessageLimits)
    envelope: Envelope = "auto"
