"""Relevance tests: the seam, and the assessor that needs no model and no network."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from index.analysis.scripts import pieces
from query.plan import Subquery
from query.words import WORD

_UNKNOWN = 0.5
"""The cosine that support reckons with where there is none: that of a chunk on the subject."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk to be tested.

    ``sentences`` are character offsets into ``text``. ``similarity`` is the cosine to the
    subquery, ``lexical`` its share of the best BM25 score, ``named`` the share (by idf) of the
    subquery's concepts that chunk or title name, ``prior`` its share of the best ranking score.
    """

    slot: int
    title: str
    text: str
    sentences: tuple[tuple[int, int], ...]
    similarity: float
    lexical: float
    named: float
    prior: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an assessor says of a chunk.

    ``score`` in [0, 1]; ``relevant`` None where no verdict could be had, and the chunk counts
    as untested; ``sentences`` are indices of those that matter, best first. ``support`` in
    [0, 1] says how much of the subquery the chunk meets, whatever else there is: a search
    without a model and without support has no record. ``tau`` is the score from which who
    judged calls a chunk relevant.
    """

    slot: int
    score: float
    relevant: bool | None
    sentences: tuple[int, ...] = ()
    support: float = 1.0
    tau: float = 0.5


class Assessor(Protocol):
    """Tests chunks for relevance to a subquery, several at a time."""

    @property
    def name(self) -> str:
        """What answers call it."""
        ...

    def assess(self, subquery: Subquery, candidates: Sequence[Candidate]) -> list[Verdict]:
        """One verdict for each candidate, in their order."""
        ...


@dataclass(frozen=True, slots=True)
class AssessorSettings:
    """The offline assessor: a logistic score of what was measured, and its thresholds.

    The bias and the weight of ``prior`` were fitted on the evidence of MuSiQue, HotpotQA and
    2Wiki. The others are small and fixed: left free they went to 0, for evidence two steps away
    shares no words with its question, and questions about the news are mostly one step.

    Attributes:
        tau: A chunk is relevant from this score on: it keeps two thirds to nine tenths of the
            evidence and five to ten chunks a question.
        support: The least cosine times share of the question's words that the best relevant
            chunk must have. Over Reuters 30 questions with an answer had .44 and more.
        support_named: The same for a question that names what the index holds; 96 in a
            hundred questions of those sets have .08 and more.
        best_sentences: Sentences that a verdict names.
    """

    bias: float = -9.3
    similarity: float = 1.0
    lexical: float = 0.3
    sentence: float = 0.5
    covered: float = 1.0
    named: float = 0.5
    prior: float = 8.1
    tau: float = 0.05
    support: float = 0.3
    support_named: float = 0.08
    best_sentences: int = 3


@dataclass(frozen=True, slots=True)
class OfflineAssessor:
    """Similarity, shared words and shared concepts, and no understanding.

    A sentence matters by the weight of the subquery's words in it; a chunk by a calibrated
    score of its best sentence, of what it covers in all, and of where the ranking has it.
    """

    settings: AssessorSettings = field(default_factory=AssessorSettings)
    name: str = "offline"

    def assess(self, subquery: Subquery, candidates: Sequence[Candidate]) -> list[Verdict]:
        """See ``Assessor.assess``."""
        weights = stem_weights(subquery)
        return [self._verdict(subquery, candidate, weights) for candidate in candidates]

    def _verdict(
        self, subquery: Subquery, candidate: Candidate, weights: Mapping[str, float]
    ) -> Verdict:
        features = Features.of(candidate, weights)
        s = self.settings
        logit = (
            s.bias
            + s.similarity * candidate.similarity
            + s.lexical * candidate.lexical
            + s.sentence * features.sentence
            + s.covered * features.covered
            + s.named * candidate.named
            + s.prior * candidate.prior
        )
        score = 1 / (1 + math.exp(-logit))
        relevant = subquery.broad or score >= s.tau
        similarity = candidate.similarity if subquery.vector.any() else _UNKNOWN
        support = 1.0 if subquery.broad else max(similarity, 0.0) * features.covered
        sentences = features.order[: s.best_sentences]
        return Verdict(candidate.slot, score, relevant, sentences, support, s.tau)

    def supports(self, verdicts: Iterable[Verdict], *, named: bool) -> bool:
        """Whether the verdicts of a search stand for a record at all.

        ``named`` tells that the question names something that the index holds.
        """
        least = self.settings.support_named if named else self.settings.support
        return max((v.support for v in verdicts if v.relevant), default=0.0) >= least


@dataclass(frozen=True, slots=True)
class Features:
    """What the words of a chunk share with a subquery, each a share of the words' weight.

    ``sentence`` of the best sentence, ``covered`` of text and title together; ``order`` the
    sentences by their share, best first.
    """

    sentence: float
    covered: float
    order: tuple[int, ...]

    @classmethod
    def of(cls, candidate: Candidate, weights: Mapping[str, float]) -> "Features":
        """Measure a candidate."""
        total = sum(weights.values()) or 1.0
        met = [
            stems(candidate.text[start:end]) & weights.keys() for start, end in candidate.sentences
        ]
        shares = [sum(weights[stem] for stem in found) / total for found in met]
        everywhere = set().union(*met) | (stems(candidate.title) & weights.keys())
        order = sorted(range(len(shares)), key=lambda at: (-shares[at], at))
        return cls(
            sentence=max(shares, default=0.0),
            covered=sum(weights[stem] for stem in everywhere) / total,
            order=tuple(order),
        )


def stem_weights(subquery: Subquery) -> dict[str, float]:
    """The stems of a subquery's words with their weights."""
    return {stem(word): weight for word, weight in subquery.word_weights}


_ENDING = re.compile(r"(?:ing|edly|ed|ies|es|ly|s|e|y|'s)$")
_SHORTEST = 3


def stem(word: str) -> str:
    """A word without its ending, lower case; crude, and the same on both sides."""
    word = word.lower()
    cut = _ENDING.sub("", word)
    return cut if len(cut) >= _SHORTEST else word


def stems(text: str) -> set[str]:
    """The stems of the words of a text."""
    found = WORD.findall(text)
    return {stem(part) for word in found for part in pieces(word)}
