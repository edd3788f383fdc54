"""The chunk-concept graph of one snapshot as the ranking needs it: matrices and their weights."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from threading import Lock

import numpy as np
from scipy.sparse import csr_matrix

from index.analysis.normalise import common_key, name_key
from index.snapshot import Snapshot
from index.types import BoolArray, Float32Array, Int32Array, Int64Array
from query.edges import Edges, edges
from query.homes import Branches, Lists, Placed, homes, placed

_LATELY = 30.0
"""Seconds after a question for which new snapshots are made ready ahead of the next; ours."""


@dataclass(frozen=True)
class SearchGraph:
    """What follows from a snapshot alone, made once and shared by its questions.

    Nothing here is copied from the snapshot; the sparse matrices are its own.
    """

    snapshot: Snapshot

    @cached_property
    def chunks(self) -> csr_matrix:
        """float32[rows, concepts]: what each chunk names."""
        return self.snapshot.chunk_concepts

    @cached_property
    def titles(self) -> csr_matrix:
        """float32[document_rows, concepts]: what each document's title names."""
        return self.snapshot.title_concepts

    def walked(self, title: float, hubs: tuple[float, float]) -> tuple[Float32Array, Float32Array]:
        """What two walks pass on at concepts, [k, 2], and leave at chunks, [rows, 2], by hub.

        Concepts and chunks are in the order of the columns and rows of ``edges``.
        """
        if (title, hubs) not in self._walked:
            ties = self.edges(title)
            worth = self.idf[ties.shared]
            self._walked[title, hubs] = (
                np.stack([worth * ties.passing(hub) for hub in hubs], axis=1),
                np.stack([ties.staying(self.idf, hub)[ties.order] for hub in hubs], axis=1),
            )
        return self._walked[title, hubs]

    @cached_property
    def _walked(self) -> dict[tuple[float, tuple[float, float]], tuple[Float32Array, Float32Array]]:
        return {}

    def leaving(self, title: float) -> Float32Array:
        """float32[rows]: one by the idf of what a chunk and, ``title`` times, its title name."""
        if title not in self._leaving:
            above = title * self.title_weight[self.snapshot.chunk_document]
            self._leaving[title] = inverse(self.chunk_weight + above)
        return self._leaving[title]

    @cached_property
    def _leaving(self) -> dict[float, Float32Array]:
        return {}

    def edges(self, title: float) -> Edges:
        """The edges of a walk, those of a title's concepts weighing ``title``."""
        if title not in self._edges:
            snapshot = self.snapshot
            alive = snapshot.shown.astype(np.float32)
            titles = self.titles * np.float32(title)
            self._edges[title] = edges(self.chunks, titles, snapshot.chunk_document, alive)
        return self._edges[title]

    @cached_property
    def _edges(self) -> dict[float, Edges]:
        return {}

    @cached_property
    def documents_alive(self) -> BoolArray:
        """bool[document_rows]: documents with a living chunk that is shown."""
        return self._chunks_of_document > 0

    @cached_property
    def _chunks_of_document(self) -> Float32Array:
        """float32[document_rows]: living chunks of each document."""
        snapshot = self.snapshot
        counts = np.bincount(
            snapshot.chunk_document[snapshot.shown], minlength=len(snapshot.documents)
        )
        return counts.astype(np.float32)

    @cached_property
    def chunk_degree(self) -> Float32Array:
        """float32[concepts]: living chunks that name a concept (its frequency f)."""
        return self.snapshot.frequency.astype(np.float32)

    @cached_property
    def title_degree(self) -> Float32Array:
        """float32[concepts]: living documents whose title names a concept."""
        return np.asarray(self.titles.T @ self.documents_alive.astype(np.float32), np.float32)

    @cached_property
    def titled_chunks(self) -> Float32Array:
        """float32[concepts]: living chunks under a title that names a concept."""
        return np.asarray(self.titles.T @ self._chunks_of_document, np.float32)

    @cached_property
    def idf(self) -> Float32Array:
        """float32[concepts]: log((M + 1) / (n + 1/2)), at least 0, M chunks, n that hold one."""
        total = np.count_nonzero(self.snapshot.alive)
        n = self.chunk_degree + self.titled_chunks
        return np.maximum(np.log((total + 1) / (n + 0.5)), 0).astype(np.float32)

    @cached_property
    def known(self) -> BoolArray:
        """bool[concepts]: concepts that some living chunk or title names."""
        return (self.chunk_degree > 0) | (self.title_degree > 0)

    def held(self, key: str) -> int | None:
        """The number of a concept that some living chunk or title names; None for others."""
        number = self.snapshot.concept(key)
        return number if number is not None and self.known[number] else None

    def spelled(self, written: Sequence[str]) -> int | None:
        """The concept that a run of words spells, as a name or as a common phrase."""
        for key in (name_key(written), common_key(written), " ".join(written).lower()):
            number = self.held(key)
            if number is not None:
                return number
        return None

    @cached_property
    def chunk_weight(self) -> Float32Array:
        """float32[rows]: the idf that a chunk's concepts have together."""
        return np.asarray(self.chunks @ self.idf, np.float32)

    @cached_property
    def title_weight(self) -> Float32Array:
        """float32[document_rows]: the idf that a title's concepts have together."""
        return np.asarray(self.titles @ self.idf, np.float32)

    @cached_property
    def memberships(self) -> tuple[Int64Array, ...]:
        """For each level from C0 down: int64[concepts], the community of each, or -1."""
        hierarchy = self.snapshot.hierarchy
        return tuple(hierarchy.at_level(level) for level in range(hierarchy.depth))

    def home(self, level: int) -> Int64Array:
        """int64[rows]: the community of each chunk's highest affinity at a level, or the root."""
        if level not in self._homes:
            self._homes[level] = self._affinity_at(level)
        return self._homes[level][0]

    def standing(self, level: int) -> Float32Array:
        """float32[rows]: how much of its home's concepts each chunk names, weighed by use.

        The summed idf * log(1 + f) of the concepts shared, per square root of the concepts that
        the chunk names. Without communities every chunk is at home in the root.
        """
        self.home(level)
        return self._homes[level][1]

    @cached_property
    def _homes(self) -> dict[int, tuple[Int64Array, Float32Array]]:
        return {}

    @cached_property
    def branches(self) -> Branches:
        """Which communities hold the concepts, by place."""
        return Branches.of(self.snapshot.hierarchy)

    def placed(self, level: int) -> Placed:
        """Which documents have a living chunk at home in which community of a level."""
        with self._placing:  # whoever asks while it is being made ready waits for less than anew
            if level not in self._placed:
                snapshot, home = self.snapshot, self._strongest(level)
                self._placed[level] = placed(home, snapshot.shown, snapshot.chunk_document)
            return self._placed[level]

    @cached_property
    def _placing(self) -> Lock:
        return Lock()

    @cached_property
    def _placed(self) -> dict[int, Placed]:
        return {}

    def _strongest(self, level: int) -> Int64Array:
        """int64[rows]: each chunk's community of the highest affinity at a level, -1 for none."""
        if level not in self._strongest_of:
            chunks = Lists.joined(self.chunks.indptr, self.chunks.indices)
            self._strongest_of[level], _ = homes(chunks, self.branches, level, self.idf)
        return self._strongest_of[level]

    @cached_property
    def _strongest_of(self) -> dict[int, Int64Array]:
        return {}

    def prepare_like(self, other: "SearchGraph") -> None:
        """Work out whatever the other one has worked out."""
        for title, hubs in list(other._walked):  # noqa: SLF001  of the same class
            self.walked(title, hubs)
        for title in list(other._leaving):  # noqa: SLF001
            self.leaving(title)
        for level in list(other._homes):  # noqa: SLF001
            self.home(level)
        for level in list(other._placed):  # noqa: SLF001
            self.placed(level)
        for name in list(vars(other)):
            getattr(self, name)

    def _affinity_at(self, level: int) -> tuple[Int64Array, Float32Array]:
        root = self.snapshot.hierarchy.ROOT
        used = self.idf * np.log1p(self.chunk_degree)
        sizes = np.diff(self.chunks.indptr)
        named = np.sqrt(np.maximum(sizes, 1)).astype(np.float32)
        community = self.branches.named(self.branches.at(level), root)
        if (community == root).all():
            everywhere = np.asarray(self.chunks @ used, np.float32) / named
            return np.full(len(named), root, np.int64), everywhere
        home, concepts = self._strongest(level), self.chunks.indices
        inside = community[concepts] == np.repeat(home, sizes)
        owner = np.repeat(np.arange(len(home)), sizes)
        shared = np.bincount(owner[inside], used[concepts[inside]], len(home))
        standing = (shared / named).astype(np.float32)
        return np.where(standing > 0, home, root), standing

    def concepts_of(self, row: int) -> Int32Array:
        """The concept numbers of a chunk row."""
        start, end = self.chunks.indptr[row], self.chunks.indptr[row + 1]
        named: Int32Array = self.chunks.indices[start:end]
        return named


