"""Local and global questions from an index: which passages a model is shown for them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from index.view import View
from query.communities import main_home
from query.graph import SearchGraph
from query.model import making
from query.model.calls import Model, ModelError, Prompt

PASSAGES = 12
"""Shown for a global question, each of another community where there are as many."""

LEVEL = 1
"""Of those communities: C0 has few, and large ones hold most chunks."""

_SPARE = 3
"""Calls for each question wanted, at most: a model may make one twice, or none."""


@dataclass(frozen=True, slots=True)
class MadeQuestion:
    """A question with the id of the document that it was made from; "" for a global one."""

    text: str
    kind: str
    document_id: str = ""


def synthesised(
    model: Model, view: View, graph: SearchGraph, count: int, random: Random
) -> list[MadeQuestion]:
    """At most so many local questions, then as many global ones, no two the same.

    Args:
        model: Makes them.
        view: The pinned view.
        graph: The graph of its snapshot.
        count: Of each kind.
        random: Draws the passages.

    Raises:
        ModelError: the model gave no reply.
    """
    rows = np.flatnonzero(view.snapshot.shown)
    homes = main_home(graph, rows, LEVEL)
    groups = [rows[homes == home].tolist() for home in np.unique(homes).tolist()]
    found: dict[str, MadeQuestion] = {}
    for kind, draws in (
        ("local", _locals(rows.tolist(), count, random)),
        ("global", _globals(groups, count, random)),
    ):
        wanted = len(found) + count
        for drawn in draws:
            if len(found) >= wanted:
                break
            passages, document = _passages(view, drawn)
            text = _made(
                model, making.local(passages[0]) if kind == "local" else making.overall(passages)
            )
            if text is not None and text not in found:
                found[text] = MadeQuestion(text, kind, document if kind == "local" else "")
    return list(found.values())


def _locals(rows: list[int], count: int, random: Random) -> Iterator[list[int]]:
    yield from ([row] for row in random.sample(rows, min(len(rows), _SPARE * count)))


def _globals(groups: Sequence[list[int]], count: int, random: Random) -> Iterator[list[int]]:
    for _ in range(_SPARE * count if groups else 0):
        chosen = random.sample(groups, min(len(groups), PASSAGES))
        yield [random.choice(group) for group in chosen]


def _passages(view: View, rows: Sequence[int]) -> tuple[list[making.Passage], str]:
    """Title and text of chunk rows, and the id of the first one's document."""
    chunks = view.chunks(view.snapshot.slots[rows].tolist())
    documents = view.documents(sorted({chunk.document for chunk in chunks}))
    found = [(documents[chunk.document].title, chunk.text) for chunk in chunks]
    return found, documents[chunks[0].document].id


def _made(model: Model, prompt: Prompt) -> str | None:
    (reply,) = model.for_question().ask([prompt])
    if isinstance(reply, ModelError):
        raise reply
    return making.made(reply.text)
