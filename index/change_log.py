"""The change log as columns: what arrived when and named what, for news, counts and trends."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from index.types import BoolArray, Int32Array, Int64Array, Millis

KINDS = ("insert", "edit", "delete", "expiry")
"""Kinds of a change by code."""
INSERT, EDIT, DELETE, EXPIRY = range(4)

ALWAYS, NEVER = Millis(-(1 << 62)), Millis(1 << 62)
"""Before and after all moments."""

ChangeRow = tuple[int, str, str, int, int, str, Int32Array]
"""Generation, document id, kind, observed at, event at, source, concepts."""


@dataclass(frozen=True, slots=True)
class ChangesAsked:
    """Changes observed in ``[since, until)`` with an event time in ``[event_since, event_until)``.

    Milliseconds; ``kinds`` are codes of ``KINDS``. The narrower, the less is read and held.
    """

    since: Millis = ALWAYS
    until: Millis = NEVER
    event_since: Millis = ALWAYS
    event_until: Millis = NEVER
    kinds: tuple[int, ...] = (INSERT, EDIT, DELETE, EXPIRY)

    def of(self, changes: "ChangeColumns") -> BoolArray:
        """bool[n]: which of some changes are asked for."""
        observed, event = changes.observed_at, changes.event_at
        asked: BoolArray = (observed >= self.since) & (observed < self.until)
        asked &= (event >= self.event_since) & (event < self.event_until)
        if len(self.kinds) < len(KINDS):
            asked &= np.isin(changes.kind, self.kinds)
        return asked


@dataclass(frozen=True, slots=True, eq=False)
class ChangeColumns:
    """n changes in the order in which they were committed.

    ``generation``, ``observed_at`` and ``event_at`` (milliseconds) int64[n]; ``kind``,
    ``document`` and ``source`` int32[n], codes of ``KINDS``, ``ids`` and ``sources``. What
    change i names is ``concepts[begin[i] : end[i]]``, sorted. Changes of one document share its
    code. Nothing here may be written to.
    """

    generation: Int64Array
    kind: Int32Array
    observed_at: Int64Array
    event_at: Int64Array
    document: Int32Array
    source: Int32Array
    begin: Int64Array
    end: Int64Array
    concepts: Int32Array
    ids: Sequence[str]
    sources: Sequence[str]

    def __len__(self) -> int:
        return len(self.kind)

    def name(self, row: int) -> str:
        """The document of a change, by id."""
        name: str = self.ids[self.document[row]]
        return name

    def first(self, count: int) -> "ChangeColumns":
        """The first changes; nothing is copied."""
        return ChangeColumns(
            self.generation[:count],
            self.kind[:count],
            self.observed_at[:count],
            self.event_at[:count],
            self.document[:count],
            self.source[:count],
            self.begin[:count],
            self.end[:count],
            self.concepts,
            self.ids,
            self.sources,
        )

    def take(self, rows: Int64Array) -> "ChangeColumns":
        """The changes at ``rows`` int64[k], in that order; what they name is not copied."""
        return ChangeColumns(
            self.generation[rows],
            self.kind[rows],
            self.observed_at[rows],
            self.event_at[rows],
            self.document[rows],
            self.source[rows],
            self.begin[rows],
            self.end[rows],
            self.concepts,
            self.ids,
            self.sources,
        )

    def rows(self, first: int = 0) -> Iterator[ChangeRow]:
        """The changes from ``first`` on, one by one."""
        for at in range(first, len(self)):
            yield (
                int(self.generation[at]),
                self.ids[self.document[at]],
                KINDS[self.kind[at]],
                int(self.observed_at[at]),
                int(self.event_at[at]),
                self.sources[self.source[at]],
                self.concepts[self.begin[at] : self.end[at]],
            )


class ChangeBuilder:
    """Changes collected one after another; what it gave out before stays as it was."""

    def __init__(self) -> None:
        self.count = 0
        self._ids: list[str] = []
        self._sources: list[str] = []
        self._document_codes: dict[str, int] = {}
        self._source_codes: dict[str, int] = {}
        self._numbers = _Growing(3, np.int64)
        self._codes = _Growing(3, np.int32)
        self._offsets = _Growing(1, np.int64)
        self._offsets.extend(np.zeros((1, 1), np.int64))
        self._concepts = _Growing(1, np.int32)

    def extend(self, more: ChangeColumns) -> None:
        """Add changes, oldest generation first; everything is copied."""
        if not len(more):
            return
        self._numbers.extend(np.stack([more.generation, more.observed_at, more.event_at]))
        document = _recoded(more.document, more.ids, self._ids, self._document_codes)
        source = _recoded(more.source, more.sources, self._sources, self._source_codes)
        self._codes.extend(np.stack([more.kind, document, source]))
        lengths = more.end - more.begin
        end = self._offsets.columns(self.count + 1)[0, -1]
        self._offsets.extend((end + np.cumsum(lengths))[None])
        self._concepts.extend(_named(more, lengths)[None])
        self.count += len(more)

    def columns(self) -> ChangeColumns:
        """All changes so far; nothing is copied."""
        generation, observed_at, event_at = self._numbers.columns(self.count)
        kind, document, source = self._codes.columns(self.count)
        offsets = self._offsets.columns(self.count + 1)[0]
        return ChangeColumns(
            generation=generation,
            kind=kind,
            observed_at=observed_at,
            event_at=event_at,
            document=document,
            source=source,
            begin=offsets[:-1],
            end=offsets[1:],
            concepts=self._concepts.columns(int(offsets[-1]))[0],
            ids=self._ids,
            sources=self._sources,
        )


class _Growing:
    """Columns of one type that grow by doubling; rows once written never change."""

    def __init__(self, columns: int, dtype: type) -> None:
        self._held: np.ndarray = np.zeros((columns, 256), dtype)
        self._length = 0

    def extend(self, values: np.ndarray) -> None:
        end = self._length + values.shape[1]
        if end > self._held.shape[1]:
            wider = np.zeros((len(self._held), max(end, 2 * self._held.shape[1])), self._held.dtype)
            wider[:, : self._length] = self._held[:, : self._length]
            self._held = wider
        self._held[:, self._length : end] = values
        self._length = end

    def columns(self, count: int) -> np.ndarray:
        return self._held[:, :count]


def _recoded(
    codes: Int32Array, names: Sequence[str], held: list[str], known: dict[str, int]
) -> Int32Array:
    """Codes of names in another list, ``held``, to which new names are added as they come."""
    used, firsts, place = np.unique(codes, return_index=True, return_inverse=True)
    found = np.empty(len(used), np.int32)
    for at in np.argsort(firsts).tolist():
        name = names[used[at]]
        found[at] = code = known.setdefault(name, len(held))
        if code == len(held):
            held.append(name)
    recoded: Int32Array = found[place]
    return recoded


def _named(changes: ChangeColumns, lengths: Int64Array) -> Int32Array:
    """What changes name, one after the other; contiguous ones are not copied."""
    if (changes.begin[1:] == changes.end[:-1]).all():
        return changes.concepts[changes.begin[0] : changes.end[-1]]
    before = np.cumsum(lengths) - lengths
    places = np.arange(int(lengths.sum())) + np.repeat(changes.begin - before, lengths)
    named: Int32Array = changes.concepts[places]
    return named


def columns_of(rows: Iterable[ChangeRow]) -> ChangeColumns:
    """The columns of changes given one by one."""
    given = list(rows)
    named = [row[6] for row in given]
    concepts = np.concatenate([np.zeros(0, np.int32), *named])
    return columns_with([row[:6] for row in given], list(map(len, named)), concepts)


def columns_with(
    rows: Sequence[tuple[int, str, str, int, int, str]],
    lengths: Sequence[int],
    concepts: Int32Array,
) -> ChangeColumns:
    """The columns of changes whose concepts, ``lengths`` of them for each, are joined already."""
    columns = zip(*rows, strict=True) if rows else iter(((),) * 6)
    generation, document, kind, observed_at, event_at, source = columns
    ids, sources = list(dict.fromkeys(document)), list(dict.fromkeys(source))
    offsets = np.cumsum([0, *lengths], dtype=np.int64)
    return ChangeColumns(
        generation=np.array(generation, np.int64),
        kind=_coded(kind, KINDS),
        observed_at=np.array(observed_at, np.int64),
        event_at=np.array(event_at, np.int64),
        document=_coded(document, ids),
        source=_coded(source, sources),
        begin=offsets[:-1],
        end=offsets[1:],
        concepts=concepts,
        ids=ids,
        sources=sources,
    )


def _coded(values: Sequence[str], names: Sequence[str]) -> Int32Array:
    code = {name: at for at, name in enumerate(names)}
    return np.array([code[value] for value in values], np.int32)


def joined(parts: Iterable[ChangeColumns]) -> ChangeColumns:
    """Parts of the log, one after the other, as one."""
    builder = ChangeBuilder()
    for part in parts:
        builder.extend(part)
    return builder.columns()
