"""The hierarchy kept under a stream: after every delta connected, nested and within its sizes.

A dynamic frontier (Sahu, DF-Leiden; HIT-Leiden, arXiv 2601.08554): from the top level down, only
concepts that the delta can move are visited, whole touched leaves are tried as units, what came
apart is cut, what grew too large is split by a static Leiden of its own ties. What
communities share is kept as bonds, super-edges that follow every tie and every move, so that whole
communities are tried elsewhere and searched for parts without a look at their concepts. The cost
follows the delta; a bound on the edges scanned holds the moves, and what is left over waits for the
next batch.
"""

from dataclasses import dataclass

import numpy as np

from index.communities import arrays
from index.communities.adopt import Adoption
from index.communities.epoch import Epoch
from index.communities.frontier import retie
from index.communities.frozen import Ledger, freeze, leaf_slots, leaves_of, name_batch
from index.communities.hierarchy import Hierarchy
from index.communities.kernels import edges, moves, repair
from index.communities.kernels.state import (
    DEPTH,
    LOST,
    MOVES,
    PENDING,
    SEEDS,
    TORN,
    TOUCHED,
    WORK,
    take_slot,
)
from index.communities.partition import MAX_SIZE, leiden
from index.counts.graph import Counts
from index.types import Delta, Int32Array

_ROUNDS = 12  # of local moves and units at one level
_MERGE_BACK = 0.8  # share of the size limit at which a split community becomes whole again
_UNIT = 4  # times the size limit: the largest community that is moved as a whole
_AGAIN = 1.2  # growth at which an unsplittable community is tried again


@dataclass(frozen=True, slots=True)
class DynamicSettings:
    """``max_size``: concepts beyond which a community is split. ``seed``: of those splits.

    ``stickiness``: share of its ties that a concept or a unit must gain to move. Measured on a
    newswire, 50 stories in and 50 out of 8,000 a batch, at 0, 0.02 and 0.06: concepts that nothing
    happened to and that kept their leaf .910, .972, .987; modularity of C0 .309, .309, .304
    (static runs: .297 to .305).
    ``work_factor`` and ``work_floor``: moves end once the edges scanned in a batch reach
    ``work_floor + work_factor * degrees of the frontier``.
    """

    max_size: int = MAX_SIZE
    seed: int = 0
    stickiness: float = 0.03
    work_factor: int = 30
    work_floor: int = 20_000


