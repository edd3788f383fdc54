"""The seam of vector indexes: what one holds, is asked and answers.

A vector index holds one point for each living chunk below its mark. A point's id is the chunk's
slot, which is given once and never reused, so that a point can never stand for another chunk.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Protocol

import orjson

from index.types import Float32Array, Int64Array, Millis, Scalar

MARK_FORMAT = 1

SHARD = "shard"
"""Folder that the embedded engine keeps inside the one that is given to it."""

FIELDS: Mapping[str, str] = {
    "slot": "integer",
    "event_at": "integer",
    "observed_at": "integer",
    "published_at": "integer",
    "source": "keyword",
    "lang": "keyword",
    "where": "keyword",
    "document": "keyword",
    "generation": "integer",
}
"""The fields of a point's payload that are indexed, with their types: every filter has one.

Times are milliseconds since 1970; ``where`` holds a ``token`` for each value of the metadata;
``document`` is the document's id, ``generation`` the one that brought it. ``chunk``, the chunk's
lasting id, is there for people and is not indexed.
"""


@dataclass(frozen=True, slots=True)
class Mark:
    """What an index says that it holds; kept in the index itself, so that both are lost together.

    Attributes:
        owner: Id of the data directory that the index follows.
        fingerprint: JSON of the analyzer's fingerprint, which names the embedder.
        generation: The last generation that the index holds whole; 0 for none yet.
        checksum: Checksum of that generation's row, in hexadecimal: proves the same history.
        next_slot: Every chunk below it that lives in ``generation`` or later has its point.
        swept: Chunks retracted up to this generation have no point any more.
        since: The oldest generation whose living chunks (below ``next_slot``) all have a point.
        since_checksum: Checksum of that generation's row.
    """

    owner: str
    fingerprint: str
    generation: int
    checksum: str
    next_slot: int
    swept: int
    since: int
    since_checksum: str

    def payload(self) -> dict[str, object]:
        """The mark as the payload of its point."""
        return {"format": MARK_FORMAT, **asdict(self)}

    @classmethod
    def of(cls, payload: Mapping[str, Any] | None) -> "Mark | None":
        """The mark in a payload; None for what is none, or another release's."""
        if payload is None or payload.get("format") != MARK_FORMAT:
            return None
        values: dict[str, Any] = {f.name: payload.get(f.name) for f in fields(cls)}
        if any(type(values[f.name]) is not f.type for f in fields(cls)):
            return None
        return cls(**values)


@dataclass(frozen=True, slots=True)
class Condition:
    """Which points may be found: the filters of a question, in an index's terms.

    Windows are half open. ``where`` holds tokens, all of which must be there. Chunks at or beyond
    ``below`` are left out.
    """

    event_at: tuple[Millis | None, Millis | None] = (None, None)
    observed_at: tuple[Millis | None, Millis | None] = (None, None)
    source: tuple[str, ...] = ()
    lang: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    below: int | None = None

    @property
    def windows(self) -> Iterator[tuple[str, int | None, int | None]]:
        """Field, first value and first value after, of each range that limits something."""
        for name, (since, until) in (
            ("event_at", self.event_at),
            ("observed_at", self.observed_at),
            ("slot", (None, self.below)),
        ):
            if since is not None or until is not None:
                yield name, since, until

    @property
    def choices(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Field and the values of which a point must have one."""
        if self.source:
            yield "source", self.source
        if self.lang:
            yield "lang", self.lang
        for token in self.where:
            yield "where", (token,)


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Points of n chunks: ``slots`` int64[n], ``vectors`` float32[n, d] of unit length."""

    slots: Int64Array
    vectors: Float32Array
    payloads: Sequence[Mapping[str, object]]


@dataclass(frozen=True, slots=True, eq=False)
class Hits:
    """What was found, best first: ``slots`` int64[n] and ``scores`` float32[n] (cosine)."""

    slots: Int64Array
    scores: Float32Array


class VectorIndex(Protocol):
    """An index of vectors by slot. Every method raises ``VectorIndexError`` where it cannot.

    ``search`` and ``mark`` may be called from any thread, the rest by the one follower.
    """

    name: str

    def mark(self) -> Mark | None:
        """The mark; None where there is no index, no mark or none that can be read."""

    def put_mark(self, mark: Mark) -> None:
        """Set the mark; what was written before it lasts at least as well."""

    def reset(self, dimensions: int) -> None:
        """Make the index anew, without points, every field indexed."""

    def upsert(self, points: Points) -> None:
        """Write points; done when it returns."""

    def delete(self, ids: Sequence[int | str]) -> None:
        """Remove points; those that are not there are no error."""

    def search(self, vector: Float32Array, limit: int, condition: Condition) -> Hits:
        """The points nearest to a unit vector float32[d], at most ``limit``."""

    def ids(self) -> Iterator[list[int | str]]:
        """The ids of all points but the mark, in pages; a stranger's may be no slot."""

    def read(self, slots: Sequence[int]) -> dict[int, tuple[Float32Array, Mapping[str, object]]]:
        """Vector and payload of points by slot; those that are not there are left out."""

    def count(self) -> int:
        """Points but the mark; 0 where there is no index."""

    def settle(self) -> bool:
        """Do what makes searches fast and may take long; called when there is time.

        Returns whether it goes on; until it has ended calls raise ``VectorIndexBusyError``.
        """

    def close(self) -> None:
        """Let go of connections and files."""


def token(name: str, value: Scalar) -> str:
    """One value of a document's metadata as a keyword; equal where the store finds them equal.

    As in SQLite's JSON functions 1, 1.0 and true are one value, "1" is another.
    """
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        value = int(value)
    text = orjson.dumps(value).decode() if not isinstance(value, int) else str(value)
    return f"{name}={text}"


def tokens(metadata: Mapping[str, Scalar]) -> list[str]:
    """The tokens of a document's metadata, sorted."""
    return sorted(token(name, value) for name, value in metadata.items())


def wanted_tokens(where: Mapping[str, Scalar]) -> tuple[str, ...]:
    """The tokens that a filter asks for; the store reads names without quotation marks."""
    return tuple(token(name.replace('"', ""), value) for name, value in where.items())


@dataclass(frozen=True, slots=True)
class FollowReport:
    """One step of a follower.

    ``upserted`` and ``deleted`` count points; ``reset`` says why the index was made anew, ""
    where it was not; ``behind`` counts generations still to come; ``done`` is False while there
    is more to do at once.
    """

    index: str
    generation: int
    behind: int
    points: int
    upserted: int = 0
    deleted: int = 0
    reset: str = ""
    done: bool = True
    seconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class FollowFailure:
    """A step that failed; it is tried again after ``wait`` seconds."""

    index: str
    problem: str
    wait: float
