"""The single writer: plans a batch, commits it as one generation, publishes its snapshot.

One thread owns a ``Writer``; only ``pin`` and ``latest`` may be called from others. A commit is
one SQLite transaction. The counts in memory are changed just before it ends and put back when it
fails, so that memory and store never disagree.
"""

import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from index import admission
from index.admission import Admitted, DocumentOutcome, Plan
from index.analysis.fingerprint import Fingerprint
from index.checksums import Sums
from index.communities.adopt import Adoption
from index.communities.hierarchy import Hierarchy
from index.communities.pruning import PruningSettings
from index.counts.delta import chunk_delta
from index.counts.graph import Counts
from index.errors import WriterFencedError
from index.snapshot import Change, Head, Snapshot
from index.store import communities, dead_letters, documents, generations, meta
from index.store.changes import record_changes
from index.store.connection import open_writable, store_path, transaction, translated
from index.store.documents import FormCounts, Withdrawn
from index.store.generations import Generation
from index.store.load import Names, SegmentBuilder, whole_snapshot
from index.store.lock import WriterLock
from index.store.pins import Pins
from index.store.reader import StoreView
from index.store.rows import NextNumbers, int32_blob
from index.types import Analysis, Arrival, Delta, Int32Array, Millis, Rejected, Upsert, to_millis

Clock = Callable[[], float]
"""Seconds since 1970."""


