"""What a search needs of language analysis; the index's analyzer gives it."""

from collections.abc import Sequence
from typing import Protocol

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
