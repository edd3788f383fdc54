"""The single writer: plans a batch, commits it as one generation, publishes its snapshot.

One thread owns a ``Writer``; only ``pin`` and ``latest`` may be called from others. A commit is
one SQLite transaction. The counts in memory are changed beside it, by a thread that ends before it
does, and read anew when it fails, so that memory and store never disagree.
"""

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
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
from index.counts.recount import counts_of
from index.expiry import DRAINED, EXPIRED_PER_RECORD, Window
from index.report import GenerationReport
from index.snapshot import Change, Head, Snapshot
from index.store import communities, documents, generations, meta
from index.store.connection import give_back, open_writable, store_path, translated
from index.store.fence import Fence
from index.store.folding import Folding
from index.store.generations import TIDIED_EVERY, Generation
from index.store.load import Names, whole_snapshot
from index.store.lock import WriterLock
from index.store.migrate import Told
from index.store.pins import Pins
from index.store.reader import StoreView
from index.store.rows import NextNumbers
from index.types import Analysis, Arrival, Delta, Int64Array, Millis, Rejected

Clock = Callable[[], float]
"""Seconds since 1970."""


_NO_SLOTS = np.zeros(0, np.int64)


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
        self._path = path
        self._lock = lock
        self._connection = connection
        self._clock = clock
        self._length = window
        self._names = Names()
        self._dimensions = fingerprint.dimensions
        self._generation, snapshot = whole_snapshot(connection, self._names, self._dimensions)
        self._dynamic = dynamic
        self._checkpoint = checkpoint
        self._live_now: LiveCommunities | None = self._resumed(snapshot)
        self._failed = False
        self._fence = Fence(connection, path)
        self._folding = Folding(connection, path)
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
        dynamic: DynamicSettings | None = None,
        window: Millis | None = None,
        migrated: Told = lambda _: None,
        checkpointed: CheckpointTold = lambda _: None,
        checkpoint_from: int = LEAST_EDGES,
        checkpoint_quiet: float = QUIET,
    ) -> "Writer":
        """Open or create the store of a directory (the one in force, unless named).

        ``dynamic``: how the communities follow the stream. ``window``: milliseconds behind the
        newest event time for which documents are kept; None keeps them all. ``migrated``
        is told that a store of an older schema is about to be changed, ``checkpointed`` what became
        of the checkpoint of the arrays; one is written from ``checkpoint_from`` edges on, at the
        end and after ``checkpoint_quiet`` seconds without a new generation (0: at the end alone).

        Raises ``StoreLockedError`` (another writer), ``SchemaTooNewError``,
        ``FingerprintMismatchError`` (built with another analyzer) or ``StoreError``.
        """
        lock = WriterLock(directory)
        lock.acquire()
        try:
            path = store_path(directory) if store_name is None else directory / store_name
            connection = open_writable(path, migrated=migrated)
            with translated(path):
                meta.check_integrity(connection, path)
                meta.check_fingerprint(connection, fingerprint, collection)
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
        return self._generation.head.positions

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
            return GenerationReport(self._generation.head.generation)
        return self._commit(plan, analyses)

    def expire(self) -> GenerationReport | None:
        """Take some of what is due out, in a generation of its own, for when the stream is idle.

        None where nothing is due and the window in force is the one that was set.
        """
        head = self._generation.head
        if not head.totals.due and head.horizon == self._window.horizon:
            return None
        return replace(self._commit(Plan((), {}), {}, DRAINED), drained=True)

    def _commit(
        self, plan: Plan, analyses: Mapping[str, Analysis | Rejected], most: int = 0
    ) -> GenerationReport:
        """``most``: documents that may expire whatever was written."""
        started = time.perf_counter()
        concepts_before = len(self._names.vocabulary)
        self._recover()
        batch = Batch.begin(self._names, self._dimensions, self._generation.next_numbers)
        try:
            with self._writing() as number:
                writing = DocumentWriting(self._connection, self._names, number, self._now())
                writing.begin(plan, analyses, batch)
                window = heads.window_after(self._window, plan)
                if window.horizon is not None:
                    most = max(most, EXPIRED_PER_RECORD * len(plan.admitted))
                    writing.expire(window.horizon, most, batch)
                delta, before = batch.delta(), self._live.hierarchy
                with ThreadPoolExecutor(1, "counts") as beside:
                    # Kernels and statements leave the interpreter to each other.
                    applying = beside.submit(self._live.apply, delta)
                    writing.write(plan, batch, heads.newest_arrival(self._generation.head, plan))
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
        self._recover()
        with self._writing() as number:
            before = self._live.hierarchy
            applied = self._live.take_over(found)
            communities.write(self._connection, before, applied.adoptions, number)
            meta.write_grouped(self._connection, grouped, pruning)
            meta.write_community_epoch(self._connection, found.epoch)
            head = self._next_head()
            modularity = heads.modularity_now(found.partition.modularity, self._live.quality)
            head = replace(head, totals=replace(head.totals, modularity=modularity))
            generation = self._insert(head, regrouped=True)
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
            after = replace(self._next_head(), positions=positions)
            if head is not None:
                expired, late = head.totals.expired, head.totals.late
                after = replace(
                    after,
                    watermark=head.watermark,
                    newest_arrival=head.newest_arrival,
                    totals=replace(after.totals, expired=expired, late=late),
                )
            generation = self._insert(after, regrouped=False)
        self._publish(generation, None, None, regrouped=False)

    def rest(self) -> None:
        """Called between commits while nothing comes; never waits. See ``Checkpoint.rest``."""
        if self._live_now is not None:
            self._checkpoint.rest(self._live_now, self._generation, self._dynamic)

    @property
    def checkpoint_problem(self) -> str:
        """Why the last look at the checkpoint found none to use or wrote none; "" else."""
        return self._checkpoint.problem

    def close(self) -> None:
        """Give the store up, with a checkpoint of the arrays where they are large.

        Views in use stay valid until they are closed.
        """
        self._pins.close()
        self._checkpoint.hold()
        if self._live_now is not None:
            self._checkpoint.write(self._live_now, self._generation, self._dynamic)
        self._connection.close()
        self._lock.release()

    @property
    def _window(self) -> Window:
        """The window where the stream stands now."""
        return heads.window_of(self._length, self._generation.head)

    @property
    def _live(self) -> LiveCommunities:
        """Counts and communities; read anew after a transaction that failed."""
        if self._live_now is None:
            self._live_now = self._read_live(self._pins.latest())
        return self._live_now

    def _resumed(self, snapshot: Snapshot) -> LiveCommunities:
        """Counts and communities from the checkpoint, else from the store."""
        epoch = meta.community_epoch(self._connection)
        kept = self._checkpoint.resume(snapshot.hierarchy, self._generation, epoch, self._dynamic)
        return kept or self._read_live(snapshot)

    def _read_live(self, snapshot: Snapshot) -> LiveCommunities:
        return LiveCommunities(
            counts_of(snapshot),
            snapshot.hierarchy,
            meta.community_epoch(self._connection),
            self._generation.next_numbers.community,
            self._dynamic,
        )

    def _recover(self) -> None:
        """After a failed transaction, begin as a restart would: under a writer epoch of its own.

        The generation log then says where every concept was queued.
        """
        if self._failed:
            self._fence.renew()
            self._failed = False

    @contextmanager
    def _writing(self) -> Iterator[int]:
        """The transaction of the next generation, whose number it gives.

        Where it fails, what it did in memory is dropped and read anew when it is next needed.
        """
        self._checkpoint.hold()
        try:
            with self._fence.transaction():
                yield self._generation.head.generation + 1
        except BaseException:
            self._live_now, self._failed = None, True
            raise

    def _write_batch(
        self, plan: Plan, batch: Batch, delta: Delta, window: Window, *, regrouped: bool
    ) -> Generation:
        before = self._generation
        due = documents.count_due(self._connection, window.horizon)
        head = heads.next_head(before.head, plan, batch, self._live, self._now(), window, due)
        meta.write_positions(self._connection, head.positions)
        numbers = replace(
            before.next_numbers,
            document=batch.next_document,
            chunk=batch.next_chunk,
            concept=len(self._names.vocabulary),
        )
        return self._insert(
            head, numbers, before.sums.after(delta), batch.retracted_slots(), regrouped=regrouped
        )

    def _insert(
        self,
        head: Head,
        numbers: NextNumbers | None = None,
        sums: Sums | None = None,
        retracted: Int64Array = _NO_SLOTS,
        *,
        regrouped: bool,
    ) -> Generation:
        """Write the generation's row; what is not given is as before."""
        before = self._generation
        numbers = replace(numbers or before.next_numbers, community=self._live.next_id)
        epoch = self._live.hierarchy.epoch
        generation = Generation(head, epoch, self._fence.epoch, numbers, sums or before.sums, b"")
        return generations.insert(
            self._connection, before, generation, retracted, regrouped=regrouped
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
        *,
        regrouped: bool,
    ) -> None:
        self._generation = generation
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
        self._pins.follow(change)
        self._folding.fold()

    def _now(self) -> Millis:
        """The time, but never before the newest generation's.

        A clock that is set back would else put what is told by its time (tombstones, dead letters)
        before what came earlier, where nobody who reads on from there would find it.
        """
        return max(Millis(round(self._clock() * 1000)), self._generation.head.committed_at)


def _cut(hierarchy: Hierarchy, generation: Generation) -> Hierarchy:
    """Without the room that the arrays hold for concepts to come."""
    return hierarchy.resized(generation.next_numbers.concept)
