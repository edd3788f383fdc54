"""A model as the judge of two answers, on the criteria of the GraphRAG papers."""

from collections.abc import Sequence
from typing import Literal

from query.model.calls import QUOTED, Prompt, Shape, quoted, read

CRITERIA = {
    "comprehensiveness": "how much of the question's sides and details does it cover?",
    "diversity": "how varied and rich are the views and insights that it gives?",
    "empowerment": "how well does it help a reader to understand and to judge for themselves?",
    "relevance": "how well does it keep to what the question asks?",
}
"""Edge et al., "From Local to Global" (arXiv 2404.16130), and the announcement of LazyGraphRAG."""

_SYSTEM = (
    "You compare two answers to a question, on each criterion by itself. "
    + QUOTED
    + "The criteria: "
    + " ".join(f"{name}: {meaning}" for name, meaning in CRITERIA.items())
    + " Their order and their length are no merits. For each criterion say which one is better, "
    '"first" or "second", or "tie". Reply in JSON: {"comprehensiveness": "tie", '
    '"diversity": "tie", "empowerment": "tie", "relevance": "tie"}.'
)
_MOST = 200
"""Tokens of a reply: twice what it takes."""

Winner = Literal["first", "second", "tie"]
_POINTS: dict[Winner, float] = {"first": 1.0, "tie": 0.5, "second": 0.0}


class Judgement(Shape):
    """The better answer by criterion."""

    comprehensiveness: Winner
    diversity: Winner
    empowerment: Winner
    relevance: Winner


def question(text: str, first: str, second: str) -> Prompt:
    """The call that compares two answers in this order."""
    answers = [{"answer": "first", "text": first}, {"answer": "second", "text": second}]
    return Prompt(_SYSTEM, f"Question: {text}\n\n{quoted(answers)}", Judgement, _MOST)


def points(reply: str, *, swapped: bool) -> Sequence[float] | None:
    """What our answer gets on each criterion: 1 won, 0.5 a tie, 0 lost; None where unusable.

    Ours was the first one, or with ``swapped`` the second.
    """
    said = read(reply, Judgement)
    if said is None:
        return None
    given = [_POINTS[getattr(said, name)] for name in CRITERIA]
    return [1 - value for value in given] if swapped else given
