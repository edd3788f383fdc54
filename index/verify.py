"""Verification: the counts rebuilt from the stored documents, and every invariant looked at.

A generation states linear checksums of the counts that the writer kept under signed deltas. Here
the counts are built anew from the stored chunks, which share no code path with the deltas, and
compared bit for bit.
"""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from index.checks import Check, Progress
from index.checksums import sums_of
from index.communities.adopt import LineageKind
from index.communities.connected import broken_communities
from index.communities.hierarchy import Hierarchy
from index.communities.pruning import CountArrays, PruningSettings
from index.communities.ties import epoch_graph
from index.counts.graph import Counts
from index.counts.recount import counts_of
from index.snapshot import Snapshot
from index.store import documents as store_documents
from index.store import generations, meta
from index.store.communities import GROWN
from index.store.connection import open_readonly, store_path, translated
from index.store.generations import Generation
from index.store.load import Names, whole_snapshot
from index.store.rows import int32_array


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
    counts = counts_of(snapshot)
    checks += _counts(counts, generation)
    progress("checking documents, chunks, full text and forms")
    checks += _rows(connection, generation)
    checks.append(_forms(connection))
    progress("checking the communities")
    checks += _communities(connection, snapshot, generation)
    checks += _grouped(connection, counts, snapshot)
    return VerifyReport(generation.head.generation, tuple(checks))


def _file(connection: sqlite3.Connection) -> Check:
    found = [row[0] for row in connection.execute("PRAGMA quick_check(5)")]
    return Check("file", found == ["ok"], "; ".join(found))


def _generation_rows(connection: sqlite3.Connection) -> Check:
    broken = generations.broken_checksums(connection)
    kept = connection.execute("SELECT count(*) FROM generations").fetchone()[0]
    detail = f"{kept} generations, every checksum follows from its parent"
    return Check("generations", not broken, f"broken: {broken[:5]}" if broken else detail)


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
    yield _equal("due", store_documents.count_due(connection, generation.head.horizon), totals.due)
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


def _communities(
    connection: sqlite3.Connection, snapshot: Snapshot, generation: Generation
) -> Iterator[Check]:
    grouped = snapshot.hierarchy
    problems = grouped.check()
    total = len(grouped.ids)
    yield Check(
        "communities",
        not problems,
        "; ".join(problems[:5]) or f"{total:,} communities, nested, sizes right, ids valid",
    )
    placed = grouped.leaf[grouped.leaf != Hierarchy.NONE]
    stored = connection.execute("SELECT count(*) FROM membership WHERE leaf >= 0").fetchone()[0]
    yield _equal("members", len(placed), stored)
    yield _ids(connection, generation)
    yield _growth(connection)


def _ids(connection: sqlite3.Connection, generation: Generation) -> Check:
    """Whether every id was given once, and none beyond the next free one."""
    twice = connection.execute(
        "SELECT community FROM lineage WHERE kind IN (?, ?) GROUP BY community HAVING count(*) > 1"
        " LIMIT 5",
        (LineageKind.BIRTH.value, LineageKind.SPLIT.value),
    ).fetchall()
    following = generation.next_numbers.community
    largest = connection.execute("SELECT coalesce(max(id), 0) FROM communities").fetchone()[0]
    ok = not twice and largest < following
    detail = f"each given once, the next is {following:,}"
    return Check("community ids", ok, detail if ok else f"given twice: {twice}; largest {largest}")


def _growth(connection: sqlite3.Connection) -> Check:
    """Whether lineage has told of every community that grew or declined by the factor."""
    living = "SELECT count(*) FROM communities WHERE died IS NULL"
    missing = connection.execute(f"{living} AND {GROWN}").fetchone()[0]
    detail = f"{missing:,} have another size than was told" if missing else "all of it told"
    return Check("community growth", not missing, detail)


def _grouped(connection: sqlite3.Connection, counts: Counts, snapshot: Snapshot) -> Iterator[Check]:
    """Whether communities hold together, and hold whom they must, in the graph of their epoch.

    The graph is made from the counts rebuilt here, so this also holds the weights that the writer
    kept under deltas against a recount.
    """
    grouped, epoch = snapshot.hierarchy, meta.community_epoch(connection)
    if epoch is None:
        found = len(grouped.ids)
        yield Check(
            "communities connected", ok=True, detail=f"{found} from before there were epochs"
        )
        return
    settings = PruningSettings(min_frequency=epoch.min_frequency)
    graph = epoch_graph(CountArrays.of(counts, snapshot.concept_count, settings), epoch)
    broken = broken_communities(grouped, graph.u, graph.v)
    detail = f"{len(grouped.ids):,} looked at, in {len(graph.u):,} edges"
    if len(broken):
        detail = f"broken: {broken[:5].tolist()}"
    yield Check("communities connected", not len(broken), detail)
    tied = np.zeros(snapshot.concept_count, np.bool_)
    tied[graph.u] = tied[graph.v] = True
    wrong = np.flatnonzero(tied != (grouped.leaf != Hierarchy.NONE))
    detail = f"{int(tied.sum()):,} with a tie belong somewhere, nobody else does"
    if len(wrong):
        detail = f"{len(wrong)} have ties and no community, or the other way: {wrong[:5].tolist()}"
    yield Check("concepts grouped", not len(wrong), detail)
