"""What a search needs of language analysis; the index's analyzer gives it."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from index.errors import EmbedderError
from index.types import Facet, Float32Array, Mention


class Language(Protocol):
    """The same rules for a question as for the documents."""

    def embed_queries(self, texts: Sequence[str]) -> Float32Array:
        """Unit rows, float32[n, d], comparable with the chunks' vectors."""
        ...

    def concepts_of(self, text: str) -> tuple[Mention, ...]:
        """The concepts named in a text, keys distinct."""
        ...

    def sentences(self, text: str) -> list[tuple[int, int]]:
        """Character offsets of the sentences of a text, in order."""
        ...

    def facets_of(self, text: str) -> tuple[Facet, ...]:
        """The values (amounts, counts, percentages, dates) in a text."""
        ...


class Steady:
    """A language within one search that goes on without vectors once the embedder fails.

    Rows are zeros then, as of a text without tokens: similarity says nothing, full text and the
    concepts decide. ``lost`` tells.
    """

    def __init__(self, language: Language, dimensions: int) -> None:
        self._language = language
        self._dimensions = dimensions
        self.lost = False
        self.concepts_of = language.concepts_of
        self.sentences = language.sentences
        self.facets_of = language.facets_of

    def embed_queries(self, texts: Sequence[str]) -> Float32Array:
        """See ``Language``."""
        if not self.lost:
            try:
                return self._language.embed_queries(texts)
            except EmbedderError:
                self.lost = True
        return np.zeros((len(texts), self._dimensions), np.float32)
