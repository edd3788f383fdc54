"""A full run: a partition from nothing and its epoch, held against the hierarchy in force."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from index.communities.adopt import adopt
from index.communities.dynamic import DynamicCommunities, DynamicSettings
from index.communities.epoch import Epoch
from index.communities.hierarchy import Hierarchy
from index.communities.partition import MAX_SIZE, Partition, modularity, partition
from index.communities.pruning import ConceptGraph, CountArrays, PruningSettings
from index.communities.ties import epoch_graph
from index.counts.graph import Counts
from index.types import Int32Array, Int64Array

_ROUNDS = 8  # of settling at most; what still waits then is carried on by the writer


@dataclass(frozen=True, slots=True)
class GroupingSettings:
    """When and how full runs are made, and when one is adopted.

    ``interval``: seconds between two runs at the least. ``share``: of the time that runs may take
    while documents are arriving. ``drift``: share of all co-occurrences that must have come or
    gone since the last run. ``fall``: share of its modularity that C0 may lose since then before a
    run is made all the same. ``margin``: share by which a run's modularity of C0 must be better to
    be adopted. Measured on a newswire of 19,000 stories, 200 a batch, what a run gained over C0's
    .50 to .60 by the share changed since the last one: .001 at .2 and at .4, .016 at .7, .032 at
    .9 (the index had grown sixfold).
    ``seed``: of the partition's random choices.
    """

    interval: float = 2.0
    share: float = 0.04
    drift: float = 0.1
    fall: float = 0.05
    margin: float = 0.01
    max_size: int = MAX_SIZE
    seed: int = 0
    pruning: PruningSettings = field(default_factory=PruningSettings)


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """What a run begins with: a copy of the counts, and the hierarchy in force.

    ``row`` int64[n]: the C0 of each concept, ``Hierarchy.NONE`` where it has none. ``epoch``: the
    number of the epoch that the run begins. ``dynamic``: how the hierarchy will follow.
    """

    counts: CountArrays
    row: Int64Array
    epoch: int
    dynamic: DynamicSettings


@dataclass(frozen=True, slots=True, eq=False)
class FullRun:
    """What a run found.

    ``partition``: its labels once everybody has settled, its modularity as found. ``kept``: the
    arrays of a hierarchy of it over the counts that the run began with, see
    ``DynamicCommunities.saved``; its ids are the run's own. ``before``: modularity of C0, in the
    graph of the run's epoch, of the hierarchy that was in force when the run began.
    """

    partition: Partition
    epoch: Epoch
    before: float
    kept: Mapping[str, np.ndarray]

    @property
    def gain(self) -> float:
        """Modularity of C0 that the run has more."""
        found = self.partition.modularity
        return (found[0] if found else 0.0) - self.before

    def clearly_better(self, settings: GroupingSettings) -> bool:
        """Whether it is worth to move what it would move."""
        return self.gain > settings.margin * abs(self.before)


def full_run(asked: Asked, settings: GroupingSettings) -> FullRun:
    """Begin an epoch at these counts and partition its graph: the work of the process beside.

    All that costs in proportion to the graph is done here: sums, bonds and the settling of
    everybody; whoever adopts it brings it up to what came meanwhile.
    """
    counts = asked.counts
    epoch = Epoch.of(counts, settings.pruning, asked.epoch)
    graph = epoch_graph(counts, epoch)
    found = partition(
        graph.u,
        graph.v,
        graph.weight,
        graph.concept_count,
        max_size=settings.max_size,
        seed=settings.seed,
    )
    before = _quality(graph, asked.row)
    del graph  # as large as the counts, and done with
    live = _settled(asked, epoch, found)
    hierarchy = live.hierarchy
    labels = tuple(_labels(hierarchy.at_level(level)) for level in range(hierarchy.depth))
    settled = Partition(labels, found.modularity)
    return FullRun(settled, epoch, before, live.saved())


def _settled(asked: Asked, epoch: Epoch, found: Partition) -> DynamicCommunities:
    """The hierarchy of a partition over the pairs that were copied: no others can be ties."""
    arrays = asked.counts
    keys = arrays.u.astype(np.int64) << 32 | arrays.v
    counts = Counts.of_pairs(arrays.f, keys, arrays.w, arrays.total_f, arrays.total_w)
    n = counts.concept_count
    named = adopt(Hierarchy.empty(n), found, n, 1)
    live = DynamicCommunities(
        counts, named.hierarchy, epoch, named.next_id, asked.dynamic, queue_all=True
    )
    for _ in range(_ROUNDS):
        if not live.settle()[1].carried:
            break
    return live


def _labels(row: Int64Array) -> Int32Array:
    """Communities numbered 0, 1, ..., -1 for none."""
    labels = np.full(len(row), -1, np.int32)
    placed = row != Hierarchy.NONE
    labels[placed] = np.unique(row[placed], return_inverse=True)[1]
    return labels


def _quality(graph: ConceptGraph, row: Int64Array) -> float:
    """Modularity of communities in a graph; a concept of none is one by itself."""
    alone = np.arange(len(row)) + int(row.max(initial=0)) + 1
    labels = np.unique(np.where(row == Hierarchy.NONE, alone, row), return_inverse=True)[1]
    return modularity(graph.u, graph.v, graph.weight, labels.astype(np.int32))
