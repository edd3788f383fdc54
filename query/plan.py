"""From a question to what is looked up: words, vector, concepts, names that must exist."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from index.types import Float32Array, Int32Array, Int64Array
from index.view import View
from query.aliases import concepts_named, other_names, resolved
from query.errors import BadBudgetError, BadModeError, EmptyQuestionError, QuestionTooLongError
from query.graph import SearchGraph
from query.language import Language
from query.settings import SearchSettings
from query.types import Question
from query.words import content_words, is_broad, words

SHORTEST_CONTEXT = 500
"""Tokens: a few chunks."""

_WORD_WEIGHT = 3.0
"""Of a word that is no concept: a verb or an adjective, mostly; idf of one chunk in twenty."""

_NAME_WEIGHT = 6.0
"""Of one that is written like a name: idf of one chunk in four hundred; ours, as the one above."""

_LONGEST_NAME = 7
"""Words of the longest run that is looked up as one concept."""


@dataclass(frozen=True, slots=True, eq=False)
class Subquery:
    """What one part of a question looks up.

    ``vector`` float32[d]; ``words`` for full text; ``word_weights`` says what each of them is
    worth; ``concepts`` int32, those of the snapshot that the text names exactly; ``broad`` where
    it asks about the whole.
    """

    text: str
    vector: Float32Array
    words: tuple[str, ...]
    word_weights: tuple[tuple[str, float], ...]
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
        BadModeError: The context is not within 500 and the longest one, or the level below 0.
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
    if not SHORTEST_CONTEXT <= question.context <= settings.longest_context:
        raise BadModeError(
            f"the context has {question.context} tokens; it must have between {SHORTEST_CONTEXT} "
            f"and {settings.longest_context}"
        )
    if question.level is not None and question.level < 0:
        raise BadModeError(f"there is no level {question.level}: the first one is 0")
    return replace(question, text=text)


def subqueries(texts: Sequence[str], graph: SearchGraph, language: Language) -> list[Subquery]:
    """Look the texts of subqueries up in a snapshot, by the names that it knows."""
    known = [resolved(text, graph) for text in texts]
    vectors = language.embed_queries([looked for looked, _ in known])
    return [
        _subquery(text, looked, also, vectors[number], graph, language)
        for number, (text, (looked, also)) in enumerate(zip(texts, known, strict=True))
    ]


def _subquery(
    text: str,
    looked: str,
    also: Sequence[str],
    vector: Float32Array,
    graph: SearchGraph,
    language: Language,
) -> Subquery:
    concepts = named_concepts(looked, graph, language)
    if also:
        more = [number for name in also for number in concepts_named(words(name), graph)]
        concepts = np.union1d(concepts, np.array(more, np.int32)).astype(np.int32)
    names = [word for name in also for word in content_words(name)]
    return Subquery(
        text=text,
        vector=vector,
        words=tuple(dict.fromkeys([*content_words(looked), *names])),
        word_weights=_weighed(looked, graph),
        concepts=concepts,
        broad=is_broad(looked),
    )


def named_concepts(text: str, graph: SearchGraph, language: Language) -> Int32Array:
    """Numbers of the concepts that a text names exactly, sorted.

    Those that the analyzer finds, and those that a run of words spells, longest first; a run
    inside a longer one that was found is not looked up again.
    """
    keys = [mention.key for mention in language.concepts_of(text)]
    written = words(text)
    content = set(content_words(text))
    numbers = {n for key in keys if (n := graph.held(key)) is not None}
    taken = [False] * len(written)
    for size in range(min(_LONGEST_NAME, len(written)), 0, -1):
        for start in range(len(written) - size + 1):
            run = written[start : start + size]
            if all(taken[start : start + size]) or not any(w.lower() in content for w in run):
                continue
            number = graph.spelled(run)
            if number is not None:
                numbers.add(number)
                taken[start : start + size] = [True] * size
    return np.array(sorted(numbers), np.int32)


def _weighed(text: str, graph: SearchGraph) -> tuple[tuple[str, float], ...]:
    """Each content word with its idf as a concept; a fixed weight where it is none by itself.

    The words of the full-text index have no frequencies at hand; a capitalised word that is no
    concept by itself is part of a name and as good as rare.
    """
    written = {word.lower(): word for word in words(text)}
    weighed = []
    for word in content_words(text):
        number = graph.spelled([written.get(word, word)])
        if number is not None:
            weight = float(graph.idf[number])
        else:
            weight = _NAME_WEIGHT if written.get(word, word)[0].isupper() else _WORD_WEIGHT
        weighed.append((word, max(weight, 0.1)))
    return tuple(weighed)


def rows_of_name(name: str, view: View, graph: SearchGraph) -> Int64Array:
    """The chunk rows that hold a name; none where the index does not hold it.

    A name is held where it, or another name of the same thing, is a concept, or where its words
    stand side by side in a chunk or title, or else where all its capitalised words stand somewhere
    in one chunk.
    """
    numbers = concepts_named(words(name), graph)
    if numbers:
        return _rows_of_concepts(numbers, graph)
    slots = view.full_text((name, *other_names(name)), 0)[0]
    if not len(slots):
        parts = [w for w in words(name) if w[0].isupper() or any(c.isdigit() for c in w)]
        for at, part in enumerate(parts):
            found = view.full_text((part,), 0)[0]
            slots = found if at == 0 else np.intersect1d(slots, found)
            if not len(slots):
                break
    rows = graph.snapshot.rows_of(slots)
    rows = rows[rows >= 0]
    return rows[graph.snapshot.shown[rows]]


def _rows_of_concepts(numbers: Sequence[int], graph: SearchGraph) -> Int64Array:
    snapshot = graph.snapshot
    named = np.zeros(snapshot.rows, np.bool_)
    named[snapshot.concept_chunks[list(numbers)].indices] = True
    titled = np.zeros(len(snapshot.documents), np.bool_)
    titled[snapshot.concept_titles[list(numbers)].indices] = True
    return np.flatnonzero((named | titled[snapshot.chunk_document]) & snapshot.shown)
