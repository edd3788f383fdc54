"""The exact counts and, once a full run was adopted, the hierarchy that follows them.

One owner changes both. What is kept between two deltas and not stored (who waits for a move, what
each place may lose) is made anew with every concept queued once: after a restart, after a
transaction that failed, and by a full run, in the process beside.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from index.communities.adopt import Adoption, adopt
from index.communities.dynamic import DynamicCommunities, DynamicSettings, Work
from index.communities.epoch import Epoch
from index.communities.frozen import renamed
from index.communities.fullrun import Asked, FullRun
from index.communities.hierarchy import Hierarchy
from index.communities.kernels.state import INNER, LEVEL, SIZE, SUMS
from index.communities.pruning import CountArrays, PruningSettings
from index.counts.delta import summed
from index.counts.graph import Counts
from index.types import Delta

_NOTED = 1 << 20  # pairs noted for an adoption from which on they are summed up now and then
_DELTAS = 256  # deltas noted at most


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
        self._since: list[Delta] | None = None

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
        applied = Applied()
        if self._epoch is None:
            self.counts.apply(delta)
        else:
            if self._dynamic is None:
                self._dynamic = self._begun(self._epoch)
            adoption, work = self._dynamic.apply(delta)
            self.next_id = adoption.next_id
            applied = Applied((adoption,), work)
        self.changed += int(np.abs(delta.dw).sum())
        if self._since is not None:
            self._since = _noted(self._since, delta)
        return applied

    @property
    def awaits(self) -> bool:
        """Whether what came since a run began is known, so that it can be taken over."""
        return self._since is not None

    def begin_run(self, pruning: PruningSettings) -> Asked:
        """What a full run begins with; from now on what comes is noted for its adoption."""
        self._since = []
        arrays = CountArrays.of(self.counts, self.counts.concept_count, pruning)
        row = self.hierarchy.extended(len(arrays.f)).at_level(0)
        return Asked(arrays, row, self.hierarchy.epoch + 1, self._settings)

    def end_run(self) -> None:
        """Note no longer what comes: the run is not taken over."""
        self._since = None

    def take_over(self, found: FullRun) -> Applied:
        """Put the run that was begun last in force, and bring it up to the present counts.

        The deltas that came since the run began are replayed as their sum. The cost follows them
        and the concepts that are grouped, not the pairs.
        """
        if self._since is None:
            raise ValueError("no run was begun, or what came since is not known")
        since, self._since = summed(self._since), None
        named = adopt(self.hierarchy, found.partition, self.counts.concept_count, self.next_id)
        self._epoch = found.epoch
        kept = renamed(found.kept, named.hierarchy)
        self._dynamic = DynamicCommunities(
            self.counts, named.hierarchy, found.epoch, named.next_id, self._settings, kept=kept
        )
        held = self.counts.held(since.u, since.v) - since.dw
        settled, work = self._dynamic.follow(since, held)
        self.next_id = settled.next_id
        return Applied((named, settled), work)

    def _begun(self, epoch: Epoch) -> DynamicCommunities:
        return DynamicCommunities(
            self.counts, self._hierarchy, epoch, self.next_id, self._settings, queue_all=True
        )


def _noted(since: list[Delta], delta: Delta) -> list[Delta]:
    """The deltas with one more; so few pairs twice that a long run does not fill the memory."""
    since = [*since, delta]
    later = sum(len(one.u) for one in since[1:])
    many = later > max(len(since[0].u), _NOTED) or len(since) > _DELTAS
    return [summed(since)] if many else since
