"""Verification: the counts rebuilt from the stored documents, and every invariant looked at.

A generation states linear checksums of the counts that the writer kept under signed deltas. Here
the counts are built anew from the stored chunks, which share no code path with the deltas, and
compared bit for bit.
"""

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from index.checksums import sums_of
from index.communities.connected import broken_communities
from index.communities.hierarchy import Hierarchy
from index.communities.pruning import CountArrays, pruned
from index.counts.graph import Counts
from index.snapshot import Snapshot
from index.store import generations, meta
from index.store.connection import open_readonly, store_path, translated
from index.store.generations import Generation
from index.store.load import Names, whole_snapshot
from index.store.rows import int32_array

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was compared. ``detail`` says what with what, or what is wrong."""

    name: str
    ok: bool
    detail: str


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """All checks of one generation."""

    generation: int
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether every check holds."""
        return all(check.ok for check in self.checks)


def verify(directory: Path, progress: Progress = lambda _: None) -> VerifyReport:
    """Verify the newest generation of a store, from one read transaction.

    Safe beside a running writer. Raises ``StoreError`` where there is no store.
    """
    path = store_path(directory)
    connection = open_readonly(path)
    with translated(path):
        connection.execute("BEGIN")
        try:
            return _verify(connection, progress)
        finally:
            connection.close()


def _verify(connection: sqlite3.Connection, progress: Progress) -> VerifyReport:
    progress("reading the store")
    fingerprint = meta.stored_fingerprint(connection)
    dimensions = 0 if fingerprint is None else fingerprint.dimensions
    generation, snapshot = whole_snapshot(connection, Names(), dimensions)
    checks: list[Check] = []
    progress("checking the file")
    checks.append(_file(connection))
    checks.append(_generation_rows(connection))
    progress("recounting from the stored documents")
    counts = _recounted(snapshot)
    checks += _counts(counts, generation)
    progress("checking documents, chunks, full text and forms")
    checks += _rows(connection, generation)
    checks.append(_forms(connection))
    progress("checking the communities")
    checks += _communities(connection, snapshot)
    checks.append(_connected(connection, counts, snapshot, generation))
    return VerifyReport(generation.head.generation, tuple(checks))


def _file(connection: sqlite3.Connection) -> Check:
    found = [row[0] for row in connection.execute("PRAGMA quick_check(5)")]
    return Check("file", found == ["ok"], "; ".join(found))


def _generation_rows(connection: sqlite3.Connection) -> Check:
    broken = generations.broken_checksums(connection)
    kept = connection.execute("SELECT count(*) FROM generations").fetchone()[0]
    detail = f"{kept} generations, every checksum follows from its parent"
    return Check("generations", not broken, f"broken: {broken[:5]}" if broken else detail)


def _recounted(snapshot: Snapshot) -> Counts:
    matrix = snapshot.chunk_concepts
    return Counts.build(
        matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), snapshot.concept_count
    )


def _counts(counts: Counts, generation: Generation) -> Iterator[Check]:
    totals = generation.head.totals
    yield _equal("concepts", int(np.count_nonzero(counts.f)), totals.concepts)
    yield _equal("edges", counts.edge_count, totals.edges)
    yield _equal("F", counts.F, totals.frequency_sum)
    yield _equal("W", counts.W, totals.weight_sum)
    concepts = np.flatnonzero(counts.f).astype(np.int32)
    rebuilt = sums_of(concepts, counts.f[concepts], *counts.pairs())
    yield _equal("f, every concept", rebuilt.f_sum, generation.sums.f_sum)
    yield _equal("w, every pair", rebuilt.w_sum, generation.sums.w_sum)


def _equal(name: str, rebuilt: int, live: int) -> Check:
    same = rebuilt == live
    detail = f"{rebuilt:,} rebuilt = {live:,} live" if same else f"{rebuilt} rebuilt, {live} live"
    return Check(name, same, detail)


def _rows(connection: sqlite3.Connection, generation: Generation) -> Iterator[Check]:
    def count(sql: str) -> int:
        value: int = connection.execute(sql).fetchone()[0]
        return value

    totals = generation.head.totals
    yield _equal("documents", count("SELECT count(*) FROM documents"), totals.documents)
    yield _equal("chunks", count("SELECT count(*) FROM chunks"), totals.chunks)
    chunks = count("SELECT count(*) FROM chunks")
    yield _equal("full text", count("SELECT count(*) FROM full_text"), chunks)
    orphans = {
        "chunks without a document": "SELECT count(*) FROM chunks WHERE document NOT IN"
        " (SELECT number FROM documents)",
        "documents without a chunk": "SELECT count(*) FROM documents WHERE number NOT IN"
        " (SELECT document FROM chunks)",
        "full text without a chunk": "SELECT count(*) FROM full_text WHERE rowid NOT IN"
        " (SELECT slot FROM chunks)",
        "facets without a chunk": "SELECT count(*) FROM facets WHERE slot NOT IN"
        " (SELECT slot FROM chunks)",
        "documents with a tombstone": "SELECT count(*) FROM documents WHERE id IN"
        " (SELECT id FROM tombstones)",
        "chunks beyond their text": "SELECT count(*) FROM chunks c JOIN documents d"
        " ON d.number = c.document WHERE c.start >= c.end OR c.end > length(d.text)",
    }
    for name, sql in orphans.items():
        found = count(sql)
        yield Check(name, found == 0, str(found) if found else "none")
    stored = {
        (topic, partition): offset
        for topic, partition, offset in connection.execute("SELECT * FROM positions")
    }
    same = stored == dict(generation.head.positions)
    yield Check("positions", same, f"{len(stored)} partitions, the same in both places")


def _forms(connection: sqlite3.Connection) -> Check:
    parts = [int32_array(row[0]) for row in connection.execute("SELECT forms FROM chunks")]
    used = np.concatenate(parts) if parts else np.zeros(0, np.int32)
    numbers, n = np.unique(used, return_counts=True)
    rebuilt = dict(zip(numbers.tolist(), n.tolist(), strict=True))
    stored = dict(connection.execute("SELECT number, n FROM forms").fetchall())
    same = rebuilt == stored
    return Check("forms", same, f"{len(stored):,} surface forms recounted" if same else "differ")


def _communities(connection: sqlite3.Connection, snapshot: Snapshot) -> Iterator[Check]:
    grouped = snapshot.hierarchy
    problems = grouped.check()
    total = len(grouped.ids)
    yield Check(
        "communities",
        not problems,
        "; ".join(problems[:5]) or f"{total:,} communities, nested, sizes right, ids valid",
    )
    rebuilt = connection.execute("SELECT count(*) FROM membership").fetchone()[0]
    yield _equal("members", int(np.count_nonzero(grouped.leaf != Hierarchy.NONE)), rebuilt)


def _connected(
    connection: sqlite3.Connection, counts: Counts, snapshot: Snapshot, generation: Generation
) -> Check:
    """Whether every community hangs together in the graph that it was found in."""
    name, settings = "communities connected", meta.pruning(connection)
    if meta.grouped(connection) not in {None, generation.sums}:
        return Check(name, ok=True, detail="not looked at: counts have changed since the last run")
    grouped = snapshot.hierarchy
    graph = pruned(CountArrays.of(counts, snapshot.concept_count, settings), settings)
    broken = broken_communities(grouped, graph.u, graph.v)
    detail = f"{len(grouped.ids):,} looked at, in {len(graph.u):,} edges"
    return Check(name, not len(broken), f"broken: {broken[:5].tolist()}" if len(broken) else detail)
