"""What a baseline does with a model: it answers from a context of numbered sentences."""

from collections.abc import Callable
from dataclasses import dataclass

from query.context import Context, Source
from query.model.calls import QUOTED, Prompt, quoted
from query.model.reduce import Reduced, Sentences, reduced
from query.types import Citation

_SYSTEM = (
    "You answer a question from passages and from nothing else. "
    + QUOTED
    + "Each sentence of them has a number; it is a claim. Write a full answer in the language of "
    "the question, sentence by sentence; for each sentence list the numbers of the claims that "
    "carry it, at least one. Leave out what no claim says; where claims disagree say so. Where "
    "they say nothing on the question give no sentence. Reply in JSON: "
    '{"sentences": [{"text": "...", "claims": [1]}]}.'
)
LONGEST_ANSWER = 2000
"""Tokens: some 1,500 words."""


@dataclass(frozen=True, slots=True)
class Grounded:
    """An answer with the sentences that it cites, ``[n]`` counting them from 1."""

    answer: Reduced
    citations: tuple[Citation, ...]


def question(text: str, context: Context) -> Prompt:
    """The call that answers from a context."""
    material = quoted(context.material)
    return Prompt(_SYSTEM, f"Question: {text}\n\n{material}", Sentences, LONGEST_ANSWER)


def grounded(
    said: Sentences, context: Context, cite: Callable[[Source], Citation | None]
) -> Grounded | None:
    """The answer where it cites what the context holds, None where no sentence is left.

    ``cite`` quotes a sentence, or says that its document does not have it.
    """
    marks: dict[int, tuple[int]] = {}
    citations: list[Citation] = []
    for number in dict.fromkeys(n for sentence in said.sentences for n in sentence.claims):
        known = 1 <= number <= len(context.sources)
        citation = cite(context.sources[number - 1]) if known else None
        if citation is not None:
            citations.append(citation)
            marks[number] = (len(citations),)
    answer = reduced(said, marks)
    return None if answer is None else Grounded(answer, tuple(citations))
