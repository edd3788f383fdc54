"""Where each concept belongs, laid out only when someone asks.

A batch moves a few concepts of a million. To lay all of them out anew after each would cost in
proportion to the graph, and few of the hierarchies in between are ever looked at.
"""

from functools import cached_property
from typing import Final

import numpy as np

from index.types import Int32Array, Int64Array

NONE: Final = -1
_STEPS = 64  # after so many, all are laid out: it is the price of one copy in so many batches

Moved = tuple[Int32Array, Int64Array]


class Leaves:
    """The deepest community of ``count`` concepts: those of ``before``, and what moved since.

    ``before`` int64, ``NONE`` where a concept belongs nowhere, as those do that lie beyond it;
    ``steps``: concepts (int32, distinct) and where they went (int64), one after the other. All of
    it stays as it is.
    """

    def __init__(
        self, before: Int64Array, steps: tuple[Moved, ...] = (), count: int | None = None
    ) -> None:
        self._before = before
        self._steps = steps
        self._count = len(before) if count is None else count

    def __len__(self) -> int:
        """The number of concepts."""
        return self._count

    @cached_property
    def row(self) -> Int64Array:
        """int64[count]: the deepest community of each concept."""
        if not self._steps and self._count <= len(self._before):
            return self._before[: self._count]
        most = max([self._count, *(int(at.max()) + 1 for at, _ in self._steps if len(at))])
        row = np.full(most, NONE, np.int64)
        kept = min(self._count, len(self._before))
        row[:kept] = self._before[:kept]
        for concepts, leaves in self._steps:
            row[concepts] = leaves
        return row[: self._count]

    def moved(self, concepts: Int32Array, leaves: Int64Array) -> "Leaves":
        """The same after a step."""
        if len(self._steps) < _STEPS:
            return Leaves(self._before, (*self._steps, (concepts, leaves)), self._count)
        return Leaves(self.row, ((concepts, leaves),), self._count)

    def resized(self, count: int) -> "Leaves":
        """The same for more concepts, or for fewer."""
        return self if count == self._count else Leaves(self._before, self._steps, count)
