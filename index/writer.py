"""The single writer: plans a batch, commits it as one generation, publishes its snapshot.

One thread owns a ``Writer``; only ``pin`` and ``latest`` may be called from others. A commit is
one SQLite transaction. The counts in memory are changed beside it, by a thread that ends before it
does, and read anew when it fails, so that memory and store never disagree.
"""

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from index import admission, heads
from index.admission import Plan
from index.analysis.fingerprint import Fingerprint
from index.batch import Batch, DocumentWriting
from index.checkpoint import LEAST_EDGES, QUIET, Checkpoint
from index.checkpoint import Told as CheckpointTold
from index.checksums import Sums
from index.communities.dynamic import DynamicSettings
from index.communities.fullrun import FullRun
from index.communities.hierarchy import Hierarchy
from index.communities.live import LiveCommunities
from index.communities.pruning import PruningSettings
from index.counts.graph import Counts
from index.expiry import DRAINED, EXPIRED_PER_RECORD, Window
from index.generation_log import Clock, GenerationLog
from index.report import GenerationReport
from index.resident import Resident
from index.snapshot import Change, Head, Snapshot
from index.store import communities, dead_letters, documents, meta
from index.store.connection import give_back, open_writable, remove_unused, store_path, translated
from index.store.generations import TIDIED_EVERY, Generation
from index.store.load import Names, whole_snapshot
from index.store.lock import WriterLock
from index.store.migrate import Told
from index.store.reader import StoreView
from index.store.work import remove_abandoned
from index.types import Analysis, Arrival, Delta, Millis, Rejected


