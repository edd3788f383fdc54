"""What the loops that read a stream share: how batches are cut, and what analyses them."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from index.types import Analysis, Document, Rejected
from stream.envelope import Envelope
from stream.message import MessageLimits

T = TypeVar("T")


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


def cut(
    settings: ConsumerSettings,
    poll: Callable[[int, float], Sequence[T]],
    size: Callable[[T], int],
    clock: Callable[[], float],
    *,
    wait: bool,
) -> tuple[list[T], int, float]:
    """One batch, cut by count, bytes and age: what was polled, its bytes, when the first came.

    ``poll`` is given how many may come and how long it may wait; ``wait``: for the first.
    """
    found: list[T] = []
    total, first = 0, clock()
    timeout = settings.poll_wait if wait else 0.0
    while len(found) < settings.batch_records and total < settings.batch_bytes:
        polled = poll(settings.batch_records - len(found), timeout)
        if not polled:
            break
        if not found:
            first = clock()
        found += polled
        total += sum(size(one) for one in polled)
        timeout = 0.0
        if clock() - first >= settings.batch_age:
            break
    return found, total, first
