"""Qdrant as a vector index: a server or cluster by URL, or any client that is handed in.

Points are numbered by slot; the mark is a point without a vector, which no search can find.
Everything that goes wrong, whoever is at fault, becomes a ``VectorIndexError``.
"""

import ssl
import threading
import uuid
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse

from index.errors import VectorIndexError
from index.types import Float32Array
from index.vectors.protocol import FIELDS, Condition, Hits, Mark, Points

VECTOR = "chunk"
"""Name of the vector; a named one may be missing, which the mark's point makes use of."""

MARK_ID = str(uuid.uuid5(uuid.NAMESPACE_URL, "tidegraph:mark"))

_PAGE = 1_000
_READ_PAGE = 250
_MISSING = 404
_REFUSED = frozenset({401, 403})
_NOT_MARK = models.Filter(must_not=[models.HasIdCondition(has_id=[MARK_ID])])
_TYPES = {
    "integer": models.PayloadSchemaType.INTEGER,
    "keyword": models.PayloadSchemaType.KEYWORD,
}


@dataclass(frozen=True, slots=True)
class QdrantSettings:
    """How a server is reached. Times in whole seconds; ``ca_file`` checks its certificate.

    ``timeout`` bounds a search and the reading of the mark, ``write_timeout`` everything else.
    """

    url: str
    collection: str
    api_key: str = ""
    ca_file: Path | None = None
    timeout: int = 2
    write_timeout: int = 30


def connected(settings: QdrantSettings) -> "QdrantIndex":
    """An index on a server; nothing is asked of it yet.

    Raises:
        VectorIndexError: The URL or the certificates cannot be used.
    """
    with _translated(settings.url):
        quick = _client(settings, settings.timeout)
        patient = _client(settings, settings.write_timeout)
    return QdrantIndex(
        patient,
        settings.collection,
        quick=quick,
        name=f"Qdrant at {settings.url}, collection {settings.collection}",
    )


def _client(settings: QdrantSettings, timeout: int) -> QdrantClient:
    verify: ssl.SSLContext | bool = True
    if settings.ca_file is not None:
        verify = ssl.create_default_context(cafile=str(settings.ca_file))
    more: dict[str, Any] = {"timeout": timeout, "verify": verify, "trust_env": False}
    with warnings.catch_warnings():
        # A key over plain HTTP: `doctor` tells the operator, in words of ours.
        warnings.simplefilter("ignore", UserWarning)
        return QdrantClient(
            url=settings.url, api_key=settings.api_key or None, check_compatibility=False, **more
        )