def listed(matrix: csr_matrix, rows: Int32Array | Int64Array) -> Lists:
    """The columns of some rows of a matrix; scipy's own indexing takes ten times as long."""
    first = matrix.indptr[rows].astype(np.int64)
    sizes = matrix.indptr[rows + 1] - first
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    at = np.arange(offsets[-1]) + np.repeat(first - offsets[:-1], sizes)
    return Lists.joined(offsets, matrix.indices[at])


def inverse(weights: Float32Array) -> Float32Array:
    """float32[n]: one by each weight, 0 where that is 0."""
    return np.divide(1, weights, out=np.zeros_like(weights), where=weights > 0)


class GraphCache:
    """The graphs of the newest snapshots that were asked for; safe across threads."""

    def __init__(self, keep: int = 2, clock: Callable[[], float] = time.monotonic) -> None:
        self._keep = keep
        self._clock = clock
        self._lock = Lock()
        self._graphs: list[SearchGraph] = []
        self._asked = -inf
        self._prepared: Snapshot | None = None

    def of(self, snapshot: Snapshot) -> SearchGraph:
        """The graph of a snapshot, made at first use."""
        with self._lock:
            self._asked = self._clock()
            return self._found(snapshot)

    def prepare(self, snapshot: Snapshot) -> bool:
        """Work out for a new snapshot all that the one before was asked for.

        Whoever asks meanwhile has the same graph, and takes what is there of it. Does nothing,
        and returns False, where it was done already or nobody has asked lately: a stream makes a
        snapshot a second, and most are never asked for anything.
        """
        with self._lock:
            before = next((g for g in self._graphs if g.snapshot is not snapshot), None)
            idle = self._clock() - self._asked > _LATELY
            if before is None or idle or self._prepared is snapshot:
                return False
            self._prepared = snapshot
            graph = self._found(snapshot)
        graph.prepare_like(before)
        return True

    def _found(self, snapshot: Snapshot) -> SearchGraph:
        for graph in self._graphs:
            if graph.snapshot is snapshot:
                return graph
        return self._kept(SearchGraph(snapshot))

    def _kept(self, graph: SearchGraph) -> SearchGraph:
        self._graphs = [graph, *self._graphs][: self._keep]
        return graph
