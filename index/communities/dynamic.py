"""The hierarchy kept under a stream: after every delta connected, nested and within its sizes.

A dynamic frontier (Sahu, DF-Leiden; HIT-Leiden, arXiv 2601.08554): from the top level down, only
concepts that the delta can move are visited, whole touched leaves are tried as units, what came
apart is cut, what grew too large is split by a static Leiden of its own ties. What
communities share is kept as bonds, super-edges that follow every tie and every move, so that whole
communities are tried elsewhere and searched for parts without a look at their concepts. The cost
follows the delta; a bound on the edges scanned holds the moves, and what is left over waits for the
next batch.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from index.communities import arrays
from index.communities.adopt import Adoption
from index.communities.epoch import Epoch
from index.communities.frontier import retie
from index.communities.frozen import Ledger, freeze, leaves_of, name_batch
from index.communities.hierarchy import Hierarchy
from index.communities.kernels import edges, repair
from index.communities.kernels.settle import settle
from index.communities.kernels.state import (
    BATCH,
    CUT,
    DEPTH,
    FRONTIER,
    LEVEL,
    MERGED,
    MOVES,
    OVERSIZE,
    PENDING,
    REPAIRED,
    SIZE,
    STEP,
    WANTED,
    WORK,
    State,
)
from index.communities.partition import MAX_SIZE, leiden
from index.counts.graph import Counts
from index.types import Delta, Int32Array

_MERGE_BACK = 0.76  # share of the size limit at which a split community becomes whole again
_UNIT = 4  # times the size limit: the largest community that is moved as a whole
_AGAIN = 1.2  # growth at which an unsplittable community is tried again
_UPHEAVAL = 0.1  # share of all co-occurrences in one batch from which stories hold less
_LOOSE = 0.1  # share of the stickiness that is left then
_NEVER = 1 << 30  # concepts: no community is ever so large


@dataclass(frozen=True, slots=True)
class DynamicSettings:
    """``max_size``: concepts beyond which a community is split. ``seed``: of those splits.

    ``stickiness``: share of its ties that a concept or a unit must gain to move. Measured on a
    newswire, 50 stories in and 50 out of 8,000 a batch, at 0, 0.02 and 0.06: concepts that nothing
    happened to and that kept their leaf .910, .972, .987; modularity of C0 .309, .309, .304
    (static runs: .297 to .305). A tenth of it holds in a batch that lets a tenth of all
    co-occurrences come or go: so much turnover leaves no story as it was, and what every concept
    forgoes adds up. Measured on the newswire by day, a window of two weeks, from four beginnings:
    worst day's modularity of C0 .966 to .972 of the worst static run's, then .973 to .985; median
    day's .998, then 1.009.
    ``holding``: times that share for a concept none of whose ties the batch changed, and for a unit
    as far as it consists of such; measured in docs/decisions/0015.
    ``work_factor`` and ``work_floor``: moves end once the edges scanned in a batch reach
    ``work_floor + work_factor * degrees of the frontier``.
    """

    max_size: int = MAX_SIZE
    seed: int = 0
    stickiness: float = 0.03
    holding: float = 8.0
    work_factor: int = 30
    work_floor: int = 20_000


@dataclass(frozen=True, slots=True)
class Work:
    """What one batch cost: ties changed, edges scanned, concepts moved, parts cut off...

    ``frontier_degree``: the degrees of the concepts that the delta queued, summed over levels, and
    of those that crossed into another bucket.
    ``repaired``: of the edges scanned, those that kept communities connected and within their
    size. ``carried``: concepts that still wait for a move, for want of work allowed.

    The bound: ``scanned - repaired`` is at most the rows of the concepts that crossed into another
    bucket, ``work_floor + work_factor * frontier_degree``, and one move. Repairs cannot wait, but
    follow ties that went and concepts that moved: the search of a leaf costs at most eight times
    the square of its size, the search among children their bonds, a cut or a split the rows of
    the concepts that change their community.
    """

    ties_changed: int = 0
    frontier_degree: int = 0
    scanned: int = 0
    repaired: int = 0
    moves: int = 0
    cut: int = 0
    split: int = 0
    merged_back: int = 0
    carried: int = 0


class DynamicCommunities:
    """Owns the hierarchy and changes it with the counts, which it alone may change meanwhile.

    The hierarchy given is taken over with its ids; concepts without ties leave it, those that
    belong nowhere are placed by the first ``settle``. ``queue_all``: after a restart, let every
    concept be visited once.
    """

    def __init__(
        self,
        counts: Counts,
        hierarchy: Hierarchy,
        epoch: Epoch,
        next_id: int,
        settings: DynamicSettings | None = None,
        *,
        queue_all: bool = False,
        kept: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        counts.reserve(len(hierarchy.leaves))
        self._counts = counts
        self._epoch = epoch
        self._settings = settings or DynamicSettings()
        self.hierarchy = hierarchy.extended(counts.concept_count)
        self._leaf = self.hierarchy.leaf.copy()
        self._stuck: dict[int, int] = {}
        self._split = 0
        self._stick = self._settings.stickiness
        self._loose = kept is None
        self._whole = self._settings.max_size if queue_all else self._small
        self._state: State
        if kept is None:
            self._begin(next_id, queue_all=queue_all)
        else:
            self._resume(next_id, kept)

    def saved(self) -> dict[str, np.ndarray]:
        """What ``kept`` takes: views of the arrays, valid until the next batch."""
        ledger, stuck = self._ledger, np.array(list(self._stuck.items()), np.int64)
        of_ledger = {"ids": ledger.ids, "named_sizes": ledger.sizes, "order": ledger.order}
        return arrays.saved(self._state) | of_ledger | {"stuck": stuck.reshape(-1, 2)}

    def apply(self, delta: Delta) -> tuple[Adoption, Work]:
        """Apply a delta to the counts and bring the hierarchy up to date.

        Raises ``NegativeCountError`` and changes nothing where the counts refuse the delta.
        """
        return self.follow(delta, self._counts.apply(delta))

    def follow(self, delta: Delta, held: Int32Array) -> tuple[Adoption, Work]:
        """Bring the hierarchy up to a delta that the counts have taken already.

        ``held``: w of its pairs before it.
        """
        self._grow()
        self._start()
        if np.abs(delta.dw).sum() >= _UPHEAVAL * self._counts.W:
            self._stick *= _LOOSE
            self._loose = True
        changed, _ = retie(self._state, self._counts.f, delta, held, self._epoch)
        return self._settle(changed)

    def settle(self) -> tuple[Adoption, Work]:
        """Let those move who wait, mend, split and merge; name what came out."""
        self._start()
        return self._settle(0)

    def _start(self) -> None:
        self._state.counters[[WORK, MOVES, STEP, FRONTIER, REPAIRED, CUT, MERGED]] = 0
        self._state.counters[BATCH] += 1
        self._split = 0
        self._stick = self._settings.stickiness

    @property
    def _small(self) -> int:
        """The size at which a split community becomes whole again."""
        return int(_MERGE_BACK * self._settings.max_size)

    def _settle(self, ties_changed: int) -> tuple[Adoption, Work]:
        self._follow()
        self._whole, self._loose = self._small, False
        adoption = self._name()
        counters = self._state.counters
        work = Work(
            ties_changed=ties_changed,
            frontier_degree=int(counters[FRONTIER]),
            scanned=int(counters[WORK]),
            repaired=int(counters[REPAIRED]),
            moves=int(counters[MOVES]),
            cut=int(counters[CUT]),
            split=self._split,
            merged_back=int(counters[MERGED]),
            carried=int(counters[PENDING]),
        )
        return adoption, work

    def _follow(self) -> None:
        """Run the kernel to its end, and give it what it asks for on the way."""
        chosen = self._settings
        margins = self._stick, (1.0 if self._loose else chosen.holding) * self._stick
        full = _NEVER if self._loose else chosen.max_size
        bounds = chosen.work_floor, chosen.work_factor
        sizes = _UNIT * chosen.max_size, chosen.max_size, self._whole
        while (todo := settle(self._state, *margins, full, *bounds, *sizes)) != repair.DONE:
            if todo == repair.MORE_SLOTS:
                self._want_slots(int(self._state.counters[WANTED]))
            elif todo == repair.RECOUNT:
                self._state = arrays.recounted(self._state)
            else:
                self._split_large()

    def _begin(self, next_id: int, *, queue_all: bool) -> None:
        slots = 2 * len(self.hierarchy.ids) + 1024
        self._state = state = arrays.empty_state(self._counts, self._epoch, slots)
        self._ledger = Ledger(np.zeros(slots, np.int64), np.zeros(slots, np.int64), next_id)
        arrays.place(state, self.hierarchy, self._ledger.ids)
        self._ledger.order = np.flatnonzero(self._ledger.ids > 0)
        self._ledger.sizes[:] = state.slot[:, SIZE]
        edges.count_ties(state)
        self._state = state = arrays.recounted(state)
        edges.doubt_all(state, queue_all)
        edges.touch_all(state)

    def _resume(self, next_id: int, kept: Mapping[str, np.ndarray]) -> None:
        self._ledger = Ledger(kept["ids"], kept["named_sizes"], next_id, kept["order"])
        self._stuck = {int(slot): int(size) for slot, size in kept["stuck"]}
        self._state = arrays.restored(self._counts, kept)
        self._grow()

    def _grow(self) -> None:
        state, count = self._state, self._counts.concept_count
        if count > len(state.concept):
            bucket = int(self._epoch.buckets(np.zeros(1, np.int32))[0])
            state = arrays.with_concepts(state, count, bucket)
        self._state = arrays.with_spare_bonds(arrays.with_rows(state, self._counts))

    def _want_slots(self, wanted: int) -> None:
        self._state = arrays.with_free_slots(self._state, wanted + 64)
        self._ledger.lengthened(len(self._state.slot))

    def _split_large(self) -> None:
        before = int(self._state.counters[WORK])
        for slot in self._state.listed(OVERSIZE).tolist():
            self._split_slot(slot)
        self._state.counters[REPAIRED] += int(self._state.counters[WORK]) - before

    def _split_slot(self, slot: int) -> None:
        """Split a whole community that is too large into communities of the next level."""
        size, level = (int(value) for value in self._state.slot[slot, [SIZE, LEVEL]])
        if level + 1 == DEPTH or size < _AGAIN * self._stuck.get(slot, 0):
            return
        members = np.sort(edges.chain(self._state, slot))
        graph = repair.subgraph(self._state, members)
        labels = leiden(*graph, seed=self._settings.seed)
        count = int(labels.max()) + 1
        if count == 1:
            self._stuck[slot] = size
            return
        self._stuck.pop(slot, None)
        self._want_slots(count)
        edges.lengthen(self._state, slot, members, labels, count)
        self._split += 1

    def _name(self) -> Adoption:
        state = self._state
        named = name_batch(state, self._ledger)
        self._grow_leaf(len(state.concept))
        leaf = leaves_of(state, self._ledger, named.concepts)
        at = np.flatnonzero(leaf != self._leaf[named.concepts])
        moved = named.concepts[at], leaf[at]
        self._leaf[moved[0]] = moved[1]
        leaves = self.hierarchy.extended(len(state.concept)).leaves.moved(*moved)
        self._release()
        self.hierarchy = freeze(state, self._ledger, named, leaves, self.hierarchy)
        return Adoption(self.hierarchy, moved, named.deaths, named.lineage, self._ledger.next_id)

    def _grow_leaf(self, count: int) -> None:
        if count > len(self._leaf):
            more = np.full(count - len(self._leaf), Hierarchy.NONE, np.int64)
            self._leaf = np.concatenate([self._leaf, more])

    def _release(self) -> None:
        """End the batch: emptied slots are free again, lists are cleared."""
        state = self._state
        for slot in [slot for slot in self._stuck if state.slot[slot, SIZE] == 0]:
            del self._stuck[slot]
        edges.end_batch(state)