class Writer:
    """The writer of one store directory, and a ``SnapshotSource`` for its own process."""

    def __init__(
        self,
        path: Path,
        lock: WriterLock,
        connection: sqlite3.Connection,
        fingerprint: Fingerprint,
        clock: Clock,
        dynamic: DynamicSettings,
        window: Millis | None,
        checkpoint: Checkpoint,
    ) -> None:
        self._lock = lock
        self._connection = connection
        self._length = window
        self._names = Names()
        self._dimensions = fingerprint.dimensions
        generation, snapshot = whole_snapshot(connection, self._names, self._dimensions)
        self._resident = Resident(connection, checkpoint, dynamic, snapshot, generation)
        self._log = GenerationLog(connection, path, generation, snapshot, clock)

    @classmethod
    def open(
        cls,
        directory: Path,
        *,
        fingerprint: Fingerprint,
        collection: str = "default",
        clock: Clock = time.time,
        store_name: str | None = None,
        locked: bool = False,
        dynamic: DynamicSettings | None = None,
        window: Millis | None = None,
        migrated: Told = lambda _: None,
        checkpointed: CheckpointTold = lambda _: None,
        checkpoint_from: int = LEAST_EDGES,
        checkpoint_quiet: float = QUIET,
    ) -> "Writer":
        """Open or create the store of a directory (the one in force, unless named).

        What processes that were killed have left there is removed first. ``locked``: the caller
        holds the directory's lock, and keeps it.
        ``dynamic``: how the communities follow the stream. ``window``: milliseconds behind the
        newest event time for which documents are kept; None keeps them all. ``migrated``
        is told that a store of an older schema is about to be changed, ``checkpointed`` what became
        of the checkpoint of the arrays; one is written from ``checkpoint_from`` edges on, at the
        end and after ``checkpoint_quiet`` seconds without a new generation (0: at the end alone).

        Raises ``StoreLockedError`` (another writer), ``SchemaTooNewError``,
        ``FingerprintMismatchError`` (built with another analyzer) or ``StoreError``.
        """
        lock = WriterLock(directory)
        if not locked:
            lock.acquire()
        try:
            remove_abandoned(directory)
            remove_unused(directory)
            path = store_path(directory) if store_name is None else directory / store_name
            connection = open_writable(path, migrated=migrated)
            with translated(path):
                meta.check_integrity(connection, path)
                meta.check_fingerprint(connection, fingerprint, collection)
                dead_letters.take_stock(connection)
                dynamic = dynamic or DynamicSettings()
                kept = Checkpoint(
                    path, least=checkpoint_from, quiet=checkpoint_quiet, told=checkpointed
                )
                return cls(path, lock, connection, fingerprint, clock, dynamic, window, kept)
        except BaseException:
            lock.release()
            raise

    @property
    def positions(self) -> Mapping[tuple[str, int], int]:
        """The next offset of every (topic, partition) that the store has seen."""
        return self.generation.head.positions

    @property
    def counts(self) -> Counts:
        """The exact counts; the writer's own, to be read between commits only."""
        return self._live.counts

    @property
    def live(self) -> LiveCommunities:
        """Counts and communities; the writer's own, to be read between commits only."""
        return self._live

    @property
    def generation(self) -> Generation:
        """The newest generation."""
        return self._log.newest

    def grouped(self) -> Sums | None:
        """Checksums of the counts that the communities in force were computed from."""
        return meta.grouped(self._connection)

    def latest(self) -> Snapshot:
        """See ``SnapshotSource.latest``."""
        return self._log.latest()

    def pin(self) -> AbstractContextManager[StoreView]:
        """See ``SnapshotSource.pin``."""
        return self._log.pin()

    def plan(self, arrivals: Sequence[Arrival]) -> Plan:
        """Decide on a batch; holds until the next commit."""
        ids = filter(None, map(admission.document_id, arrivals))
        return admission.decide(arrivals, documents.known(self._connection, ids), self._window)

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
            return GenerationReport(self.generation.head.generation)
        return self._commit(plan, analyses)

    def expire(self) -> GenerationReport | None:
        """Take some of what is due out, in a generation of its own, for when the stream is idle.

        None where nothing is due and the window in force is the one that was set.
        """
        head = self.generation.head
        if not head.totals.due and head.horizon == self._window.horizon:
            return None
        return replace(self._commit(Plan((), {}), {}, DRAINED), drained=True)

    def _commit(
        self, plan: Plan, analyses: Mapping[str, Analysis | Rejected], most: int = 0
    ) -> GenerationReport:
        """``most``: documents that may expire whatever was written."""
        started = time.perf_counter()
        concepts_before = len(self._names.vocabulary)
        batch = Batch.begin(self._names, self._dimensions, self.generation.next_numbers)
        try:
            with self._writing() as number:
                writing = DocumentWriting(self._connection, self._names, number, self._log.now())
                writing.begin(plan, analyses, batch)
                window = heads.window_after(self._window, plan)
                if window.horizon is not None:
                    most = max(most, EXPIRED_PER_RECORD * len(plan.admitted))
                    writing.expire(window.horizon, most, batch)
                delta, before = batch.delta(), self._live.hierarchy
                with ThreadPoolExecutor(1, "counts") as beside:
                    # Kernels and statements leave the interpreter to each other.
                    applying = beside.submit(self._live.apply, delta)
                    writing.write(plan, batch, heads.newest_arrival(self.generation.head, plan))
                applied = applying.result()
                regrouped = communities.write(self._connection, before, applied.adoptions, number)
                generation = self._write_batch(plan, batch, delta, window, regrouped=regrouped)
                if number % TIDIED_EVERY == 0:
                    documents.forget_tombstones(self._connection, self._length)
                    give_back(self._connection)
        except BaseException as error:
            told = batch.refusal(error, self._names.vocabulary, self.latest().generation)
            self._names.vocabulary.truncate(concepts_before)
            if told is error:
                raise
            raise told from error
        self._publish(generation, batch, delta, regrouped=regrouped)
        return GenerationReport(
            generation=generation.head.generation,
            outcomes=heads.outcomes(plan, batch.failed),
            rejected=heads.reasons(plan, batch.failed),
            chunks_added=len(batch.added),
            chunks_retracted=len(batch.removed),
            concepts_new=len(self._names.vocabulary) - concepts_before,
            pairs_changed=len(delta.u),
            concepts_moved=applied.moved,
            work=applied.work,
            documents=generation.head.totals.documents,
            chunks=generation.head.totals.chunks,
            seconds=time.perf_counter() - started,
            expired=len(batch.expired),
            due=generation.head.totals.due,
        )

    def adopt(
        self,
        found: FullRun,
        grouped: Sums,
        pruning: PruningSettings,
    ) -> GenerationReport:
        """Put a full run in force, as a generation of its own.

        ``grouped``: checksums of the counts that it was computed from, pruned by ``pruning``. What
        has changed since is caught up with before anything is stored.
        """
        started = time.perf_counter()
        with self._writing() as number:
            before = self._live.hierarchy
            applied = self._live.take_over(found)
            communities.write(self._connection, before, applied.adoptions, number)
            meta.write_grouped(self._connection, grouped, pruning)
            meta.write_community_epoch(self._connection, found.epoch)
            head = self._log.next_head()
            modularity = heads.modularity_now(found.partition.modularity, self._live.quality)
            head = replace(head, totals=replace(head.totals, modularity=modularity))
            generation = self._log.insert(head, self._live, regrouped=True)
        self._publish(generation, None, None, regrouped=True)
        totals = head.totals
        return GenerationReport(
            generation=number,
            concepts_moved=applied.moved,
            work=applied.work,
            documents=totals.documents,
            chunks=totals.chunks,
            seconds=time.perf_counter() - started,
        )

    def take_over(
        self,
        carry: Callable[[sqlite3.Connection], Mapping[tuple[str, int], int]],
        head: Head | None = None,
    ) -> None:
        """End a reindexing: ``carry`` copies rows in and returns the positions to go on from.

        ``head``: that of the store it was made from; its clock and its sums of the past go on.
        """
        with self._writing():
            positions = carry(self._connection)
            self._connection.execute("DELETE FROM positions")
            meta.write_positions(self._connection, positions)
            after = replace(self._log.next_head(), positions=positions)
            if head is not None:
                expired, late = head.totals.expired, head.totals.late
                after = replace(
                    after,
                    watermark=head.watermark,
                    newest_arrival=head.newest_arrival,
                    totals=replace(after.totals, expired=expired, late=late),
                )
            generation = self._log.insert(after, self._live, regrouped=False)
        self._publish(generation, None, None, regrouped=False)

    def rest(self) -> None:
        """Called between commits while nothing comes; never waits. See ``Checkpoint.rest``."""
        self._resident.rest(self.generation)

    @property
    def checkpoint_problem(self) -> str:
        """Why the last look at the checkpoint found none to use or wrote none; "" else."""
        return self._resident.checkpoint.problem

    def close(self) -> None:
        """Give the store up, with a checkpoint of the arrays where they are large.

        Views in use stay valid until they are closed.
        """
        self._log.close()
        self._resident.close(self.generation)
        self._connection.close()
        self._lock.release()

    @property
    def _window(self) -> Window:
        """The window where the stream stands now."""
        return heads.window_of(self._length, self.generation.head)

    @property
    def _live(self) -> LiveCommunities:
        """Counts and communities; read anew after a transaction that failed."""
        return self._resident.live(self.latest(), self.generation)

    @contextmanager
    def _writing(self) -> Iterator[int]:
        """The transaction of the next generation, whose number it gives.

        Where it fails, what it did in memory is dropped and read anew when it is next needed.
        """
        self._resident.checkpoint.hold()
        try:
            with self._log.transaction() as number:
                yield number
        except BaseException:
            self._resident.drop()
            raise

    def _write_batch(
        self, plan: Plan, batch: Batch, delta: Delta, window: Window, *, regrouped: bool
    ) -> Generation:
        before = self.generation
        due = documents.count_due(self._connection, window.horizon)
        head = heads.next_head(before.head, plan, batch, self._live, self._log.now(), window, due)
        meta.write_positions(self._connection, head.positions)
        numbers = replace(
            before.next_numbers,
            document=batch.next_document,
            chunk=batch.next_chunk,
            concept=len(self._names.vocabulary),
        )
        return self._log.insert(
            head,
            self._live,
            numbers,
            before.sums.after(delta),
            batch.retracted_slots(),
            regrouped=regrouped,
        )

    def _publish(
        self,
        generation: Generation,
        batch: Batch | None,
        delta: Delta | None,
        *,
        regrouped: bool,
    ) -> None:
        touched = np.zeros(0, np.int32) if delta is None else delta.concepts
        change = Change(
            head=generation.head,
            added=batch.builder.segment() if batch is not None and batch.added else None,
            retracted=np.zeros(0, np.int64) if batch is None else batch.retracted_slots(),
            concept_count=generation.next_numbers.concept,
            frequency_of=touched,
            frequency=self._live.counts.f[touched],
            hierarchy=_cut(self._live.hierarchy, generation) if regrouped else None,
        )
        self._log.publish(generation, change)


def _cut(hierarchy: Hierarchy, generation: Generation) -> Hierarchy:
    """Without the room that the arrays hold for concepts to come."""
    return hierarchy.resized(generation.next_numbers.concept)
