"""From a name as people type it to the concepts that bear it."""

import re

import numpy as np

from index.types import Int64Array
from query.errors import UnknownConceptError
from query.graph import SearchGraph

_POSSESSIVE = re.compile(r"['\u2019]s?(?= |$)")


def spelled(name: str) -> str:
    """A name as a key spells it, as far as that can be told without the analyzer."""
    return " ".join(_POSSESSIVE.sub("", name.casefold()).split())


def matching(graph: SearchGraph, name: str) -> Int64Array:
    """Numbers of the concepts of a name, the exact one first, then those that contain it.

    "Volcker" stands for `volcker` and `paul volcker`, and for no key that only begins like it.
    """
    key = spelled(name)
    if not key:
        return np.zeros(0, np.int64)
    snapshot = graph.snapshot
    held = snapshot.vocabulary.holding(key, snapshot.concept_count)
    found = [number for number in held if graph.known[number]]
    exact = graph.spelled(name.split())
    if exact is not None and exact not in found:
        found.append(exact)
    found.sort(key=lambda number: (number != exact, -graph.chunk_degree[number], number))
    return np.array(found, np.int64)


def exactly(graph: SearchGraph, name: str) -> int:
    """The number of the concept of a key or name.

    Raises:
        UnknownConceptError: The snapshot holds none that is spelled so.
    """
    number = graph.held(name)
    if number is None:
        number = graph.spelled(spelled(name).split())
    if number is not None:
        return number
    raise UnknownConceptError(f"the index holds no concept {name!r}")
