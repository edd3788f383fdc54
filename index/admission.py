"""Which arrivals change the index: order, versions and duplicates, as pure rules.

The rules (``docs/decisions/0001-versions-and-deletes.md``): where an upsert or the stored revision
has a version, only a greater one is applied (a missing one counts as 0); an equal version with
the same content is a duplicate, with other content a conflict. Without versions the order of the
partition decides, and a key that was first seen in another partition of its topic is rejected.
A delete with a version follows the same rule; a delete without one (a null value has no place for
it) is ordered by its partition alone and keeps the version of what it withdrew.

With a window, a revision that is due to expire counts as gone whether or not it was taken out
yet, so that no decision depends on how far expiry has come. What would be applied but lies
outside the window is late: it is not indexed, and what it replaces is withdrawn
(``docs/decisions/0009-expiry.md``).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from index.expiry import Window
from index.types import Arrival, Deletion, Document, Millis, Reason, Rejected, Upsert, to_millis


class DocumentOutcome(StrEnum):
    """What became of one record; the closed list that metrics count by."""

    INSERTED = "inserted"
    EDITED = "edited"
    DELETED = "deleted"
    DUPLICATE = "duplicate"
    STALE = "stale"
    UNKNOWN_DELETE = "unknown_delete"
    REJECTED = "rejected"
    LATE = "late"


@dataclass(frozen=True, slots=True)
class Known:
    """What the store knows of an id: a living revision (``number``) or a tombstone (None).

    ``event_at`` in milliseconds, of a living revision.
    """

    number: int | None
    content_hash: bytes
    version: int | None
    topic: str
    partition: int
    event_at: int = 0


@dataclass(frozen=True, slots=True)
class Admitted:
    """An arrival with the decision on it; ``rejected`` tells why where it was refused.

    ``replaces``: a revision stood before it, in the store or in the batch.
    """

    arrival: Arrival
    outcome: DocumentOutcome
    rejected: Rejected | None = None
    replaces: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """The decisions on a batch.

    ``admitted`` has every arrival in order. ``final`` is the net effect by document id: the
    revision to be indexed with the partition it came from, or a withdrawal. ``known`` is what the
    store knew of the ids when the plan was made.
    """

    admitted: tuple[Admitted, ...]
    final: Mapping[str, Admitted]
    known: Mapping[str, Known] = field(default_factory=dict)

    @property
    def documents(self) -> list[Document]:
        """The documents that must be analysed, in order of their last arrival."""
        found = []
        for admitted in self.final.values():
            content = admitted.arrival.content
            if isinstance(content, Upsert) and admitted.outcome is not DocumentOutcome.LATE:
                found.append(content.document)
        return found


def decide(
    arrivals: Sequence[Arrival], known: Mapping[str, Known], window: Window | None = None
) -> Plan:
    """Admit a batch in order.

    Args:
        arrivals: In the order of their partitions.
        known: What the store knows of the ids in it.
        window: As it stands before the batch; it moves with every arrival, so that nothing depends
            on where batches are cut.
    """
    window = window or Window()
    state = dict(known)
    arriving = Counter(filter(None, map(document_id, arrivals)))
    admitted: list[Admitted] = []
    final: dict[str, Admitted] = {}
    for arrival in arrivals:
        if isinstance(arrival.content, Upsert):
            window = window.after(arrival.content.document)
        one = _admit(arrival, state, window)
        admitted.append(one)
        key = document_id(arrival)
        if key is None or one.outcome not in _APPLIED:
            continue
        if arriving[key] > 1:  # else nobody asks what is known of it now
            state[key] = _after(one, state.get(key))
            final.pop(key, None)
        final[key] = one
    return Plan(tuple(admitted), final, known)


def document_id(arrival: Arrival) -> str | None:
    """The id that an arrival speaks of, or None for a rejected one."""
    match arrival.content:
        case Upsert(document):
            return document.id
        case Deletion(id=deleted):
            return deleted
        case _:
            return None


def observed_at(arrival: Arrival) -> Millis:
    """When an arrival was observed; the record's own time where it could not be decoded."""
    match arrival.content:
        case Upsert(document):
            return to_millis(document.observed_at)
        case Deletion(observed_at=moment):
            return to_millis(moment)
        case _:
            return arrival.record.timestamp


