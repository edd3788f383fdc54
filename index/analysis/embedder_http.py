"""Vectors by any server that speaks OpenAI's embeddings protocol."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import openai

from index.analysis.settings import EmbedderSettings
from index.errors import EmbedderAwayError, EmbedderError
from index.types import Float32Array

_AWAY = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Statuses that pass: the same request may be answered later."""

_TOO_MUCH = frozenset({400, 413, 422})
"""Statuses by which servers refuse a text that is too long for the model, or a batch too large."""

_PLAIN = "A ship left the harbour."
"""A text that every embedder takes."""

_UNUSED_KEY = "none"

_HUGE = 1e18
"""No component of a vector; its square would not be a finite float32."""


class HttpEmbedder:
    """See ``Embedder``; safe to use from several threads.

    A text that the model refuses by itself (it is too long) gets a row of zeros, as one without
    tokens does: full text still finds its chunk.
    """

    def __init__(self, settings: EmbedderSettings) -> None:
        """Raises ``EmbedderError`` where the dimensions are asked for and cannot be had."""
        self._settings = settings
        self._client = openai.OpenAI(
            api_key=settings.key or _UNUSED_KEY,
            base_url=settings.url,
            timeout=settings.timeout,
            max_retries=settings.retries,
        )
        self.name = f"{settings.model} at {settings.url}"
        self.dimensions = settings.dimensions
        if not self.dimensions:
            self.dimensions = len(self._rows([_PLAIN])[0])

    def embed(self, texts: Sequence[str]) -> Float32Array:
        """Rows of unit length, float32 [n, dimensions]; zeros where the model refuses a text.

        Raises:
            EmbedderAwayError: The server is not there, or asks to be left alone for a while.
            EmbedderError: What it answers are not the vectors that were asked for.
        """
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        full = [at for at, text in enumerate(texts) if text.strip()]
        for start in range(0, len(full), self._settings.batch):
            chosen = full[start : start + self._settings.batch]
            for at, vector in zip(chosen, self._each([texts[at] for at in chosen]), strict=True):
                if vector is not None:
                    rows[at] = self._unit(vector)
        return rows

    def _each(self, texts: Sequence[str]) -> Iterator[Sequence[float] | None]:
        """The vectors of a batch, or of its halves where the server takes no more at once."""
        try:
            found = self._rows(texts)
        except _RefusedError as refused:
            if len(texts) > 1:
                middle = len(texts) // 2
                yield from self._each(texts[:middle])
                yield from self._each(texts[middle:])
                return
            if texts[0] == _PLAIN or not self._takes_plain():
                raise EmbedderError(f"the embedder {self.name} refuses every text") from refused
            yield None
        else:
            yield from found

    def _takes_plain(self) -> bool:
        try:
            self._rows([_PLAIN])
        except _RefusedError:
            return False
        return True

    def _rows(self, texts: Sequence[str]) -> list[Sequence[float]]:
        try:
            answer: Any = self._client.embeddings.create(
                model=self._settings.model, input=list(texts), encoding_format="float"
            )
        except openai.APIStatusError as error:
            raise self._status(error.status_code) from error
        except openai.APIConnectionError as error:
            raise EmbedderAwayError(f"the embedder {self.name} cannot be reached") from error
        except (openai.OpenAIError, ValueError, TypeError, AttributeError) as error:
            raise EmbedderError(f"the embedder {self.name} cannot be understood") from error
        return self._in_order(getattr(answer, "data", None), len(texts))

    def _status(self, status: int) -> EmbedderError:
        told = f"the embedder {self.name} answers HTTP {status}"
        if status in _AWAY:
            return EmbedderAwayError(told)
        if status in _TOO_MUCH:
            return _RefusedError(told)
        why = {401: ": it refuses the key", 403: ": it refuses the key", 404: ": no such model"}
        return EmbedderError(told + why.get(status, ""))

    def _in_order(self, given: object, count: int) -> list[Sequence[float]]:
        """The vectors by the index that each names, each of them once."""
        rows: dict[int, Sequence[float]] = {}
        for at, item in enumerate(given if isinstance(given, list) else ()):
            index, vector = getattr(item, "index", None), getattr(item, "embedding", None)
            rows[index if isinstance(index, int) else at] = _numbers(vector)
        if sorted(rows) != list(range(count)) or not all(rows.values()):
            raise EmbedderError(f"what answers as the embedder {self.name} gives no vectors")
        return [rows[at] for at in range(count)]

    def _unit(self, vector: Sequence[float]) -> Float32Array:
        if len(vector) != self.dimensions:
            raise EmbedderError(
                f"the embedder {self.name} gives vectors of {len(vector)} dimensions, "
                f"not of {self.dimensions}: another model answers there"
            )
        norm = math.sqrt(math.fsum(x * x for x in vector))
        return (np.asarray(vector) / (norm or 1.0)).astype(np.float32)


class _RefusedError(EmbedderError):
    """The server takes this request not, perhaps a smaller one."""


def _numbers(vector: object) -> Sequence[float]:
    """A list of finite numbers; empty for everything else."""
    if not isinstance(vector, list):
        return ()
    sound = all(type(x) in {int, float} and math.isfinite(x) and abs(x) < _HUGE for x in vector)
    return vector if sound else ()