class QdrantIndex:
    """See ``VectorIndex``.

    Args:
        client: Does the writing and the long reads.
        collection: Name of the collection.
        quick: Asked for the mark and for hits; the same client where there is one.
        name: What messages call it.
        serial: One call at a time, for the client's local mode, which threads would corrupt.
    """

    def __init__(
        self,
        client: QdrantClient,
        collection: str,
        *,
        quick: QdrantClient | None = None,
        name: str = "",
        serial: bool = False,
    ) -> None:
        self._client = client
        self._quick = quick or client
        self._collection = collection
        self._lock = threading.RLock() if serial else None
        self.name = name or f"collection {collection}"

    @contextmanager
    def _calling(self) -> Iterator[None]:
        if self._lock is None:
            with _translated(self.name):
                yield
            return
        with self._lock, _translated(self.name):
            yield

    def mark(self) -> Mark | None:
        """See ``VectorIndex.mark``."""
        with self._calling():
            try:
                found = self._quick.retrieve(self._collection, [MARK_ID], with_payload=True)
            except Exception as error:
                if _is_missing(error):
                    return None
                raise
            return Mark.of(found[0].payload) if found else None

    def put_mark(self, mark: Mark) -> None:
        """See ``VectorIndex.put_mark``."""
        with self._calling():
            point = models.PointStruct(id=MARK_ID, vector={}, payload=mark.payload())
            _completed(
                self._client.upsert(
                    self._collection, [point], wait=True, ordering=models.WriteOrdering.STRONG
                )
            )

    def reset(self, dimensions: int) -> None:
        """See ``VectorIndex.reset``."""
        with self._calling():
            if self._client.collection_exists(self._collection):
                self._client.delete_collection(self._collection)
            # Vectors are of unit length but for rounding; cosine would normalise that away and
            # rank near ties otherwise than the snapshot does.
            size = models.VectorParams(size=dimensions, distance=models.Distance.DOT)
            self._client.create_collection(self._collection, vectors_config={VECTOR: size})
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # local mode has no indexes
                for field, kind in FIELDS.items():
                    self._client.create_payload_index(
                        self._collection, field, field_schema=_TYPES[kind], wait=True
                    )

    def upsert(self, points: Points) -> None:
        """See ``VectorIndex.upsert``."""
        with self._calling():
            batch = models.Batch(
                ids=points.slots.tolist(),
                vectors={VECTOR: points.vectors.tolist()},
                payloads=[dict(payload) for payload in points.payloads],
            )
            _completed(self._client.upsert(self._collection, batch, wait=True))

    def delete(self, ids: Sequence[int | str]) -> None:
        """See ``VectorIndex.delete``."""
        with self._calling():
            selector = models.PointIdsList(points=list(ids))
            _completed(self._client.delete(self._collection, selector, wait=True))

    def search(self, vector: Float32Array, limit: int, condition: Condition) -> Hits:
        """See ``VectorIndex.search``."""
        with self._calling():
            found = self._quick.query_points(
                self._collection,
                query=vector.tolist(),
                using=VECTOR,
                query_filter=_filter(condition),
                limit=limit,
                with_payload=False,
                with_vectors=False,
            ).points
            return hits_of([point.id for point in found], [point.score for point in found])

    def ids(self) -> Iterator[list[int | str]]:
        """See ``VectorIndex.ids``."""
        offset: Any = None
        while True:
            with self._calling():
                page, offset = self._client.scroll(
                    self._collection,
                    scroll_filter=_NOT_MARK,
                    limit=_PAGE,
                    offset=offset,
                    with_payload=False,
                    with_vectors=False,
                )
                found: list[Any] = [point.id for point in page]
            yield found
            if offset is None:
                return

    def read(self, slots: Sequence[int]) -> dict[int, tuple[Float32Array, Mapping[str, object]]]:
        """See ``VectorIndex.read``."""
        found: dict[int, tuple[Float32Array, Mapping[str, object]]] = {}
        for start in range(0, len(slots), _READ_PAGE):
            with self._calling():
                records = self._client.retrieve(
                    self._collection,
                    list(slots[start : start + _READ_PAGE]),
                    with_payload=True,
                    with_vectors=[VECTOR],
                )
                for record in records:
                    vectors: Any = record.vector
                    vector = np.array(vectors[VECTOR], np.float32)
                    found[int(record.id)] = vector, record.payload or {}
        return found

    def count(self) -> int:
        """See ``VectorIndex.count``."""
        with self._calling():
            try:
                return self._client.count(
                    self._collection, count_filter=_NOT_MARK, exact=True
                ).count
            except Exception as error:
                if _is_missing(error):
                    return 0
                raise

    def settle(self) -> bool:
        """See ``VectorIndex.settle``; a server does so by itself."""
        return False

    def close(self) -> None:
        """See ``VectorIndex.close``."""
        for client in {id(c): c for c in (self._client, self._quick)}.values():
            client.close()


def hits_of(ids: Sequence[Any], scores: Sequence[Any]) -> Hits:
    """Hits from what an index answered. Raises ``ValueError`` for ids that are no slots."""
    slots = np.array([int(i) if isinstance(i, int) else -1 for i in ids], np.int64)
    values = np.array(scores, np.float32)
    if (slots < 0).any() or not np.isfinite(values).all():
        raise ValueError("it gives hits that are no chunks")
    return Hits(slots, values)


def _filter(condition: Condition) -> models.Filter | None:
    must: list[Any] = [
        models.FieldCondition(key=key, range=models.Range(gte=since, lt=until))
        for key, since, until in condition.windows
    ]
    must += [
        models.FieldCondition(key=key, match=models.MatchAny(any=list(values)))
        for key, values in condition.choices
    ]
    return models.Filter(must=must) if must else None


def _completed(result: models.UpdateResult) -> None:
    if result.status is not models.UpdateStatus.COMPLETED:
        raise ValueError(f"a write was not completed, but {result.status}")


def _is_missing(error: Exception) -> bool:
    """Whether there is no such collection; the local mode says so by a ``ValueError``."""
    if isinstance(error, UnexpectedResponse):
        return error.status_code == _MISSING
    return isinstance(error, ValueError) and "not found" in str(error)


@contextmanager
def _translated(name: str) -> Iterator[None]:
    try:
        yield
    except VectorIndexError:
        raise
    except Exception as error:
        # Whatever answers at that address may make the client raise anything at all.
        raise VectorIndexError(f"{name}: {_story(error)}") from error


def _story(error: Exception) -> str:
    """What went wrong, in one line that never holds a key."""
    if isinstance(error, UnexpectedResponse):
        body = error.content.decode("utf-8", "replace")[:200].strip()
        if error.status_code in _REFUSED:
            return f"the API key is missing, wrong or not allowed to do this ({error.status_code})"
        return f"answered {error.status_code}: {body}"
    cause: BaseException = error
    while cause.__cause__ or cause.__context__ or getattr(cause, "source", None):
        cause = cause.__cause__ or cause.__context__ or cause.source  # type: ignore[attr-defined]
    text = " ".join(str(cause).split())[:200]
    return text or type(cause).__name__
