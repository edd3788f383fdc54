"""Synthetic streams of chunks with topics, of any size, and the hierarchy kept over them.

Zipf-like concepts, six in ten of a chunk's from its topic. A world of ten times the edges has ten
times the concepts and topics, so that a batch meets the same surroundings in it.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeVar

import numpy as np

from index.communities.adopt import adopt
from index.communities.dynamic import DynamicCommunities, DynamicSettings
from index.communities.epoch import Epoch
from index.communities.hierarchy import Hierarchy
from index.communities.kernels.edges import all_ties
from index.communities.partition import MAX_SIZE, modularity, partition
from index.communities.pruning import ConceptGraph, CountArrays, PruningSettings, pruned
from index.communities.ties import epoch_graph
from index.counts.graph import Counts
from index.types import Int32Array, Int64Array
from tests.index.communities.dynamics import flat

_WIDTH = 17
_TOPIC = 2_000
_CONCEPTS, _TOPICS, _CHUNKS = 100_000, 400, 8_600  # for a million edges
_UNSEEN = 200  # concepts of a topic that was not there at the start

T = TypeVar("T")


@dataclass(slots=True)
class World:
    """Living chunks, oldest first, and a source of more."""

    millions: float
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))
    living: list[Int32Array] = field(default_factory=list)
    _fresh: int = 0
    _born: int = 0

    def __post_init__(self) -> None:
        """Fill it."""
        self.living = self.chunks(round(_CHUNKS * self.millions))

    @property
    def concepts(self) -> int:
        """The number of concepts at the start."""
        return round(_CONCEPTS * self.millions)

    def chunks(self, count: int) -> list[Int32Array]:
        """New chunks about the topics that were there at the start."""
        return [self._chunk(self._own) for _ in range(count)]

    def unseen(self, count: int) -> list[Int32Array]:
        """New chunks about topics that nobody has seen; ten chunks each."""
        found = []
        for _ in range(count):
            self._born += self._fresh % 10 == 0
            self._fresh += 1
            found.append(self._chunk(self._new))
        return found

    def turn(self, fresh: list[Int32Array]) -> tuple[list[Int32Array], list[Int32Array]]:
        """Let new chunks in and as many of the oldest out: (added, removed)."""
        gone, self.living = self.living[: len(fresh)], self.living[len(fresh) :] + fresh
        return fresh, gone

    def counts(self) -> Counts:
        """The counts of the living chunks."""
        offsets = np.cumsum([0, *map(len, self.living)]).astype(np.int64)
        return Counts.build(offsets, np.concatenate(self.living), self.concepts)

    def _chunk(self, concepts: Callable[[int], np.ndarray]) -> Int32Array:
        width = max(2, int(self.rng.poisson(_WIDTH)))
        common = np.exp(self.rng.random(width) * np.log(self.concepts)).astype(np.int64) - 1
        own = self.rng.random(width) < 0.6
        return np.unique(np.where(own, concepts(width), common)).astype(np.int32)

    def _own(self, width: int) -> np.ndarray:
        topic = int(self.rng.integers(round(_TOPICS * self.millions)))
        return (topic * 168 + self._rank(width) * 7919) % self.concepts

    def _new(self, width: int) -> np.ndarray:
        return self.concepts + self._born * _UNSEEN + self._rank(width) % _UNSEEN

    def _rank(self, width: int) -> np.ndarray:
        return np.exp(self.rng.random(width) * np.log(_TOPIC)).astype(np.int64)


def cpu(call: Callable[[], T]) -> tuple[float, T]:
    """Processor seconds of a call, and what it gave."""
    started = time.process_time()
    found = call()
    return time.process_time() - started, found


def graph_of(counts: Counts) -> tuple[CountArrays, ConceptGraph]:
    """The pruned graph of the counts, as static runs get it."""
    arrays = CountArrays.of(counts, counts.concept_count, PruningSettings())
    return arrays, pruned(arrays, PruningSettings())


def begun(counts: Counts, settings: DynamicSettings | None = None) -> DynamicCommunities:
    """The dynamic hierarchy over a static one, settled."""
    n = counts.concept_count
    arrays = CountArrays.of(counts, n, PruningSettings())
    epoch = Epoch.of(arrays, PruningSettings(), 1)
    graph = epoch_graph(arrays, epoch)  # as a full run does
    found = partition(graph.u, graph.v, graph.weight, n)
    adopted = adopt(Hierarchy.empty(n), found, n, 1)
    live = DynamicCommunities(
        counts, adopted.hierarchy, epoch, adopted.next_id, settings, queue_all=True
    )
    while live.settle()[1].carried:
        pass
    return live


@dataclass(frozen=True, slots=True)
class Judge:
    """The ties of a hierarchy, and what the worst of some static seeds makes of each level."""

    ties: tuple[Int32Array, Int32Array, np.ndarray]
    worst: tuple[float, ...]
    counts: tuple[tuple[int, int], ...]
    """The fewest and the most communities of each level, among the same seeds."""

    @classmethod
    def of(cls, live: DynamicCommunities, *, levels: int = 1, seeds: int = 5) -> "Judge":
        """A concept whose branch ends above a level counts there in its leaf, for all alike."""
        u, v, weight = all_ties(live._state)
        value = weight.astype(np.float64)
        n, most = len(live.hierarchy.leaf), 1 << 30 if levels == 1 else MAX_SIZE
        static = [partition(u, v, value, n, seed=s, max_size=most).labels for s in range(seeds)]
        worst = [
            min(modularity(u, v, value, flat(labels, level)) for labels in static)
            for level in range(levels)
        ]
        found = [[_number(flat(labels, level)) for labels in static] for level in range(levels)]
        counts = tuple((min(level), max(level)) for level in found)
        return cls((u, v, value), tuple(worst), counts)

    def ratio(self, rows: Sequence[Int64Array], level: int) -> float:
        """Modularity of a level, given the levels down to it, over the worst static one."""
        return modularity(*self.ties, flat(rows, level)) / max(self.worst[level], 1e-9)

    def beyond(self, rows: Sequence[Int64Array], level: int) -> float:
        """Share by which a level has fewer or more communities than any of the static seeds."""
        fewest, most = self.counts[level]
        found = _number(flat(rows, level))
        return max(1 - found / fewest, found / most - 1, 0.0)


def _number(labels: Int32Array) -> int:
    return len(np.unique(labels[labels >= 0]))


def quality(live: DynamicCommunities) -> list[float]:
    """The modularity of C0 over that of the worst of five static seeds on the same ties."""
    return [Judge.of(live).ratio([live.hierarchy.at_level(0)], 0)]


def undone(hierarchy: Hierarchy, levels: Sequence[Int64Array]) -> list[Int64Array]:
    """The levels without what is inside communities within the size limit."""
    split = np.isin(hierarchy.ids, hierarchy.parent)
    small = hierarchy.ids[split & (hierarchy.sizes <= MAX_SIZE)]
    found = [levels[0]]
    for above, row in pairwise(levels):
        ends = np.isin(above, small) | (found[-1] == Hierarchy.NONE)
        found.append(np.where(ends, Hierarchy.NONE, row))
    return found
