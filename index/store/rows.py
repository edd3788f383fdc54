"""How values stand in the store's columns, in one place for writers and readers."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from itertools import accumulate, chain, pairwise
from typing import Any

import numpy as np
import orjson

from index.snapshot import Head, Totals
from index.types import DocumentId, Int32Array, Int64Array, Millis

GENERATION_FORMAT = 1
PositionMap = Mapping[tuple[str, int], int]


@dataclass(frozen=True, slots=True)
class NextNumbers:
    """The next free numbers after a generation."""

    document: int = 0
    chunk: int = 0
    concept: int = 0
    community: int = 1  # 0 is the root


def chunk_id(document_id: DocumentId | str, content_hash: bytes, ordinal: int) -> bytes:
    """The lasting id of a chunk: blake2b-128 of (document id, content hash, ordinal)."""
    digest = blake2b(digest_size=16)
    digest.update(document_id.encode())
    digest.update(b"\0")
    digest.update(content_hash)
    digest.update(ordinal.to_bytes(8, "big"))
    return digest.digest()


def int32_blob(values: Sequence[int] | Int32Array) -> bytes:
    """Little-endian int32 bytes."""
    return np.asarray(values, "<i4").tobytes()


def int32_blobs(rows: Sequence[Sequence[int]]) -> list[bytes]:
    """The same of many rows; one by one, rows of some thirty numbers take three times as long."""
    whole = int32_blob(list(chain.from_iterable(rows)))
    ends = accumulate((4 * len(row) for row in rows), initial=0)
    return [whole[start:end] for start, end in pairwise(ends)]


def int32_array(blob: bytes) -> Int32Array:
    """The array of such bytes; not writable."""
    return np.frombuffer(blob, "<i4")


def int64_blob(values: Sequence[int] | Int64Array) -> bytes:
    """Little-endian int64 bytes."""
    return np.asarray(values, "<i8").tobytes()


def int64_array(blob: bytes) -> Int64Array:
    """The array of such bytes; not writable."""
    return np.frombuffer(blob, "<i8")


def positions_json(positions: PositionMap) -> str:
    """``[[topic, partition, next offset], ...]``, sorted."""
    rows = [[topic, partition, offset] for (topic, partition), offset in positions.items()]
    return orjson.dumps(sorted(rows)).decode()


def positions_map(text: str) -> dict[tuple[str, int], int]:
    """The positions of such a text."""
    return {(topic, partition): offset for topic, partition, offset in orjson.loads(text)}


def totals_json(totals: Totals) -> str:
    """The totals as a JSON object."""
    return orjson.dumps(asdict(totals)).decode()


def totals_of(text: str) -> Totals:
    """The totals of such a text."""
    values: dict[str, Any] = orjson.loads(text)
    values["modularity"] = tuple(values["modularity"])
    return Totals(**values)


def headers_json(headers: Sequence[tuple[str, bytes]]) -> str:
    """Headers with their bytes in base64."""
    return orjson.dumps([[n, base64.b64encode(v).decode()] for n, v in headers]).decode()


def headers_of(text: str) -> tuple[tuple[str, bytes], ...]:
    """The headers of such a text."""
    return tuple((name, base64.b64decode(value)) for name, value in orjson.loads(text))


def head_of(row: Mapping[str, Any]) -> Head:
    """The head of a generation's row."""
    return Head(
        generation=row["id"],
        committed_at=Millis(row["committed_at"]),
        watermark=Millis(row["watermark"]),
        newest_arrival=Millis(row["newest_arrival"]),
        positions=positions_map(row["positions"]),
        totals=totals_of(row["totals"]),
        horizon=None if row["horizon"] is None else Millis(row["horizon"]),
    )


def row_checksum(parent: bytes, values: Sequence[object]) -> bytes:
    """Sixteen bytes over a generation's row and its parent's checksum.

    What is NULL counts as not there, so that rows from before a column existed keep theirs.
    """
    digest = blake2b(parent, digest_size=16)
    for value in values:
        if value is None:
            continue
        digest.update(value if isinstance(value, bytes) else str(value).encode())
        digest.update(b"\x1f")
    return digest.digest()
