"""Which standing questions a generation wakes: those whose concepts or communities it touched."""

from dataclasses import dataclass

import numpy as np

from index.analysis.normalise import common_key, name_key
from index.snapshot import Snapshot
from index.types import BoolArray, Int64Array
from query.language import Language
from query.standing.types import Interest
from query.words import content_words, is_broad, words

_LONGEST_NAME = 7
"""Words of the longest run that may name a concept; as for a question."""


@dataclass(frozen=True, slots=True)
class Touched:
    """What lies between two snapshots: concepts by key, and all communities that hold them."""

    keys: frozenset[str]
    communities: frozenset[int]

    def __bool__(self) -> bool:
        """Whether a chunk came or went."""
        return bool(self.keys or self.communities)


def touched(before: Snapshot, after: Snapshot) -> Touched:
    """The concepts that chunks and titles which came or went name, and their communities.

    Slots are given once and never reused: a chunk that is in both is the same chunk. Communities
    are those of either snapshot, on all levels.
    """
    old, new = before.slots[before.alive], after.slots[after.alive]
    gone = np.setdiff1d(old, new, assume_unique=True)
    come = np.setdiff1d(new, old, assume_unique=True)
    left, joined = _concepts(before, gone), _concepts(after, come)
    numbers = np.union1d(left, joined)
    communities = _communities(before, numbers) | _communities(after, numbers)
    return Touched(frozenset(after.vocabulary.keys(numbers.tolist())), communities)


def wakes(interest: Interest, by: Touched) -> bool:
    """Whether a question is to be asked again."""
    if interest.broad:
        return bool(by)
    return not (
        interest.keys.isdisjoint(by.keys) and interest.communities.isdisjoint(by.communities)
    )


def interest_of(
    texts: tuple[str, ...], communities: frozenset[int], language: Language
) -> Interest:
    """The interest of a question: what its texts may name, and where its claims belong.

    A concept that the index does not hold yet counts too: its first mention is what somebody
    who asked for it waits for.
    """
    keys: set[str] = set()
    for text in texts:
        keys.update(mention.key for mention in language.concepts_of(text))
        keys.update(_spelled(text))
    return Interest(frozenset(keys), communities, any(is_broad(text) for text in texts))


def _spelled(text: str) -> set[str]:
    """Keys of all runs of words with one that carries meaning."""
    written, content = words(text), set(content_words(text))
    found: set[str] = set()
    for start in range(len(written)):
        for end in range(start + 1, min(start + _LONGEST_NAME, len(written)) + 1):
            run = written[start:end]
            if any(word.lower() in content for word in run):
                found |= {name_key(run), common_key(run), " ".join(run).lower()}
    return found - {""}


def _concepts(snapshot: Snapshot, slots: Int64Array) -> Int64Array:
    """int64[k], sorted: what the chunks of some slots name, and their documents' titles."""
    if not len(slots):
        return np.zeros(0, np.int64)
    rows = np.searchsorted(snapshot.slots, slots)
    chunks = snapshot.chunk_concepts[rows].indices
    documents = np.unique(snapshot.chunk_document[rows])
    titles = snapshot.title_concepts[documents].indices
    return np.union1d(chunks, titles).astype(np.int64)


def _communities(snapshot: Snapshot, numbers: Int64Array) -> frozenset[int]:
    hierarchy = snapshot.hierarchy
    found: set[int] = set()
    for level in range(hierarchy.depth):
        members = hierarchy.at_level(level)
        known: BoolArray = numbers < len(members)
        homes = members[numbers[known]]
        found.update(np.unique(homes[homes >= 0]).tolist())
    return frozenset(found)
