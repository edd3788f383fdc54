"""Questions that list several things: no one chunk can be about them all."""

import re
from collections.abc import Iterable, Sequence

from query.assessor import stem
from query.words import BROAD_WORDS, STOP_WORDS, words

LEAST = 3
"""Things that a question must list before it is judged thing by thing; ours."""

_BETWEEN = re.compile(r"[,;:]|\b(?:and|or)\b", re.IGNORECASE)


def listed(text: str) -> tuple[frozenset[str], ...]:
    """The stems of each thing that a question lists; nothing where it lists fewer than ``LEAST``.

    "What happened to the bridge, the ship and the harbour?" lists three.
    """
    things = [_stems(part, STOP_WORDS | BROAD_WORDS) for part in _BETWEEN.split(text)]
    things = [thing for thing in things if thing]
    return tuple(things) if len(things) >= LEAST else ()


def mostly_found(things: Sequence[frozenset[str]], texts: Iterable[str]) -> bool:
    """Whether at least half of the things stand in the texts, each whole in one of them."""
    held = [_stems(text, STOP_WORDS) for text in texts]
    found = sum(any(thing <= stems for stems in held) for thing in things)
    return bool(things) and 2 * found >= len(things)


def _stems(text: str, without: frozenset[str]) -> frozenset[str]:
    lower = (word.lower() for word in words(text))
    return frozenset(stem(word) for word in lower if word not in without)
