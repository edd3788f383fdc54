"""A context for a model: the text of chunks, every sentence of it numbered, up to some tokens."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from query.assessor import Candidate
from query.model.calls import escaped

BYTES_A_TOKEN = 4
"""What English takes on average; the ledger has what the model's server counted."""

AROUND = 24
"""Bytes of JSON around a sentence, a title or a point, its number included."""


@dataclass(frozen=True, slots=True)
class Source:
    """A sentence of a context: the ``sentence``-th of a candidate."""

    candidate: Candidate
    sentence: int

    @property
    def text(self) -> str:
        """Its words."""
        start, end = self.candidate.sentences[self.sentence]
        return self.candidate.text[start:end]


@dataclass(frozen=True, slots=True)
class Context:
    """Whole chunks in their order; ``sources`` are their sentences, numbered from 1."""

    chunks: tuple[Candidate, ...]
    sources: tuple[Source, ...]

    @property
    def material(self) -> list[dict[str, object]]:
        """What a model is shown: each chunk's title and numbered sentences."""
        number = 0
        shown: list[dict[str, object]] = []
        for chunk in self.chunks:
            texts = {
                str(number + at): chunk.text[start:end]
                for at, (start, end) in enumerate(chunk.sentences, start=1)
            }
            number += len(texts)
            shown.append({"title": chunk.title, "sentences": texts})
        return shown


def filled(candidates: Sequence[Candidate], tokens: int) -> list[Context]:
    """All of them in their order, in contexts of so many tokens; a longer chunk has its own."""
    contexts: list[list[Candidate]] = []
    left = 0
    for candidate in candidates:
        size = _bytes(candidate)
        if size > left:
            contexts.append([])
            left = tokens * BYTES_A_TOKEN
        contexts[-1].append(candidate)
        left -= size
    return [Context(tuple(chunks), tuple(_sources(chunks))) for chunks in contexts]


def alone(candidate: Candidate) -> Context:
    """A context of one chunk."""
    return Context((candidate,), tuple(_sources([candidate])))


def _bytes(chunk: Candidate) -> int:
    texts = [chunk.title, *(chunk.text[start:end] for start, end in chunk.sentences)]
    return sum(len(escaped(text).encode()) + AROUND for text in texts)


def _sources(chunks: Sequence[Candidate]) -> Iterable[Source]:
    return (Source(chunk, at) for chunk in chunks for at in range(len(chunk.sentences)))
