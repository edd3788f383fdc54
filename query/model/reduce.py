"""Reduction: the words of an answer from its claims, each sentence with its sources."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from index.analysis.sentences import sentence_spans
from query.model.calls import QUOTED, Prompt, Shape, quoted
from query.types import Claim

_MARK = re.compile(r"\s*\[\s*\d[\d\s,;]*\]")
_SYSTEM = (
    "You answer a question from numbered claims and from nothing else. "
    + QUOTED
    + "Write a short answer in the language of the question, sentence by sentence; for each "
    "sentence list the numbers of the claims that carry it, at least one. Leave out what no "
    "claim says; where claims disagree say so. Reply in JSON: "
    '{"sentences": [{"text": "...", "claims": [1]}]}.'
)


class Sentence(Shape):
    """A sentence with the numbers of its claims, from 1."""

    text: str
    claims: list[int]


class Sentences(Shape):
    """An answer, sentence by sentence."""

    sentences: list[Sentence]


@dataclass(frozen=True, slots=True)
class Reduced:
    """The words of an answer, citing ``[n]``, and what of the model's was taken out."""

    text: str
    removed: int
    dropped: int

    @property
    def notes(self) -> tuple[str, ...]:
        """What was taken out, in words."""
        found = []
        if self.removed:
            found.append(f"Citations of claims that do not exist were removed: {self.removed}.")
        if self.dropped:
            found.append(f"Sentences without a source were left out: {self.dropped}.")
        return tuple(found)


def question(text: str, claims: Sequence[Claim]) -> Prompt:
    """The call that reduces claims to an answer."""
    material = [{"claim": n, "text": claim.text} for n, claim in enumerate(claims, start=1)]
    return Prompt(_SYSTEM, f"Question: {text}\n\n{quoted(material)}", Sentences, 2000)


def reduced(answer: Sentences | None, marks: Mapping[int, Sequence[int]]) -> Reduced | None:
    """The answer with citations for claims, None where no sentence is left.

    ``marks`` gives the citations of each claim that there is, by its number.
    """
    lines: list[str] = []
    removed = dropped = 0
    for sentence in answer.sentences if answer is not None else ():
        known = [n for n in dict.fromkeys(sentence.claims) if n in marks]
        removed += len(set(sentence.claims) - set(known))
        text = " ".join(_MARK.sub("", sentence.text).split())
        if known and text:
            cited = dict.fromkeys(mark for n in known for mark in marks[n])
            lines += _cited(text, "".join(f"[{mark}]" for mark in cited))
        else:
            dropped += 1
    return Reduced(" ".join(lines), removed, dropped) if lines else None


def _cited(text: str, marks: str) -> list[str]:
    """Each sentence of a text with the marks: a model may have put several into one."""
    return [f"{text[start:end]} {marks}" for start, end in sentence_spans(text)]
