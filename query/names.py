"""From a name as people type it to the concepts that bear it."""

import re

import numpy as np

from index.analysis.lexicon import pairs
from index.types import Int64Array
from query.aliases import concepts_named
from query.errors import UnknownConceptError
from query.graph import SearchGraph

_POSSESSIVE = re.compile(r"['\u2019]s?(?= |$)")


def spelled(name: str) -> str:
    """A name as a key spells it, as far as that can be told without the analyzer."""
    return " ".join(_POSSESSIVE.sub("", name.casefold()).split())


def matching(graph: SearchGraph, name: str) -> Int64Array:
    """Numbers of the concepts of a name, the exact one first, then those that contain it.

    "Volcker" stands for `volcker` and `paul volcker`, and for no key that only begins like it;
    "OPEC" for what its full name names too.
    """
    key = spelled(name)
    if not key:
        return np.zeros(0, np.int64)
    snapshot = graph.snapshot
    held = np.array(snapshot.vocabulary.holding(key, snapshot.concept_count), np.int64)
    named = np.array(list(concepts_named(name.split(), graph)), np.int64)
    found = np.union1d(held[graph.known[held]], named)
    exact = graph.spelled(name.split())
    inexact = np.ones(len(found), np.bool_) if exact is None else found != exact
    order = np.lexsort((found, -graph.chunk_degree[found], inexact))
    return found[order]


def exactly(graph: SearchGraph, name: str) -> int:
    """The number of the concept of a key or name; of several for one thing that of most chunks.

    A text that writes "opec" as a common noun leaves a concept of that key beside the one of the
    full name, which is meant.

    Raises:
        UnknownConceptError: The snapshot holds none that is spelled so.
    """
    held = graph.held(name)
    if held is not None and name not in pairs("aliases"):
        return held
    meant = concepts_named(spelled(name).split(), graph)
    if meant:
        return meant[0]
    raise UnknownConceptError(f"the index holds no concept {name!r}")
