"""The map step of mode ``global``: what the text of one community says on a question."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from query.context import AROUND, BYTES_A_TOKEN, Context
from query.model.calls import QUOTED, Prompt, Shape, escaped, quoted, read

_SYSTEM = (
    "You collect what passages of one group say on a question. "
    + QUOTED
    + "Each sentence of them has a number. Write the points that help to answer the question, "
    "each one sentence in the language of the question, with a score from 0 (of no weight) to 1 "
    "(answers it) and the numbers of the sentences that carry it; no point where they say "
    'nothing on it. Reply in JSON: {"points": [{"text": "...", "score": 0.5, "sentences": [1]}]}.'
)
_MOST = 1000
"""Tokens of a reply: some twenty points."""

T = TypeVar("T")


class PointShape(Shape):
    """A point as a model makes it."""

    text: str
    score: float
    sentences: list[int]


class PointsShape(Shape):
    """What a model makes of one group."""

    points: list[PointShape]


@dataclass(frozen=True, slots=True)
class Point:
    """A point with the places in its context of the sentences that carry it, from 0."""

    text: str
    score: float
    sources: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Mapped:
    """The points of one group, and how many citations of what it does not hold were removed."""

    points: tuple[Point, ...]
    removed: int


def question(text: str, context: Context) -> Prompt:
    """The call that reads one group."""
    return Prompt(_SYSTEM, f"Question: {text}\n\n{quoted(context.material)}", PointsShape, _MOST)


def mapped(reply: str, context: Context) -> Mapped | None:
    """The points of a reply, None where it is not what was asked for.

    A point off the scale, blank, or without a sentence that its group holds is left out.
    """
    said = read(reply, PointsShape)
    if said is None:
        return None
    points, removed = [], 0
    for point in said.points:
        numbers = dict.fromkeys(point.sentences)
        known = tuple(n - 1 for n in numbers if 1 <= n <= len(context.sources))
        removed += len(numbers) - len(known)
        text = " ".join(point.text.split())
        if known and text and 0 <= point.score <= 1:
            points.append(Point(text, point.score, known))
    return Mapped(tuple(points), removed)


def best(groups: Iterable[tuple[T, Mapped]], tokens: int) -> list[tuple[T, Point]]:
    """The points of all groups, each with its group, highest scores first, in so many tokens."""
    found = [(group, point) for group, mapped in groups for point in mapped.points]
    left = tokens * BYTES_A_TOKEN
    chosen: list[tuple[T, Point]] = []
    for group, point in sorted(found, key=lambda item: -item[1].score):
        left -= len(escaped(point.text).encode()) + AROUND
        if left < 0 and chosen:
            break
        chosen.append((group, point))
    return chosen
