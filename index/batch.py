"""The documents of one batch: rows written and removed, and what the rest of a commit needs of it.

Runs inside the writer's transaction. Nothing outside the store changes but the shared names, which
the writer cuts back when the transaction fails.
"""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from index.admission import Admitted, DocumentOutcome, Known, Plan
from index.counts.delta import chunk_delta
from index.errors import NegativeCountError
from index.store import dead_letters, documents
from index.store.changes import record_changes, record_expiry
from index.store.documents import Withdrawn
from index.store.forms import FormCounts
from index.store.insertion import Insertion, Named, insert, name, write_concepts
from index.store.load import Names, SegmentBuilder
from index.store.rows import NextNumbers, int32_array
from index.types import Analysis, Delta, Document, Int32Array, Millis, Position, Rejected, Upsert
from index.vocabulary import Vocabulary

_TOLD = 5  # documents that an error names


@dataclass(slots=True)
class Batch:
    """What a transaction gathers on its way; owned by it.

    ``failed``: documents whose analysis was rejected. ``inserted``: what the written ones name.
    ``retracted``: slots. ``expired``: those of ``withdrawn`` that the window took.
    """

    builder: SegmentBuilder
    next_document: int
    next_chunk: int
    added: list[Int32Array] = field(default_factory=list)
    removed: list[Int32Array] = field(default_factory=list)
    retracted: list[int] = field(default_factory=list)
    failed: dict[str, Rejected] = field(default_factory=dict)
    withdrawn: dict[str, Withdrawn] = field(default_factory=dict)
    inserted: dict[str, Named] = field(default_factory=dict)
    expired: list[str] = field(default_factory=list)

    @classmethod
    def begin(cls, names: Names, dimensions: int, numbers: NextNumbers) -> "Batch":
        """An empty batch that gives numbers from the next free ones on."""
        return cls(SegmentBuilder(names, dimensions), numbers.document, numbers.chunk)

    def refusal(
        self, error: BaseException, vocabulary: Vocabulary, generation: int
    ) -> BaseException:
        """The error to raise; where a count would become negative, with what led to it."""
        if not isinstance(error, NegativeCountError):
            return error
        keys = " and ".join(f"'{vocabulary.key(number)}'" for number in error.concepts)
        concerned = [
            key
            for key, gone in self.withdrawn.items()
            if set(error.concepts) <= set(gone.concepts.tolist())
        ]
        return NegativeCountError(
            f"{error}: {keys}, after generation {generation}; the batch withdraws"
            f" {len(self.withdrawn)} documents and writes {len(self.inserted)}, of the former these"
            f" name it: {', '.join(concerned[:_TOLD]) or 'none'}. The counts in memory"
            " disagree with the store; they are counted anew for the next batch",
            error.concepts,
        )

    def numbered(self, document: Document, analysis: Analysis, position: Position) -> Insertion:
        """A document under the next free numbers."""
        one = Insertion(document, analysis, position, self.next_document, self.next_chunk)
        self.next_document += 1
        self.next_chunk += len(analysis.chunks)
        return one

    def bring(self, one: Insertion, names: Named) -> None:
        """Take in a document that is written."""
        document, analysis = one.document, one.analysis
        self.builder.document(
            one.number,
            names.event_at,
            names.observed_at,
            document.source,
            analysis.lang,
            names.title,
        )
        for slot, (chunk, concepts) in enumerate(
            zip(analysis.chunks, names.chunks, strict=True), one.first_slot
        ):
            self.builder.chunk(slot, concepts, chunk.vector)
            self.added.append(int32_array(concepts))
        self.inserted[document.id] = names

    def delta(self) -> Delta:
        """The signed change of the counts."""
        return chunk_delta(self.added, self.removed)

    def retracted_slots(self) -> np.ndarray:
        """int64, sorted."""
        return np.array(sorted(self.retracted), np.int64)


class DocumentWriting:
    """Writes one batch's documents through one connection, in one transaction.

    After ``begin`` and ``expire`` the batch tells how the counts change; ``write`` needs nothing of
    that, and nothing that it writes is asked for.
    """

    def __init__(
        self, connection: sqlite3.Connection, names: Names, generation: int, now: Millis
    ) -> None:
        self._connection = connection
        self._vocabulary = names.vocabulary
        self._first_new = len(names.vocabulary)
        self._generation = generation
        self._now = now
        self._forms = FormCounts(connection)
        self._insertions: list[Insertion] = []
        self._named: list[Named] = []

    def begin(self, plan: Plan, analyses: Mapping[str, Analysis | Rejected], batch: Batch) -> None:
        """Take out what a plan replaces or withdraws, and give what it brings its numbers."""
        buried: list[tuple[Admitted, Known | None]] = []
        for key, admitted in plan.final.items():
            content = admitted.arrival.content
            before = plan.known.get(key)
            kept = isinstance(content, Upsert) and admitted.outcome is not DocumentOutcome.LATE
            analysis = analyses[key] if kept else None
            if isinstance(analysis, Rejected):
                batch.failed[key] = analysis
                continue
            if before is not None and before.number is not None:
                self._withdraw(key, batch)
            if analysis is None or not isinstance(content, Upsert):
                buried.append((admitted, before))
            else:
                position = admitted.arrival.record.position
                self._insertions.append(batch.numbered(content.document, analysis, position))
        documents.bury(self._connection, buried, self._now)
        self._named = name(self._insertions, self._vocabulary)
        for one, names in zip(self._insertions, self._named, strict=True):
            batch.bring(one, names)

    def expire(self, horizon: Millis, most: int, batch: Batch) -> None:
        """Take out the oldest documents before the horizon, ``most`` at most, after ``begin``."""
        batch.expired = documents.bury_due(
            self._connection, horizon, self._generation, most, self._now
        )
        for key in batch.expired:
            self._withdraw(key, batch)

    def write(self, plan: Plan, batch: Batch, newest: Millis) -> None:
        """Write what was brought, the changes, and what was refused.

        ``newest``: when the newest record was observed; what expired did so then.
        """
        connection = self._connection
        brought = [one.document.id for one in self._insertions]
        documents.unbury(connection, filter(plan.known.__contains__, brought))
        write_concepts(connection, self._vocabulary, self._first_new)
        insert(
            connection,
            self._insertions,
            self._named,
            self._generation,
            self._forms,
            self._first_new,
        )
        self._forms.flush()
        changed = batch.failed, batch.withdrawn, batch.inserted
        record_changes(connection, plan, *changed, self._generation)
        expired = [batch.withdrawn[key] for key in batch.expired]
        record_expiry(connection, expired, newest, self._generation)
        refused = [(a.arrival.record, a.rejected) for a in plan.admitted if a.rejected is not None]
        refused += [(plan.final[key].arrival.record, why) for key, why in batch.failed.items()]
        dead_letters.insert(connection, refused, self._now)

    def _withdraw(self, key: str, batch: Batch) -> None:
        gone = documents.withdraw(self._connection, key, self._forms)
        batch.withdrawn[key] = gone
        batch.removed += [chunk.concepts for chunk in gone.chunks]
        batch.retracted += [chunk.slot for chunk in gone.chunks]