_APPLIED = (
    DocumentOutcome.INSERTED,
    DocumentOutcome.EDITED,
    DocumentOutcome.DELETED,
    DocumentOutcome.LATE,
)


def _admit(arrival: Arrival, state: Mapping[str, Known], window: Window) -> Admitted:
    content = arrival.content
    if isinstance(content, Rejected):
        return Admitted(arrival, DocumentOutcome.REJECTED, content)
    before = state.get(content.document.id if isinstance(content, Upsert) else content.id)
    if before is not None and _elsewhere(arrival, before):
        return _refuse(
            arrival,
            Reason.WRONG_PARTITION,
            f"the id was first seen in {before.topic}/{before.partition}; "
            "one id must stay in one partition, or carry versions",
        )
    if isinstance(content, Deletion):
        return Admitted(arrival, _deletion(content, before, window))
    admitted = _upsert(arrival, content.document, before, window)
    late = not window.holds(to_millis(content.document.event_at))
    if late and admitted.outcome in _APPLIED:
        stood = before is not None and before.number is not None
        return Admitted(arrival, DocumentOutcome.LATE, replaces=stood)
    return admitted


def _elsewhere(arrival: Arrival, before: Known) -> bool:
    """Whether order cannot be told: another partition of the topic and no version to decide."""
    content = arrival.content
    version = content.document.version if isinstance(content, Upsert) else None
    if isinstance(content, Deletion):
        version = content.version
    position = arrival.record.position
    moved = before.topic == position.topic and before.partition != position.partition
    return moved and version is None and before.version is None


def _alive(before: Known, window: Window) -> bool:
    return before.number is not None and window.holds(before.event_at)


def _deletion(deletion: Deletion, before: Known | None, window: Window) -> DocumentOutcome:
    if before is None:
        return DocumentOutcome.UNKNOWN_DELETE
    if not _alive(before, window):
        return DocumentOutcome.DUPLICATE
    if deletion.version is not None and deletion.version <= (before.version or 0):
        return DocumentOutcome.STALE
    return DocumentOutcome.DELETED


def _upsert(arrival: Arrival, document: Document, before: Known | None, window: Window) -> Admitted:
    if before is None:
        return Admitted(arrival, DocumentOutcome.INSERTED)
    alive = _alive(before, window)
    applied = DocumentOutcome.EDITED if alive else DocumentOutcome.INSERTED
    same = alive and before.content_hash == document.content_hash()
    if document.version is None and before.version is None:
        return Admitted(arrival, DocumentOutcome.DUPLICATE if same else applied)
    new, old = document.version or 0, before.version or 0
    if new > old:
        return Admitted(arrival, applied)
    if new < old or not alive:
        return Admitted(arrival, DocumentOutcome.STALE)
    if same:
        return Admitted(arrival, DocumentOutcome.DUPLICATE)
    return _refuse(
        arrival,
        Reason.VERSION_CONFLICT,
        f"version {new} is already indexed with other content; send a greater version",
    )


def _refuse(arrival: Arrival, reason: Reason, detail: str) -> Admitted:
    return Admitted(arrival, DocumentOutcome.REJECTED, Rejected(reason, detail))


def _after(admitted: Admitted, before: Known | None) -> Known:
    """What is known of an id once an applied arrival stands."""
    position = admitted.arrival.record.position
    content = admitted.arrival.content
    if isinstance(content, Upsert) and admitted.outcome is not DocumentOutcome.LATE:
        document = content.document
        return Known(
            -1,
            document.content_hash(),
            document.version,
            position.topic,
            position.partition,
            to_millis(document.event_at),
        )
    version = tombstone_version(admitted.arrival, before)
    return Known(None, b"", version, position.topic, position.partition)


def tombstone_version(arrival: Arrival, before: Known | None) -> int | None:
    """The version that is remembered of a document that an arrival took out."""
    content = arrival.content
    version = content.version if isinstance(content, Deletion) else None
    if isinstance(content, Upsert):
        version = content.document.version
    if version is None and before is not None:
        version = before.version
    return version