@dataclass(frozen=True, slots=True)
class Work:
    """What one batch cost: ties changed, edges scanned, concepts moved, parts cut off...

    ``frontier_degree``: the degrees of the concepts that the delta queued, summed over levels.
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
    ) -> None:
        counts.reserve(len(hierarchy.leaf))
        self._counts = counts
        self._epoch = epoch
        self._settings = settings or DynamicSettings()
        self.hierarchy = hierarchy.extended(counts.concept_count)
        slots = 2 * len(hierarchy.ids) + 1024
        self._state = arrays.empty_state(counts, epoch, slots)
        self._ledger = Ledger(np.zeros(slots, np.int64), np.zeros(slots, np.int64), next_id)
        self._stuck: dict[int, int] = {}
        self._cut = self._split = self._merged_back = self._repaired = 0
        self._begin(queue_all=queue_all)

    def apply(self, delta: Delta) -> tuple[Adoption, Work]:
        """Apply a delta to the counts and bring the hierarchy up to date.

        Raises ``NegativeCountError`` and changes nothing where the counts refuse the delta.
        """
        self._counts.apply(delta)
        self._grow()
        self._state.counters[[WORK, MOVES]] = 0
        changed, _ = retie(self._state, self._counts.f, delta, self._epoch)
        return self._settle(changed)

    def settle(self) -> tuple[Adoption, Work]:
        """Let those move who wait, mend, split and merge; name what came out."""
        self._state.counters[[WORK, MOVES]] = 0
        return self._settle(0)

    def _settle(self, ties_changed: int) -> tuple[Adoption, Work]:
        self._cut = self._split = self._merged_back = self._repaired = 0
        self._rehome()
        counters = self._state.counters
        degrees = int(edges.frontier_degree(self._state))
        limit = int(counters[WORK]) + self._settings.work_floor
        limit += self._settings.work_factor * degrees
        level = 0
        while level < DEPTH and self._unsettled(level):
            self._settle_level(level, limit)
            level += 1
        self._mend()
        adoption = self._name()
        counters = self._state.counters
        work = Work(
            ties_changed=ties_changed,
            frontier_degree=degrees,
            scanned=int(counters[WORK]),
            repaired=self._repaired,
            moves=int(counters[MOVES]),
            cut=self._cut,
            split=self._split,
            merged_back=self._merged_back,
            carried=int(counters[PENDING]),
        )
        return adoption, work

    def _begin(self, *, queue_all: bool) -> None:
        state = self._state
        arrays.place(state, self.hierarchy, self._ledger.ids)
        self._ledger.order = np.flatnonzero(self._ledger.ids > 0)
        self._ledger.sizes[:] = state.size
        edges.count_ties(state)
        self._state = state = arrays.recounted(state)
        edges.doubt_all(state, queue_all)
        for slot in np.flatnonzero(self._ledger.ids > 0).tolist():
            state.touched[state.counters[TOUCHED]] = slot
            state.counters[TOUCHED] += not state.is_touched[slot]
            state.is_touched[slot] = 1

    def _grow(self) -> None:
        before = len(self._state.member)
        self._state = arrays.with_concepts(self._state, self._counts.concept_count)
        self._state.bucket[before:] = self._epoch.buckets(np.zeros(1, np.int32))[0]
        self._state = arrays.with_spare_bonds(arrays.with_rows(self._state, self._counts))

    def _want_slots(self, wanted: int) -> None:
        self._state = arrays.with_free_slots(self._state, wanted + 64)
        self._ledger.lengthened(len(self._state.size))

    def _rehome(self) -> None:
        while wanted := edges.rehome(self._state):
            self._want_slots(wanted)

    def _settle_level(self, level: int, limit: int) -> None:
        unit_size, stick = _UNIT * self._settings.max_size, self._settings.stickiness
        self._mend()
        for _ in range(_ROUNDS):
            waiting = self._waiting(level)
            if waiting:
                self._want_slots(waiting)
                moves.local_moves(self._state, level, stick, limit)
                self._mend()
            self._want_slots(int(self._state.counters[TOUCHED]))
            if moves.unit_moves(self._state, level, unit_size, stick, limit):
                self._mend()
            elif not self._waiting(level) or self._state.counters[WORK] >= limit:
                break
        before = int(self._state.counters[WORK])
        self._keep_sizes(level)
        self._repaired += int(self._state.counters[WORK]) - before

    def _unsettled(self, level: int) -> bool:
        """Whether anything is to be done at a level or below; nothing is done above it any more."""
        counters, state = self._state.counters, self._state
        if counters[SEEDS] or counters[TORN] or counters[LOST]:
            return True
        waits = state.pending[: counters[PENDING]]
        touched = state.touched[: counters[TOUCHED]]
        return bool(
            (state.queued[waits] >> level).any() or (state.level[touched] >= level - 1).any()
        )

    def _waiting(self, level: int) -> int:
        state = self._state
        waits = state.pending[: state.counters[PENDING]]
        return int(np.count_nonzero(state.queued[waits] >> level & 1))

    def _mend(self) -> None:
        """Cut what came apart: leaves first, then those whose children do not hang together."""
        counters = self._state.counters
        if counters[LOST]:
            self._state = arrays.recounted(self._state)
        if not counters[SEEDS] and not counters[TORN]:
            return
        before = int(counters[WORK])
        self._mend_leaves()
        wanted = 1
        while wanted:
            cut, wanted = repair.mend_torn(self._state)
            self._cut += int(cut)
            self._want_slots(int(wanted))
        self._repaired += int(self._state.counters[WORK]) - before

    def _mend_leaves(self) -> None:
        state = self._state
        seeds = state.seeds[: state.counters[SEEDS]].copy()
        state.listed[seeds] &= ~np.int32(2)
        state.counters[SEEDS] = 0
        seeds = seeds[state.member[seeds, 0] >= 0]
        if not len(seeds):
            return
        slots = leaf_slots(state, seeds)
        # Those with few neighbours first: they find the hubs among the others at once, and the
        # long row of a hub is seldom searched.
        order = np.lexsort((seeds, state.degree[seeds], slots))
        seeds, slots = seeds[order], slots[order]
        bounds = np.flatnonzero(np.diff(slots)) + 1
        offsets = np.concatenate([[0], bounds, [len(seeds)]]).astype(np.int64)
        self._want_slots(len(seeds))
        self._cut += int(repair.mend_leaves(self._state, seeds, offsets))

    def _keep_sizes(self, level: int) -> None:
        """Split what is too large, merge back what is small again or has a single child."""
        if level:
            above = self._touched(level - 1)
            for slot in above[self._state.children[above] == 1].tolist():
                self._make_whole(slot, level)
                self._split_slot(slot, level)
        state, most = self._state, self._settings.max_size
        slots = self._touched(level)
        split = state.children[slots] > 0
        small = state.size[slots] <= _MERGE_BACK * most
        for slot in slots[split & small].tolist():
            self._make_whole(slot, level + 1)
        for slot in slots[~split & (state.size[slots] > most)].tolist():
            self._split_slot(slot, level + 1)

    def _touched(self, level: int) -> Int32Array:
        """Slots at a level that live and whose members, or whose children's members, changed."""
        state = self._state
        touched = state.touched[: state.counters[TOUCHED]]
        if level >= 0:
            inside = touched[state.level[touched] == level + 1]
            touched = np.concatenate([touched, state.parent[inside]])
        touched = np.unique(touched)
        found: Int32Array = touched[(state.level[touched] == level) & (state.size[touched] > 0)]
        return found

    def _make_whole(self, slot: int, level: int) -> None:
        """Dissolve what is inside a community from ``level`` on."""
        edges.shorten(self._state, edges.chain(self._state, slot), level)
        self._merged_back += 1

    def _split_slot(self, slot: int, level: int) -> None:
        """Split a whole community that is too large into communities of ``level``."""
        size = int(self._state.size[slot])
        if self._state.children[slot] or size <= self._settings.max_size or level == DEPTH:
            return
        if size < _AGAIN * self._stuck.get(slot, 0):
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
        state = self._state
        slots = np.array([take_slot(state, level, slot) for _ in range(count)], np.int32)
        edges.lengthen(state, members, labels, slots, level)
        self._split += 1

    def _name(self) -> Adoption:
        state = self._state
        named = name_batch(state, self._ledger)
        concepts = named.concepts
        before = self.hierarchy.extended(len(state.member)).leaf
        leaf = before.copy()
        leaf[concepts] = leaves_of(state, self._ledger, concepts)
        self._release()
        self.hierarchy = freeze(state, self._ledger, named, leaf, self.hierarchy)
        moved = concepts[leaf[concepts] != before[concepts]]
        return Adoption(
            self.hierarchy,
            (moved, leaf[moved]),
            named.deaths,
            named.lineage,
            self._ledger.next_id,
        )

    def _release(self) -> None:
        """End the batch: emptied slots are free again, lists are cleared."""
        touched = self._state.touched[: self._state.counters[TOUCHED]]
        for slot in touched[self._state.size[touched] == 0].tolist():
            self._stuck.pop(slot, None)
        edges.end_batch(self._state)
