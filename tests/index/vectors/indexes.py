"""Every vector index that can be had here, each new and empty, for the conformance suites."""

import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from qdrant_client import QdrantClient

from index.vectors.beside import edge_beside
from index.vectors.protocol import Mark, Points, VectorIndex, tokens
from index.vectors.qdrant import QdrantIndex, QdrantSettings, connected

SERVER = os.environ.get("TIDEGRAPH_TEST_QDRANT_URL", "")

KINDS = ("memory", "path", "server", "edge", "beside")


def make(kind: str, directory: Path) -> Iterator[Callable[[], VectorIndex]]:
    """Give a function that opens the index; called again, it opens the same one anew."""
    opened: list[VectorIndex] = []
    name = f"tidegraph-test-{uuid.uuid4().hex[:12]}"
    memory = QdrantClient(":memory:") if kind == "memory" else None

    def reopen() -> VectorIndex:
        if opened and kind in {"path", "edge", "beside"}:
            opened[-1].close()
        opened.append(_open(kind, directory, name, memory))
        return opened[-1]

    yield reopen
    if opened and kind == "server":
        opened[-1]._client.delete_collection(name)
    if opened:
        opened[-1].close()


def _open(kind: str, directory: Path, name: str, memory: QdrantClient | None) -> VectorIndex:
    if kind == "memory":
        return QdrantIndex(memory, name, serial=True)
    if kind == "path":
        return QdrantIndex(QdrantClient(path=str(directory / "local")), name, serial=True)
    if kind == "server":
        if not SERVER:
            pytest.skip("TIDEGRAPH_TEST_QDRANT_URL names no Qdrant server")
        return connected(QdrantSettings(SERVER, name, timeout=10))
    pytest.importorskip("qdrant_edge", reason="the extra `edge` is not installed")
    from index.vectors.edge import EdgeIndex

    if kind == "beside":
        return edge_beside(directory / "edge")
    return EdgeIndex(directory / "edge")


def mark(**values) -> Mark:
    """A mark with some values."""
    plain = {
        "owner": "o",
        "fingerprint": "f",
        "generation": 7,
        "checksum": "ab",
        "next_slot": 9,
        "swept": 5,
        "since": 6,
        "since_checksum": "cd",
    }
    return Mark(**(plain | values))


def points(slots, *, dimensions: int = 8, seed: int = 0, **payload) -> Points:
    """Points with vectors from (seed, slot) and payloads by functions of the slot."""
    made = []
    for slot in slots:
        vector = np.random.default_rng((seed, slot)).standard_normal(dimensions)
        made.append(vector / np.linalg.norm(vector))
    rows = [
        {"slot": slot, "document": f"d{slot}", "source": "wire", "lang": "en", "generation": 1}
        | {"event_at": 1000 + slot, "observed_at": 2000 + slot, "where": tokens({"n": slot % 3})}
        | {name: function(slot) for name, function in payload.items()}
        for slot in slots
    ]
    vectors = np.array(made, np.float32).reshape(len(made), dimensions)
    return Points(np.array(slots, np.int64), vectors, rows)
