"""The single writer: plans a batch, commits it as one generation, publishes its snapshot.

One thread owns a ``Writer``; only ``pin`` and ``latest`` may be called from others. A commit is
one SQLite transaction. The counts in memory are changed just before it ends and put back when it
fails, so that memory and store never disagree.
"""

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from index import admission, heads
from index.admission import Plan
from index.analysis.fingerprint import Fingerprint
from index.batch import Batch, DocumentWriting
from index.checksums import Sums
from index.communities.adopt import Adoption
from index.communities.hierarchy import Hierarchy
from index.communities.pruning import PruningSettings
from index.counts.graph import Counts
from index.errors import WriterFencedError
from index.report import GenerationReport
from index.snapshot import Change, Head, Snapshot
from index.store import communities, documents, generations, meta
from index.store.connection import open_writable, store_path, transaction, translated
from index.store.generations import Generation
from index.store.load import Names, whole_snapshot
from index.store.lock import WriterLock
from index.store.pins import Pins
from index.store.reader import StoreView
from index.store.rows import NextNumbers
from index.types import Analysis, Arrival, Delta, Millis, Rejected

Clock = Callable[[], float]
"""Seconds since 1970."""


class Writer:
    """The writer of one store directory, and a ``SnapshotSource`` for its own process."""

    def __init__(
        self,
        path: Path,
        lock: WriterLock,
        connection: sqlite3.Connection,
        fingerprint: Fingerprint,
        clock: Clock,
    ) -> None:
        self._path = path
        self._lock = lock
        self._connection = connection
        self._clock = clock
        self._names = Names()
        self._dimensions = fingerprint.dimensions
        self._generation, snapshot = whole_snapshot(connection, self._names, self._dimensions)
        self._counts = _counts_of(snapshot)
        self._epoch = meta.next_writer_epoch(connection)
        self._pins = Pins(self._path)
        self._pins.publish(snapshot)

    @classmethod
    def open(
        cls,
        directory: Path,
        *,
        fingerprint: Fingerprint,
        collection: str = "default",
        clock: Clock = time.time,
        store_name: str | None = None,
    ) -> "Writer":
        """Open or create the store of a directory (the one in force, unless named).

        Raises ``StoreLockedError`` (another writer), ``SchemaTooNewError``,
        ``FingerprintMismatchError`` (built with another analyzer) or ``StoreError``.
        """
        lock = WriterLock(directory)
        lock.acquire()
        try:
            path = store_path(directory) if store_name is None else directory / store_name
            connection = open_writable(path)
            with translated(path):
                meta.check_integrity(connection, path)
                meta.check_fingerprint(connection, fingerprint, collection)
                return cls(path, lock, connection, fingerprint, clock)
        except BaseException:
            lock.release()
            raise

    @property
    def positions(self) -> Mapping[tuple[str, int], int]:
        """The next offset of every (topic, partition) that the store has seen."""
        return self._generation.head.positions

    @property
    def counts(self) -> Counts:
        """The exact counts; the writer's own, to be read between commits only."""
        return self._counts

    @property
    def generation(self) -> Generation:
        """The newest generation."""
        return self._generation

    def grouped(self) -> Sums | None:
        """Checksums of the counts that the communities in force were computed from."""
        return meta.grouped(self._connection)

    def latest(self) -> Snapshot:
        """See ``SnapshotSource.latest``."""
        return self._pins.latest()

    @contextmanager
    def pin(self) -> Iterator[StoreView]:
        """See ``SnapshotSource.pin``."""
        with self._pins.pin() as view:
            yield view

    def plan(self, arrivals: Sequence[Arrival]) -> Plan:
        """Decide on a batch; holds until the next commit."""
        ids = filter(None, map(admission.document_id, arrivals))
        return admission.decide(arrivals, documents.known(self._connection, ids))

    def commit(
        self, plan: Plan, analyses: Mapping[str, Analysis | Rejected], *, force: bool = False
    ) -> GenerationReport:
        """Make a planned batch the next generation, and publish it.

        ``analyses`` holds one for every document of the plan, by document id; a rejected one
        becomes a dead letter and leaves the former revision as it was. A batch that changes
        nothing but positions is a generation too, unless it is empty (and not ``force``).
        Raises ``WriterFencedError`` when a newer writer took over; nothing is changed then.
        """
        if not plan.admitted and not force:
            return GenerationReport(self._generation.head.generation)
        started = time.perf_counter()
        concepts_before = len(self._names.vocabulary)
        batch = Batch.begin(self._names, self._dimensions, self._generation.next_numbers)
        undo: Delta | None = None
        try:
            with translated(self._path), transaction(self._connection):
                self._fence()
                number = self._generation.head.generation + 1
                DocumentWriting(self._connection, self._names, number, self._now()).write(
                    plan, analyses, batch
                )
                delta = batch.delta()
                self._counts.apply(delta)
                undo = delta
                generation = self._write_generation(plan, batch, delta)
        except BaseException:
            self._names.vocabulary.truncate(concepts_before)
            if undo is not None:
                self._counts.apply(_negated(undo))
            raise
        self._publish(generation, batch, delta, None)
        return GenerationReport(
            generation=generation.head.generation,
            outcomes=heads.outcomes(plan, batch.failed),
            rejected=heads.reasons(plan, batch.failed),
            chunks_added=len(batch.added),
            chunks_retracted=len(batch.removed),
            concepts_new=len(self._names.vocabulary) - concepts_before,
            pairs_changed=len(delta.u),
            documents=generation.head.totals.documents,
            chunks=generation.head.totals.chunks,
            seconds=time.perf_counter() - started,
        )

    def adopt(
        self,
        adoption: Adoption,
        modularity: tuple[float, ...],
        grouped: Sums,
        pruning: PruningSettings,
    ) -> GenerationReport:
        """Put a new partition in force, as a generation of its own.

        ``grouped``: checksums of the counts that it was computed from, pruned by ``pruning``.
        """
        started = time.perf_counter()
        with translated(self._path), transaction(self._connection):
            self._fence()
            before = self._generation
            number = before.head.generation + 1
            communities.write(self._connection, adoption, number)
            meta.write_grouped(self._connection, grouped, pruning)
            head = self._next_head()
            head = replace(head, totals=replace(head.totals, modularity=modularity))
            numbers = replace(before.next_numbers, community=adoption.next_id)
            generation = generations.insert(
                self._connection,
                before,
                Generation(head, adoption.hierarchy.epoch, self._epoch, numbers, before.sums, b""),
                np.zeros(0, np.int64),
                regrouped=True,
            )
        self._publish(generation, None, None, adoption.hierarchy)
        totals = head.totals
        return GenerationReport(
            generation=number,
            concepts_moved=len(adoption.moved[0]),
            documents=totals.documents,
            chunks=totals.chunks,
            seconds=time.perf_counter() - started,
        )

    def take_over(
        self, carry: Callable[[sqlite3.Connection], Mapping[tuple[str, int], int]]
    ) -> None:
        """End a reindexing: ``carry`` copies rows in and returns the positions to go on from."""
        with translated(self._path), transaction(self._connection):
            self._fence()
            positions = carry(self._connection)
            self._connection.execute("DELETE FROM positions")
            meta.write_positions(self._connection, positions)
            before = self._generation
            head = replace(self._next_head(), positions=positions)
            generation = generations.insert(
                self._connection,
                before,
                Generation(head, before.epoch, self._epoch, before.next_numbers, before.sums, b""),
                np.zeros(0, np.int64),
                regrouped=False,
            )
        self._publish(generation, None, None, None)

    def close(self) -> None:
        """Give the store up. Views in use stay valid until they are closed."""
        self._pins.close()
        self._connection.close()
        self._lock.release()

    def _fence(self) -> None:
        if meta.writer_epoch(self._connection) != self._epoch:
            raise WriterFencedError("a newer writer has taken this store over; this one stops")

    def _write_generation(self, plan: Plan, batch: Batch, delta: Delta) -> Generation:
        before = self._generation
        head = heads.next_head(before.head, plan, batch, self._counts, self._now())
        meta.write_positions(self._connection, head.positions)
        numbers = NextNumbers(
            batch.next_document,
            batch.next_chunk,
            len(self._names.vocabulary),
            before.next_numbers.community,
        )
        return generations.insert(
            self._connection,
            before,
            Generation(head, before.epoch, self._epoch, numbers, before.sums.after(delta), b""),
            batch.retracted_slots(),
            regrouped=False,
        )

    def _next_head(self) -> Head:
        """The head of a generation without arrivals."""
        before = self._generation.head
        return replace(before, generation=before.generation + 1, committed_at=self._now())

    def _publish(
        self,
        generation: Generation,
        batch: Batch | None,
        delta: Delta | None,
        hierarchy: Hierarchy | None,
    ) -> None:
        self._generation = generation
        touched = np.zeros(0, np.int32) if delta is None else delta.concepts
        change = Change(
            head=generation.head,
            added=batch.builder.segment() if batch is not None and batch.added else None,
            retracted=np.zeros(0, np.int64) if batch is None else batch.retracted_slots(),
            concept_count=generation.next_numbers.concept,
            frequency_of=touched,
            frequency=self._counts.f[touched],
            hierarchy=hierarchy,
        )
        self._pins.publish(self._pins.latest().following(change))

    def _now(self) -> Millis:
        return Millis(round(self._clock() * 1000))


def _counts_of(snapshot: Snapshot) -> Counts:
    matrix = snapshot.chunk_concepts
    return Counts.build(
        matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), snapshot.concept_count
    )


def _negated(delta: Delta) -> Delta:
    return Delta(delta.concepts, -delta.df, delta.u, delta.v, -delta.dw)
