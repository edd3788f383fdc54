"""Which arrivals change the index: order, versions and duplicates, as pure rules.

The rules (``docs/decisions/0001-versions-and-deletes.md``): where an upsert or the stored revision
has a version, only a greater one is applied (a missing one counts as 0); an equal version with
the same content is a duplicate, with other content a conflict. Without versions the order of the
partition decides, and a key that was first seen in another partition of its topic is rejected.
A delete with a version follows the same rule; a delete without one (a null value has no place for
it) is ordered by its partition alone and keeps the version of what it withdrew.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

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


@dataclass(frozen=True, slots=True)
class Known:
    """What the store knows of an id: a living revision (``number``) or a tombstone (None)."""

    number: int | None
    content_hash: bytes
    version: int | None
    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class Admitted:
    """An arrival with the decision on it; ``rejected`` tells why where it was refused."""

    arrival: Arrival
    outcome: DocumentOutcome
    rejected: Rejected | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """The decisions on a batch.

    ``admitted`` has every arrival in order. ``final`` is the net effect by document id: the
    revision to be indexed with the partition it came from, or None for a withdrawal. ``known``
    is what the store knew of the ids when the plan was made.
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
            if isinstance(content, Upsert):
                found.append(content.document)
        return found


def decide(arrivals: Sequence[Arrival], known: Mapping[str, Known]) -> Plan:
    """Admit a batch in order; ``known`` holds what the store knows of the ids in it."""
    state = dict(known)
    admitted: list[Admitted] = []
    final: dict[str, Admitted] = {}
    for arrival in arrivals:
        one = _admit(arrival, state)
        admitted.append(one)
        key = document_id(arrival)
        if key is None or one.outcome not in _APPLIED:
            continue
        state[key] = _after(arrival, state.get(key))
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


_APPLIED = (DocumentOutcome.INSERTED, DocumentOutcome.EDITED, DocumentOutcome.DELETED)


def _admit(arrival: Arrival, state: Mapping[str, Known]) -> Admitted:
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
        return Admitted(arrival, _deletion(content, before))
    return _upsert(arrival, content.document, before)


def _elsewhere(arrival: Arrival, before: Known) -> bool:
    """Whether order cannot be told: another partition of the topic and no version to decide."""
    content = arrival.content
    version = content.document.version if isinstance(content, Upsert) else None
    if isinstance(content, Deletion):
        version = content.version
    position = arrival.record.position
    moved = before.topic == position.topic and before.partition != position.partition
    return moved and version is None and before.version is None


def _deletion(deletion: Deletion, before: Known | None) -> DocumentOutcome:
    if before is None:
        return DocumentOutcome.UNKNOWN_DELETE
    if before.number is None:
        return DocumentOutcome.DUPLICATE
    if deletion.version is not None and deletion.version <= (before.version or 0):
        return DocumentOutcome.STALE
    return DocumentOutcome.DELETED


def _upsert(arrival: Arrival, document: Document, before: Known | None) -> Admitted:
    if before is None:
        return Admitted(arrival, DocumentOutcome.INSERTED)
    alive = before.number is not None
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


def _after(arrival: Arrival, before: Known | None) -> Known:
    """What is known of an id once an applied arrival stands."""
    position = arrival.record.position
    content = arrival.content
    if isinstance(content, Upsert):
        document = content.document
        return Known(
            -1, document.content_hash(), document.version, position.topic, position.partition
        )
    version = content.version if isinstance(content, Deletion) else None
    if version is None and before is not None:
        version = before.version
    return Known(None, b"", version, position.topic, position.partition)