@dataclass(frozen=True, slots=True)
class GenerationReport:
    """What a generation did, for one line of the log and the metrics."""

    generation: int
    outcomes: Mapping[DocumentOutcome, int] = field(default_factory=dict)
    rejected: Mapping[str, int] = field(default_factory=dict)
    chunks_added: int = 0
    chunks_retracted: int = 0
    concepts_new: int = 0
    pairs_changed: int = 0
    concepts_moved: int = 0
    documents: int = 0
    chunks: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class _Batch:
    """What a transaction gathers on its way."""

    builder: SegmentBuilder
    forms: FormCounts
    added: list[Int32Array] = field(default_factory=list)
    removed: list[Int32Array] = field(default_factory=list)
    retracted: list[int] = field(default_factory=list)
    failed: dict[str, Rejected] = field(default_factory=dict)
    withdrawn: dict[str, Withdrawn] = field(default_factory=dict)
    inserted: dict[str, Int32Array] = field(default_factory=dict)
    next_document: int = 0
    next_chunk: int = 0


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
        numbers = self._generation.next_numbers
        batch = _Batch(
            SegmentBuilder(self._names, self._dimensions),
            FormCounts(self._connection),
            next_document=numbers.document,
            next_chunk=numbers.chunk,
        )
        undo: Delta | None = None
        try:
            with translated(self._path), transaction(self._connection):
                self._fence()
                self._write_documents(plan, analyses, batch)
                delta = chunk_delta(batch.added, batch.removed)
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
            outcomes=_outcomes(plan, batch.failed),
            rejected=_reasons(plan, batch.failed),
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
            head = self._head(before.head, modularity=modularity)
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
            head = self._head(before.head, positions=positions)
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

    def _write_documents(
        self, plan: Plan, analyses: Mapping[str, Analysis | Rejected], batch: _Batch
    ) -> None:
        known = documents.known(self._connection, plan.final)
        for key, admitted in plan.final.items():
            content = admitted.arrival.content
            before = known.get(key)
            analysis = analyses[key] if isinstance(content, Upsert) else None
            if isinstance(analysis, Rejected):
                batch.failed[key] = analysis
                continue
            if before is not None and before.number is not None:
                self._withdraw(key, batch)
            if analysis is not None:
                self._insert(admitted, analysis, batch)
            else:
                documents.bury(self._connection, admitted, before, self._now())
        batch.forms.flush()
        record_changes(
            self._connection,
            plan,
            batch.failed,
            batch.withdrawn,
            batch.inserted,
            self._generation.head.generation + 1,
        )
        refused = [(a.arrival.record, a.rejected) for a in plan.admitted if a.rejected is not None]
        refused += [(plan.final[key].arrival.record, why) for key, why in batch.failed.items()]
        dead_letters.insert(self._connection, refused, self._now())

    def _withdraw(self, key: str, batch: _Batch) -> None:
        gone = documents.withdraw(self._connection, key, batch.forms)
        batch.withdrawn[key] = gone
        batch.removed += [chunk.concepts for chunk in gone.chunks]
        batch.retracted += [chunk.slot for chunk in gone.chunks]

    def _insert(self, admitted: Admitted, analysis: Analysis, batch: _Batch) -> None:
        content = admitted.arrival.content
        assert isinstance(content, Upsert)  # noqa: S101  the caller has looked
        document = content.document
        chunks, title = documents.insert(
            self._connection,
            document,
            analysis,
            number=batch.next_document,
            first_slot=batch.next_chunk,
            position=admitted.arrival.record.position,
            generation=self._generation.head.generation + 1,
            vocabulary=self._names.vocabulary,
            forms=batch.forms,
        )
        batch.builder.document(
            batch.next_document,
            to_millis(document.event_at),
            to_millis(document.observed_at),
            document.source,
            analysis.lang,
            int32_blob(title),
        )
        for chunk, analyzed in zip(chunks, analysis.chunks, strict=True):
            batch.builder.chunk(chunk.slot, int32_blob(chunk.concepts), analyzed.vector)
            batch.added.append(chunk.concepts)
        batch.inserted[document.id] = _union([chunk.concepts for chunk in chunks])
        batch.next_document += 1
        batch.next_chunk += len(chunks)

    def _write_generation(self, plan: Plan, batch: _Batch, delta: Delta) -> Generation:
        before = self._generation
        positions = dict(before.head.positions)
        for admitted in plan.admitted:
            at = admitted.arrival.record.position
            key = (at.topic, at.partition)
            positions[key] = max(positions.get(key, 0), at.offset + 1)
        meta.write_positions(self._connection, positions)
        head = self._head(before.head, plan=plan, positions=positions, batch=batch)
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
            np.array(sorted(batch.retracted), np.int64),
            regrouped=False,
        )

    def _head(
        self,
        before: Head,
        *,
        plan: Plan | None = None,
        positions: Mapping[tuple[str, int], int] | None = None,
        batch: _Batch | None = None,
        modularity: tuple[float, ...] | None = None,
    ) -> Head:
        arrivals = [a.arrival for a in plan.admitted] if plan is not None else []
        observed = [admission.observed_at(a) for a in arrivals if not _is_rejected(a)]
        events = [
            to_millis(a.content.document.event_at)
            for a in arrivals
            if isinstance(a.content, Upsert)
        ]
        totals, counts = before.totals, self._counts
        documents_now = totals.documents
        if batch is not None:
            documents_now += len(batch.inserted) - len(batch.withdrawn)
        chunks_now = totals.chunks
        if batch is not None:
            chunks_now += len(batch.added) - len(batch.removed)
        return Head(
            generation=before.generation + 1,
            committed_at=self._now(),
            watermark=Millis(max([before.watermark, *events])),
            newest_arrival=Millis(max([before.newest_arrival, *observed])),
            positions=before.positions if positions is None else positions,
            totals=replace(
                totals,
                documents=documents_now,
                chunks=chunks_now,
                concepts=int(np.count_nonzero(counts.f)),
                edges=counts.edge_count,
                frequency_sum=counts.F,
                weight_sum=counts.W,
                modularity=totals.modularity if modularity is None else modularity,
            ),
        )

    def _publish(
        self,
        generation: Generation,
        batch: _Batch | None,
        delta: Delta | None,
        hierarchy: Hierarchy | None,
    ) -> None:
        self._generation = generation
        touched = np.zeros(0, np.int32) if delta is None else delta.concepts
        retracted = [] if batch is None else sorted(batch.retracted)
        change = Change(
            head=generation.head,
            added=batch.builder.segment() if batch is not None and batch.added else None,
            retracted=np.array(retracted, np.int64),
            concept_count=generation.next_numbers.concept,
            frequency_of=touched,
            frequency=self._counts.f[touched],
            hierarchy=hierarchy,
        )
        self._pins.publish(self._pins.latest().following(change))

    def _now(self) -> Millis:
        return Millis(round(self._clock() * 1000))


def _is_rejected(arrival: Arrival) -> bool:
    return isinstance(arrival.content, Rejected)


def _counts_of(snapshot: Snapshot) -> Counts:
    matrix = snapshot.chunk_concepts
    return Counts.build(
        matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), snapshot.concept_count
    )


def _negated(delta: Delta) -> Delta:
    return Delta(delta.concepts, -delta.df, delta.u, delta.v, -delta.dw)


def _union(parts: Sequence[Int32Array]) -> Int32Array:
    return np.unique(np.concatenate(parts)) if parts else np.zeros(0, np.int32)


def _outcomes(plan: Plan, failed: Mapping[str, Rejected]) -> dict[DocumentOutcome, int]:
    counter = Counter(admitted.outcome for admitted in plan.admitted)
    for key in failed:
        counter[plan.final[key].outcome] -= 1
        counter[DocumentOutcome.REJECTED] += 1
    return dict(counter)


def _reasons(plan: Plan, failed: Mapping[str, Rejected]) -> dict[str, int]:
    refused = [a.rejected for a in plan.admitted if a.rejected is not None]
    return dict(Counter(why.reason.value for why in [*refused, *failed.values()]))
