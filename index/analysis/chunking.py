"""Chunks: whole sentences up to about a hundred words, with offsets into the document."""

import re
from dataclasses import dataclass

from index.analysis.sentences import sentence_spans

VERSION = 1
LONG_WORD = 24
"""Characters beyond which a run without spaces weighs as several words of six characters."""
CHARACTERS_A_WORD = 6
_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Span:
    """``text[start:end]``, half open; ``words`` counts white-space separated words."""

    start: int
    end: int
    words: int


def chunk_spans(text: str, words: int) -> list[Span]:
    """Cut a text into chunks of about ``words`` words.

    Chunks are in order, do not overlap and together hold every character that is not white
    space. A sentence weighing more than twice ``words`` is cut at white space, a run without
    white space longer than that is cut where it is full, so no chunk exceeds about
    ``14 * words`` characters of such runs or twice ``words`` words.
    """
    chunks: list[Span] = []
    start = end = count = weight = 0
    for unit_start, unit_end, unit_words, unit_weight in _units(text, words):
        # Take the sentence in when that comes nearer to the target than leaving it out.
        if weight and (weight + unit_weight - words) > (words - weight):
            chunks.append(Span(start, end, count))
            count = weight = 0
        if not weight:
            start = unit_start
        end = unit_end
        count += unit_words
        weight += unit_weight
    if weight:
        chunks.append(Span(start, end, count))
    return _merge_tail(chunks, words)


def _merge_tail(chunks: list[Span], words: int) -> list[Span]:
    """Join a short last chunk (a dateline, a signature) to the one before it."""
    if len(chunks) < 2 or chunks[-1].words > words // 5:  # noqa: PLR2004
        return chunks
    before, last = chunks[-2:]
    if last.end - before.start > 2 * CHARACTERS_A_WORD * words:
        return chunks
    return [*chunks[:-2], Span(before.start, last.end, before.words + last.words)]


def _units(text: str, words: int) -> list[tuple[int, int, int, int]]:
    """Sentences, or pieces of overlong ones, as (start, end, words, weight)."""
    units: list[tuple[int, int, int, int]] = []
    for start, end in sentence_spans(text):
        count = len(text[start:end].split())
        weight = max(count, (end - start) // (2 * CHARACTERS_A_WORD))
        if weight > 2 * words or end - start > LONG_WORD * words:
            units.extend(_pieces(text, start, end, words))
        else:
            units.append((start, end, count, weight))
    return units


def _pieces(text: str, start: int, end: int, words: int) -> list[tuple[int, int, int, int]]:
    """Cut one overlong sentence at white space, and runs without any where they are full."""
    pieces: list[tuple[int, int, int, int]] = []
    first = last = count = weight = 0
    for left, right in _short_runs(text, start, end, words * CHARACTERS_A_WORD):
        cost = 1 if right - left <= LONG_WORD else (right - left) // CHARACTERS_A_WORD
        if weight and weight + cost > words:
            pieces.append((first, last, count, weight))
            count = weight = 0
        if not weight:
            first = left
        last = right
        count += 1
        weight += cost
    pieces.append((first, last, count, weight))
    return pieces


def _short_runs(text: str, start: int, end: int, longest: int) -> list[tuple[int, int]]:
    """Runs without white space, each at most ``longest`` characters."""
    runs: list[tuple[int, int]] = []
    for match in _WORD.finditer(text, start, end):
        left, right = match.span()
        runs.extend((at, min(at + longest, right)) for at in range(left, right, longest))
    return runs
