"""From a question to what is looked up: words, vector, concepts, names that must exist."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from index.types import Float32Array, Int32Array
from index.view import View
from query.errors import BadBudgetError, EmptyQuestionError, QuestionTooLongError
from query.graph import SearchGraph
from query.language import Language
from query.settings import SearchSettings
from query.types import Question
from query.words import content_words, is_broad, names, words

_LONGEST_NAME = 7
"""Words of the longest run that is looked up as one concept."""


@dataclass(frozen=True, slots=True, eq=False)
class Subquery:
    """What one part of a question looks up.

    ``vector`` float32[d]; ``words`` for full text; ``concepts`` int32, those of the snapshot that
    the text names exactly; ``broad`` where it asks about the whole.
    """

    text: str
    vector: Float32Array
    words: tuple[str, ...]
    concepts: Int32Array
    broad: bool = False

    def weights(self, graph: SearchGraph) -> Float32Array:
        """float32[concepts]: the idf of the named concepts, 0 for all others."""
        weights = np.zeros(len(graph.idf), np.float32)
        weights[self.concepts] = graph.idf[self.concepts]
        return weights


def checked(question: Question, settings: SearchSettings) -> Question:
    """The question with its text stripped.

    Raises:
        EmptyQuestionError: There is no letter or digit in it.
        QuestionTooLongError: It is longer than the settings allow.
        BadBudgetError: The budget is not within 1 and the largest one.
    """
    text = question.text.encode("utf-8", "replace").decode("utf-8").strip()
    if not any(c.isalnum() for c in text):
        raise EmptyQuestionError("the question is empty; ask in words")
    if len(text) > settings.longest_question:
        raise QuestionTooLongError(
            f"the question has {len(text)} characters; at most {settings.longest_question} are read"
        )
    if not 1 <= question.budget <= settings.largest_budget:
        raise BadBudgetError(
            f"the budget is {question.budget}; it must be between 1 and {settings.largest_budget}"
        )
    return replace(question, text=text)


def subqueries(texts: Sequence[str], graph: SearchGraph, language: Language) -> list[Subquery]:
    """Look the texts of subqueries up in a snapshot."""
    vectors = language.embed_queries(texts)
    return [
        Subquery(
            text=text,
            vector=vectors[number],
            words=content_words(text),
            concepts=named_concepts(text, graph, language),
            broad=is_broad(text),
        )
        for number, text in enumerate(texts)
    ]


def named_concepts(text: str, graph: SearchGraph, language: Language) -> Int32Array:
    """Numbers of the concepts that a text names exactly, sorted.

    Those that the analyzer finds, and those that a run of words spells, longest first; a run
    inside a longer one that was found is not looked up again.
    """
    keys = [mention.key for mention in language.concepts_of(text)]
    lower = [word.lower() for word in words(text)]
    taken = [False] * len(lower)
    small = set(content_words(text))
    for size in range(min(_LONGEST_NAME, len(lower)), 0, -1):
        for start in range(len(lower) - size + 1):
            run = range(start, start + size)
            if all(taken[at] for at in run) or not any(lower[at] in small for at in run):
                continue
            key = " ".join(lower[start : start + size])
            if graph.snapshot.concept(key) is not None:
                keys.append(key)  # type: ignore[arg-type]
                for at in run:
                    taken[at] = True
    numbers = {graph.snapshot.concept(key) for key in keys}
    found = np.array(sorted(n for n in numbers if n is not None), np.int32)
    return found[graph.known[found]]


def missing_names(text: str, view: View, graph: SearchGraph) -> tuple[str, ...]:
    """Names in a question that the index does not hold.

    A name is held where it is a concept of the snapshot, or all its words stand side by side in
    some chunk or title, or (of three words or more) every one of its capitalised words stands
    somewhere in one chunk.
    """
    return tuple(name for name in names(text) if not _held(name, view, graph))


def _held(name: str, view: View, graph: SearchGraph) -> bool:
    number = graph.snapshot.concept(name.lower())
    if number is not None and graph.known[number]:
        return True
    if len(view.full_text((name,), 1)[0]):
        return True
    parts = [word for word in words(name) if word[0].isupper() or any(c.isdigit() for c in word)]
    together: set[int] | None = None
    for part in parts:
        slots = set(view.full_text((part,), 0)[0].tolist())
        together = slots if together is None else together & slots
        if not together:
            return False
    return True
