"""Texts to vectors: the seam, and the packaged static embedder."""

import logging
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

import numpy as np

from index.analysis.settings import AnalyzerSettings
from index.types import Float32Array


class Embedder(Protocol):
    """Gives each text a unit vector that depends on that text alone, not on its batch.

    Safe to use from several threads. ``name`` tells it from all others.
    """

    name: str
    dimensions: int

    def embed(self, texts: Sequence[str]) -> Float32Array:
        """Rows of unit length, float32 [n, dimensions]; a text without tokens gives zeros."""
        ...


class WordLlamaEmbedder:
    """Mean of static token vectors (wordllama, 256 dimensions, packaged weights).

    The same vectors as wordllama's own ``embed(norm=True)`` up to rounding. It pads each batch
    to its longest text; summing each text by itself is faster and makes a vector independent of
    its batch.
    """

    name = "wordllama-l2-256"

    def __init__(self) -> None:
        model = _load_wordllama()
        self._table: Float32Array = model.embedding
        self._tokenizer = model.tokenizer
        self._tokenizer.no_padding()
        self._lock = Lock()
        self.dimensions = int(self._table.shape[1])

    def embed(self, texts: Sequence[str]) -> Float32Array:
        """Rows of unit length, float32 [n, dimensions]; a text without tokens gives zeros."""
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in zip(rows, texts, strict=True):
            # One at a time: a longer list would be spread over threads of the tokenizer's own.
            with self._lock:
                [encoding] = self._tokenizer.encode_batch_fast([text], add_special_tokens=False)
            ids = encoding.ids
            if ids:
                np.add.reduce(self._table.take(ids, axis=0, mode="clip"), axis=0, out=row)
        norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        norms[norms == 0] = 1
        rows /= norms[:, None]
        return rows


def _load_wordllama() -> Any:
    """Load the packaged weights; the import's own logging set-up is undone."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    import wordllama  # noqa: PLC0415  # half a second, and it configures logging on import

    root.handlers[:] = handlers
    root.setLevel(level)
    folder = Path(wordllama.__file__).parent
    return wordllama.WordLlama.load(cache_dir=folder, disable_download=True)


def make_embedder(settings: AnalyzerSettings) -> Embedder:
    """The packaged embedder, or one behind a server; only that one is ever asked over a network.

    Raises:
        ValueError: no embedder has that name.
        EmbedderError: the server is asked for its dimensions and does not tell them.
    """
    if settings.embedder == "wordllama":
        return WordLlamaEmbedder()
    if settings.embedder == "openai" and settings.embedder_server is not None:
        from index.analysis.embedder_http import HttpEmbedder  # noqa: PLC0415  a second to import

        return HttpEmbedder(settings.embedder_server)
    raise ValueError(f"no embedder is called {settings.embedder!r}; known: wordllama, openai")
