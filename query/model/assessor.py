"""Relevance tests by a model: several chunks a call, each rated from its sentences."""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import TypeAlias

from query.assessor import Candidate, Features, Verdict, stem_weights
from query.model.calls import QUOTED, Prompt, Role, Shape, quoted, read
from query.plan import Subquery

CHUNKS_A_CALL = 8
"""Ours: a call of some 1,500 tokens, and the verdicts lost with one that cannot be used are few."""

TAU = 0.5
"""A chunk is relevant from this score on: the middle of the scale that the model is given."""

_SYSTEM = (
    "You judge whether passages help to answer a question. "
    + QUOTED
    + "Give exactly one verdict for each chunk, by its number: a score from 0 (no help) to 1 "
    "(answers it), and the numbers of the sentences that matter, best first, none where the "
    'score is low. Reply in JSON: {"verdicts": [{"chunk": 1, "score": 0.0, "sentences": [1]}]}.'
)


RULES = blake2b(_SYSTEM.encode(), digest_size=4).hexdigest()
"""Names the rules that a verdict was given by: other rules, other verdicts."""


class Rating(Shape):
    """What a model says of one chunk; numbers count from 1."""

    chunk: int
    score: float
    sentences: list[int]


class Ratings(Shape):
    """What a model says of the chunks of a call."""

    verdicts: list[Rating]


Numbered: TypeAlias = Mapping[int, Candidate]


def batches(candidates: Sequence[Candidate]) -> list[Numbered]:
    """Chunks by the number that they have in their call."""
    return [
        dict(enumerate(candidates[at : at + CHUNKS_A_CALL], start=1))
        for at in range(0, len(candidates), CHUNKS_A_CALL)
    ]


def question(text: str, chunks: Numbered) -> Prompt:
    """The call that tests chunks for a subquery's text."""
    material = [
        {
            "chunk": number,
            "title": chunk.title,
            "sentences": {
                str(at): chunk.text[start:end]
                for at, (start, end) in enumerate(chunk.sentences, start=1)
            },
        }
        for number, chunk in chunks.items()
    ]
    user = f"Question: {text}\n\n{quoted(material)}"
    return Prompt(_SYSTEM, user, Ratings, 100 + 100 * len(chunks), Role.TESTS)


def verdicts(text: str, subquery: Subquery, chunks: Numbered) -> dict[int, Verdict]:
    """Verdicts by chunk number; none at all where the reply is not what was asked for.

    A reply that names a chunk or sentence that it was not shown, or a chunk twice, or a score
    off the scale, cannot be trusted in the rest either. Chunks that it leaves out are missing.
    """
    ratings = read(text, Ratings)
    if ratings is None or not _sound(ratings.verdicts, chunks):
        return {}
    return {
        rating.chunk: _verdict(rating, subquery, chunks[rating.chunk])
        for rating in ratings.verdicts
    }


def untested(chunk: Candidate) -> Verdict:
    """The verdict on a chunk of which the model said nothing that could be used."""
    return Verdict(chunk.slot, 0.0, None, (), 0.0)


def _sound(ratings: Iterable[Rating], chunks: Numbered) -> bool:
    seen: set[int] = set()
    for rating in ratings:
        chunk = chunks.get(rating.chunk)
        if chunk is None or rating.chunk in seen or not 0 <= rating.score <= 1:
            return False
        if not all(1 <= at <= len(chunk.sentences) for at in rating.sentences):
            return False
        seen.add(rating.chunk)
    return True


def _verdict(rating: Rating, subquery: Subquery, chunk: Candidate) -> Verdict:
    relevant = rating.score >= TAU
    sentences = tuple(dict.fromkeys(at - 1 for at in rating.sentences))
    if relevant and not sentences:
        # It names none: quote the one that shares most words with the question.
        sentences = Features.of(chunk, stem_weights(subquery)).order[:1]
    return Verdict(chunk.slot, rating.score, relevant, sentences)
