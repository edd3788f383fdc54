"""Qdrant's engine, embedded (extra ``edge``), for large stores without a server.

One process at a time opens its folder. A second one that tries harms the first (seen with 0.9.0:
its next flush fails), so a lock of ours comes before the engine's own.
"""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import qdrant_edge as engine

from index.errors import IndexingError, VectorIndexError
from index.store.lock import WriterLock
from index.types import Float32Array
from index.vectors.protocol import FIELDS, SHARD, Condition, Hits, Mark, Points
from index.vectors.qdrant import MARK_ID, VECTOR, hits_of

UNINDEXED, SHARE = 20_000, 0.3
"""Points outside its graph, or gone from it, and share of all, from which on it is made anew.

A search compares those outside one by one: 10 ms for 100,000. Taking 20,000 into a graph of
100,000 costs 42 CPU-seconds, a graph over all of them 86.
"""

_PAGE = 1_000
_NOT_MARK = engine.Filter(must_not=[engine.HasIdCondition({MARK_ID})])
_TYPES = {
    "integer": engine.PayloadSchemaType.Integer,
    "keyword": engine.PayloadSchemaType.Keyword,
}


class EdgeIndex:
    """See ``VectorIndex``. Opens its folder at first use and holds it until it is closed."""

    def __init__(self, directory: Path) -> None:
        self.name = f"the vector index in {directory}"
        self._directory = directory
        self._lock: WriterLock | None = None
        self._opened: Any = None
        # The engine takes points that are gone from its graph for points inside, so that those
        # which came for them do not show in its own figures.
        self._changed = 0

    def _shard(self) -> Any:
        """The shard; None where there is none yet."""
        if self._opened is None:
            self._hold()
            if (self._directory / SHARD).exists():
                self._opened = engine.EdgeShard.load(str(self._directory / SHARD))
        return self._opened

    def _hold(self) -> None:
        if self._lock is None:
            lock = WriterLock(self._directory)
            lock.acquire()
            self._lock = lock

    def _there(self) -> Any:
        shard = self._shard()
        if shard is None:
            raise VectorIndexError(f"{self.name} is not there")
        return shard

    def mark(self) -> Mark | None:
        """See ``VectorIndex.mark``."""
        if self._opened is None and not (self._directory / SHARD).exists():
            return None  # nothing to lock yet
        with self._translated():
            shard = self._shard()
            found = (
                []
                if shard is None
                else shard.retrieve([MARK_ID], with_payload=True, with_vector=False)
            )
            return Mark.of(found[0].payload) if found else None

    def put_mark(self, mark: Mark) -> None:
        """See ``VectorIndex.put_mark``."""
        with self._translated():
            point = engine.Point(id=MARK_ID, vector={}, payload=mark.payload())
            shard = self._there()
            shard.update(engine.UpdateOperation.upsert_points([point]))
            shard.flush()

    def reset(self, dimensions: int) -> None:
        """See ``VectorIndex.reset``."""
        with self._translated():
            self._hold()
            if self._opened is not None:
                self._opened.close()
                self._opened = None
            shutil.rmtree(self._directory / SHARD, ignore_errors=True)
            params = engine.EdgeVectorParams(size=dimensions, distance=engine.Distance.Dot)
            (self._directory / SHARD).mkdir(parents=True)
            shard = engine.EdgeShard.create(
                str(self._directory / SHARD), engine.EdgeConfig(vectors={VECTOR: params})
            )
            for field, kind in FIELDS.items():
                shard.update(engine.UpdateOperation.create_field_index(field, _TYPES[kind]))
            self._opened = shard

    def upsert(self, points: Points) -> None:
        """See ``VectorIndex.upsert``."""
        with self._translated():
            rows = zip(points.slots.tolist(), points.vectors.tolist(), points.payloads, strict=True)
            made = [
                engine.Point(id=slot, vector={VECTOR: vector}, payload=dict(payload))
                for slot, vector, payload in rows
            ]
            self._there().update(engine.UpdateOperation.upsert_points(made))
            self._changed += len(made)

    def delete(self, ids: Sequence[int | str]) -> None:
        """See ``VectorIndex.delete``."""
        with self._translated():
            self._there().update(engine.UpdateOperation.delete_points(list(ids)))
            self._changed += len(ids)

    def search(self, vector: Float32Array, limit: int, condition: Condition) -> Hits:
        """See ``VectorIndex.search``."""
        with self._translated():
            found = self._there().query(
                engine.QueryRequest(
                    query=engine.Query.Nearest(vector.tolist(), using=VECTOR),
                    limit=limit,
                    filter=_filter(condition),
                )
            )
            return hits_of([point.id for point in found], [point.score for point in found])

    def ids(self) -> Iterator[list[int | str]]:
        """See ``VectorIndex.ids``."""
        offset: Any = None
        while True:
            with self._translated():
                page, offset = self._there().scroll(
                    engine.ScrollRequest(
                        limit=_PAGE, offset=offset, filter=_NOT_MARK, with_payload=False
                    )
                )
                found = [p.id if isinstance(p.id, int) else str(p.id) for p in page]
            yield found
            if offset is None:
                return

    def read(self, slots: Sequence[int]) -> dict[int, tuple[Float32Array, Mapping[str, object]]]:
        """See ``VectorIndex.read``."""
        with self._translated():
            records = self._there().retrieve(list(slots), with_payload=True, with_vector=True)
            return {
                int(r.id): (np.array(r.vector[VECTOR], np.float32), r.payload or {})
                for r in records
            }

    def count(self) -> int:
        """See ``VectorIndex.count``."""
        with self._translated():
            shard = self._shard()
            if shard is None:
                return 0
            return int(shard.count(engine.CountRequest(exact=True, filter=_NOT_MARK)))

    def settle(self) -> bool:
        """See ``VectorIndex.settle``."""
        with self._translated():
            shard = self._there()
            info = shard.info()
            outside = max(info.points_count - info.indexed_vectors_count, self._changed)
            if outside > max(UNINDEXED, SHARE * info.points_count):
                shard.optimize()
                self._changed = 0
        return False

    def close(self) -> None:
        """See ``VectorIndex.close``."""
        with self._translated():
            if self._opened is not None:
                self._opened.flush()
                self._opened.close()
                self._opened = None
            if self._lock is not None:
                self._lock.release()
                self._lock = None

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except VectorIndexError:
            raise
        except IndexingError as error:
            raise VectorIndexError(str(error)) from error
        except Exception as error:  # the engine raises bare exceptions
            raise VectorIndexError(f"{self.name}: {error}") from error


def _filter(condition: Condition) -> Any:
    must: list[Any] = [
        engine.FieldCondition(key=key, range=engine.RangeFloat(gte=since, lt=until))
        for key, since, until in condition.windows
    ]
    must += [
        engine.FieldCondition(key=key, match=engine.MatchAny(list(values)))
        for key, values in condition.choices
    ]
    return engine.Filter(must=must) if must else None
