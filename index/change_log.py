"""The change log as columns: what arrived when and named what, for news, counts and trends."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from index.types import Int32Array, Int64Array

KINDS = ("insert", "edit", "delete", "expiry")
"""Kinds of a change by code."""
INSERT, EDIT, DELETE, EXPIRY = range(4)

ChangeRow = tuple[int, str, str, int, int, str, Int32Array]
"""Generation, document id, kind, observed at, event at, source, concepts."""


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

    def extend(self, rows: Iterable[ChangeRow]) -> None:
        """Add changes, oldest generation first."""
        numbers, codes, lengths, named = [], [], [], []
        for generation, document, kind, observed_at, event_at, source, concepts in rows:
            numbers.append((generation, observed_at, event_at))
            codes.append(
                (
                    KINDS.index(kind),
                    _code(document, self._ids, self._document_codes),
                    _code(source, self._sources, self._source_codes),
                )
            )
            lengths.append(len(concepts))
            named.append(concepts)
        if not numbers:
            return
        self._numbers.extend(np.array(numbers, np.int64).T)
        self._codes.extend(np.array(codes, np.int32).T)
        end = self._offsets.columns(self.count + 1)[0, -1]
        self._offsets.extend((end + np.cumsum(lengths))[None])
        self._concepts.extend(np.concatenate(named)[None])
        self.count += len(numbers)

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


def _code(name: str, names: list[str], codes: dict[str, int]) -> int:
    code = codes.get(name)
    if code is None:
        code = codes[name] = len(names)
        names.append(name)
    return code


def columns_of(rows: Iterable[ChangeRow]) -> ChangeColumns:
    """The columns of changes given one by one."""
    builder = ChangeBuilder()
    builder.extend(rows)
    return builder.columns()
