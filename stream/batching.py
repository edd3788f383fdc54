"""When a batch is closed: by count, by bytes, or by age, whichever comes first."""

from dataclasses import dataclass
from typing import Generic, TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """Bounds of a batch; ``age`` in seconds since its first item came."""

    records: int = 500
    bytes: int = 1_000_000
    age: float = 0.05


class Batcher(Generic[Item]):
    """Collects items until a limit is reached. Holds no clock: the time is passed in."""

    def __init__(self, limits: BatchLimits) -> None:
        self._limits = limits
        self._items: list[Item] = []
        self._bytes = 0
        self._since = 0.0

    def __len__(self) -> int:
        return len(self._items)

    def add(self, item: Item, size: int, now: float) -> None:
        """Add an item of ``size`` bytes that came at ``now``."""
        if not self._items:
            self._since = now
        self._items.append(item)
        self._bytes += size

    def due(self, now: float) -> bool:
        """Whether the batch must be taken; never true of an empty one."""
        if not self._items:
            return False
        full = len(self._items) >= self._limits.records or self._bytes >= self._limits.bytes
        return full or now - self._since >= self._limits.age

    def take(self) -> list[Item]:
        """The items in the order in which they came; the batch is empty afterwards."""
        items, self._items, self._bytes = self._items, [], 0
        return items
