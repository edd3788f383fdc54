"""Refinement: from a question to subqueries and one expanded query."""

from dataclasses import dataclass
from hashlib import blake2b

from query.model.calls import Prompt, Shape, read

FEWEST, MOST = 3, 5
"""Subqueries, as announced for LazyGraphRAG."""

LONGEST = 500
"""Characters of a subquery; the expanded query may have four times as many."""

_SYSTEM = (
    f"You prepare a search over news and documents. Break the question into {FEWEST} to {MOST} "
    "different subqueries that together cover it, each a full question that stands by itself "
    "and keeps the names, dates and numbers of the question, in its language. Then write one "
    'expanded query that says all of it in full. Reply in JSON: {"subqueries": ["..."], '
    '"expanded": "..."}.'
)


RULES = blake2b(_SYSTEM.encode(), digest_size=4).hexdigest()
"""Names the rules that subqueries were made by."""


class Refinement(Shape):
    """What a model makes of a question."""

    subqueries: list[str]
    expanded: str


@dataclass(frozen=True, slots=True)
class Refined:
    """What is searched for, and what is answered in the end."""

    subqueries: tuple[str, ...]
    expanded: str


def question(text: str) -> Prompt:
    """The call that refines a question."""
    return Prompt(_SYSTEM, f"Question: {text}", Refinement)


def refined(reply: str) -> Refined | None:
    """The subqueries, None where they are too few, too many, blank or too long."""
    read_ = read(reply, Refinement)
    if read_ is None:
        return None
    texts = tuple(dict.fromkeys(" ".join(text.split()) for text in read_.subqueries))
    expanded = " ".join(read_.expanded.split())
    fits = FEWEST <= len(texts) <= MOST and all(_asks(text, LONGEST) for text in texts)
    return Refined(texts, expanded) if fits and _asks(expanded, 4 * LONGEST) else None


def _asks(text: str, longest: int) -> bool:
    return len(text) <= longest and any(c.isalnum() for c in text)
