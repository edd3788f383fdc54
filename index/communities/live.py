"""The exact counts and, once a full run was adopted, the hierarchy that follows them.

One owner changes both. What is kept between two deltas and not stored (who waits for a move, what
each place may lose) is made anew with every concept queued once: after a restart, after a
transaction that failed, and when a full run is adopted.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from index.communities.adopt import Adoption, adopt
from index.communities.dynamic import DynamicCommunities, DynamicSettings, Work
from index.communities.epoch import Epoch
from index.communities.hierarchy import Hierarchy
from index.communities.kernels.state import INNER, LEVEL, SIZE, SUMS
from index.communities.partition import Partition
from index.counts.graph import Counts
from index.types import Delta


@dataclass(frozen=True, slots=True)
class Applied:
    """What a delta did: the steps from the hierarchy before to the one after; none without one."""

    adoptions: tuple[Adoption, ...] = ()
    work: Work = field(default_factory=Work)

    @property
    def moved(self) -> int:
        """Changes of a concept's leaf."""
        return sum(len(adoption.moved[0]) for adoption in self.adoptions)


class LiveCommunities:
    """``counts`` is changed by ``apply`` alone. After an error other than a refusal: discard it.

    ``next_id``: the id that the next new community gets. ``changed``: co-occurrences that came
    and went since a full run was last adopted, or since the start. ``kept``: what ``saved`` gave
    for these counts; the hierarchy goes on from there, and nobody is queued.
    """

    def __init__(
        self,
        counts: Counts,
        hierarchy: Hierarchy,
        epoch: Epoch | None,
        next_id: int,
        settings: DynamicSettings,
        kept: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        self.counts = counts
        self._hierarchy = hierarchy
        self._epoch = epoch
        self.next_id = next_id
        self._settings = settings
        self._dynamic: DynamicCommunities | None = None
        if epoch is not None and kept is not None:
            self._dynamic = DynamicCommunities(
                counts, hierarchy, epoch, next_id, settings, kept=kept
            )
        self.changed = 0

    def saved(self) -> dict[str, np.ndarray] | None:
        """Views of the arrays of counts and hierarchy; None until that follows a delta."""
        return None if self._dynamic is None else self.counts.saved() | self._dynamic.saved()

    @property
    def epoch(self) -> Epoch | None:
        """The epoch in force; None before the first full run."""
        return self._epoch

    @property
    def hierarchy(self) -> Hierarchy:
        """The hierarchy in force."""
        return self._hierarchy if self._dynamic is None else self._dynamic.hierarchy

    @property
    def quality(self) -> float | None:
        """Modularity of C0 in the graph of its epoch, from sums that are kept: O(communities).

        None until the hierarchy follows a delta.
        """
        if self._dynamic is None:
            return None
        state = self._dynamic._state  # noqa: SLF001  the sums have no other reader
        total = int(state.sums[0, INNER])
        top = np.flatnonzero((state.slot[:, LEVEL] == 0) & (state.slot[:, SIZE] > 0))
        if not total:
            return 0.0
        inside, degrees = (state.sums[top, column] / total for column in (INNER, SUMS))
        return float((inside - degrees**2).sum())

    def apply(self, delta: Delta) -> Applied:
        """Change the counts and let the hierarchy follow.

        Raises ``NegativeCountError`` and changes nothing where the counts refuse the delta.
        """
        if self._epoch is None:
            self.counts.apply(delta)
            self.changed += int(np.abs(delta.dw).sum())
            return Applied()
        if self._dynamic is None:
            self._dynamic = self._begun(self._epoch, self._hierarchy)
        adoption, work = self._dynamic.apply(delta)
        self.changed += int(np.abs(delta.dw).sum())
        self.next_id = adoption.next_id
        return Applied((adoption,), work)

    def take_over(self, found: Partition, epoch: Epoch) -> Applied:
        """Put a full run in force and bring it up to the present counts.

        The deltas that came since the run began need no replay one by one: their sum stands in
        the counts, and every concept is looked at once.
        """
        named = adopt(self.hierarchy, found, self.counts.concept_count, self.next_id)
        self.next_id, self._epoch = named.next_id, epoch
        self._dynamic = self._begun(epoch, named.hierarchy)
        settled, work = self._dynamic.settle()
        self.next_id = settled.next_id
        return Applied((named, settled), work)

    def _begun(self, epoch: Epoch, hierarchy: Hierarchy) -> DynamicCommunities:
        return DynamicCommunities(
            self.counts, hierarchy, epoch, self.next_id, self._settings, queue_all=True
        )
