"""Verification of a vector index: every point compared with the stored chunk."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np

from index.checks import Check, Progress
from index.store import meta
from index.store.connection import open_readonly, store_path, translated
from index.store.generations import latest
from index.types import Float32Array
from index.vectors import stored
from index.vectors.protocol import Mark, Points, VectorIndex

_PAGE = 500
_CLOSE = 0.999
"""Cosine of a stored vector and its point's; half precision and normalising stay above."""


def compare(
    index: VectorIndex, directory: Path, owner: str, progress: Progress = lambda _: None
) -> list[Check]:
    """Compare an index with the newest generation of a store.

    Safe beside a running follower: chunks beyond the mark and those retracted a moment ago may be
    there or not. Raises ``StoreError`` or ``VectorIndexError`` where one cannot be read.
    """
    with _reading(directory) as connection:
        return list(_compare(index, connection, directory, owner, progress))


@contextmanager
def _reading(directory: Path) -> Iterator[sqlite3.Connection]:
    path = store_path(directory)
    with closing(open_readonly(path)) as connection, translated(path):
        connection.execute("BEGIN")
        yield connection


def _compare(
    index: VectorIndex,
    connection: sqlite3.Connection,
    directory: Path,
    owner: str,
    progress: Progress,
) -> Iterator[Check]:
    progress(f"reading {index.name}")
    fingerprint = meta.stored_fingerprint(connection)
    mark = index.mark()
    if mark is None or fingerprint is None:
        yield Check("mark", ok=False, detail=f"{index.name} is not there or has none")
        return
    yield _mark(connection, mark, owner, fingerprint.to_json())
    alive = set(stored.living(connection, mark.next_slot).tolist())
    dying = set(stored.pending(connection, mark.swept).tolist())
    there: set[int | str] = set()
    for page in index.ids():
        there.update(page)
    with _reading(directory) as current:  # a follower beside us may have gone on meanwhile
        given = latest(current).next_numbers.chunk
    beyond = {one for one in there if isinstance(one, int) and mark.next_slot <= one < given}
    yield _none("points that lack", alive - there)
    yield _none("points too many", there - alive - dying - beyond)
    progress("comparing vectors and payloads")
    wrong = _wrong(index, connection, sorted(alive & there, key=int), fingerprint.dimensions)
    yield _none("vectors and payloads", wrong, f"{len(alive & there):,} compared")


def _mark(connection: sqlite3.Connection, mark: Mark, owner: str, fingerprint: str) -> Check:
    if mark.owner != owner:
        return Check("mark", ok=False, detail="the index follows another data directory")
    newest = latest(connection).head.generation
    ok = stored.continues(connection, mark, fingerprint)
    detail = f"generation {mark.generation} of {newest}, chunks below {mark.next_slot:,}"
    return Check("mark", ok, detail if ok else "the index follows another store")


def _none(name: str, found: set[int | str] | set[int], detail: str = "none") -> Check:
    few = ", ".join(str(one) for one in sorted(found, key=str)[:5])
    return Check(name, not found, f"{len(found):,}: {few}" if found else detail)


def _wrong(
    index: VectorIndex, connection: sqlite3.Connection, slots: Sequence[int], dimensions: int
) -> set[int]:
    wrong: set[int] = set()
    for start in range(0, len(slots), _PAGE):
        part = list(slots[start : start + _PAGE])
        expected = stored.points_of(connection, part, dimensions)
        wrong.update(_differing(expected, index.read(part)))
    return wrong


def _differing(
    expected: Points, found: dict[int, tuple[Float32Array, Mapping[str, object]]]
) -> Iterator[int]:
    rows = zip(expected.slots.tolist(), expected.vectors, expected.payloads, strict=True)
    for slot, vector, payload in rows:
        if slot not in found:
            continue
        there, said = found[slot]
        if dict(said) != dict(payload) or not _near(vector, there):
            yield slot


def _near(stored_vector: Float32Array, point: Float32Array) -> bool:
    if stored_vector.shape != point.shape:
        return False
    norms = float(np.linalg.norm(stored_vector) * np.linalg.norm(point))
    return norms == 0 or float(stored_vector @ point) >= _CLOSE * norms
