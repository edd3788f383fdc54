"""The concepts of one store, by number: append-only, so that every snapshot can share it."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

from index.types import ConceptKey, ConceptKind

_BLOCK = 1_024
"""Keys that are searched as one text; the last, unfilled one is made anew for each search."""


class Vocabulary:
    """Concept keys and kinds by number.

    The writer (or the follower) appends; readers look at numbers below their snapshot's
    ``concept_count`` and never see a half-made entry, because a number is handed out only after
    its key stands in the list.
    """

    __slots__ = ("_blocks", "_keys", "_kinds", "_numbers")

    def __init__(self) -> None:
        self._keys: list[ConceptKey] = []
        self._kinds: list[ConceptKind] = []
        self._numbers: dict[str, int] = {}
        self._blocks: dict[int, tuple[str, list[int]]] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def append(self, key: ConceptKey, kind: ConceptKind) -> int:
        """Add a new concept; return its number."""
        number = len(self._keys)
        self._kinds.append(kind)
        self._keys.append(key)
        self._numbers[key] = number
        return number

    def number(self, key: str) -> int | None:
        """The number of a key, or None where the store has never seen it."""
        return self._numbers.get(key)

    def key(self, number: int) -> ConceptKey:
        """The key of a number."""
        return self._keys[number]

    def keys(self, numbers: Iterable[int]) -> list[ConceptKey]:
        """The keys of several numbers, in their order."""
        return [self._keys[n] for n in numbers]

    def kind(self, number: int) -> ConceptKind:
        """The kind that the concept had when it was first seen."""
        return self._kinds[number]

    def truncate(self, length: int) -> None:
        """Forget the newest entries, after a transaction that was rolled back."""
        for key in self._keys[length:]:
            del self._numbers[key]
        del self._keys[length:]
        del self._kinds[length:]

    def holding(self, phrase: str, count: int) -> list[int]:
        """Numbers below ``count`` of the keys that hold a phrase as whole words, ascending.

        ``count`` is that of a snapshot: what is numbered below it stays.
        """
        wanted, found = f" {phrase} ", []
        for first in range(0, count, _BLOCK):
            text, starts = self._block(first, min(first + _BLOCK, count))
            at = text.find(wanted)
            while at >= 0:
                number = bisect_right(starts, at)
                found.append(first + number - 1)
                at = text.find(wanted, starts[number]) if number < len(starts) else -1
        return found[: bisect_left(found, count)]  # a full block may reach beyond an older snapshot

    def _block(self, first: int, end: int) -> tuple[str, list[int]]:
        """Keys as one text with a space around each, and where each begins; kept when full."""
        block = self._blocks.get(first)
        if block is None:
            keys = self._keys[first:end]
            starts = list(accumulate((len(key) + 2 for key in keys[:-1]), initial=0))
            block = "".join([f" {key} " for key in keys]), starts
            if end - first == _BLOCK:
                self._blocks[first] = block
        return block

    def starting_with(self, prefix: str, limit: int) -> Sequence[int]:
        """Numbers of keys that begin with a prefix; a scan, for the page's suggestions."""
        found: list[int] = []
        for number, key in enumerate(list(self._keys)):
            if key.startswith(prefix):
                found.append(number)
                if len(found) >= limit:
                    break
        return found
