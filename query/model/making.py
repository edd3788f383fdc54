"""Questions made from a corpus by a model: on one passage, or on what many of them share.

As in the announcement of LazyGraphRAG, half of the questions of a comparison are local and half
global; its prompts are not published, these are ours.
"""

from collections.abc import Sequence
from typing import TypeAlias

from query.model.calls import QUOTED, Prompt, Shape, quoted, read

LONGEST = 300
"""Characters of a question."""

_LOCAL = (
    "You make one question for a test of search. "
    + QUOTED
    + "Ask for something particular that the passage tells and that somebody who has not read it "
    "could want to know. Name the people, places or things that it is about, never the passage "
    'itself. Reply in JSON: {"question": "..."}.'
)
_GLOBAL = (
    "You make one question for a test of search. "
    + QUOTED
    + "The passages are drawn from all over a collection. Ask for something that only many "
    "documents together answer: themes, changes, how groups differ. Name no single document or "
    'event, and never the passages themselves. Reply in JSON: {"question": "..."}.'
)
_MOST = 200
"""Tokens of a reply: twice what it takes."""


Passage: TypeAlias = tuple[str, str]
"""A title and a text."""


class Made(Shape):
    """A question as a model makes it."""

    question: str


def local(passage: Passage) -> Prompt:
    """The call that makes a question on one passage."""
    return _prompt(_LOCAL, [passage])


def overall(passages: Sequence[Passage]) -> Prompt:
    """The call that makes a question on many passages together."""
    return _prompt(_GLOBAL, passages)


def _prompt(system: str, passages: Sequence[Passage]) -> Prompt:
    material = [{"title": title, "text": text} for title, text in passages]
    return Prompt(system, quoted(material), Made, _MOST)


def made(reply: str) -> str | None:
    """The question, None where there is none that could be asked."""
    said = read(reply, Made)
    text = "" if said is None else " ".join(said.question.split())
    return text if 0 < len(text) <= LONGEST and any(c.isalnum() for c in text) else None
