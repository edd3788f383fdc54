"""The concepts of one store, by number: append-only, so that every snapshot can share it."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, islice

from index.types import ConceptKey, ConceptKind, Mention

_BLOCK = 1_024
"""Keys that are searched as one text; the last, unfilled one is made anew for each search."""
_KEY = "\n"
"""Stands before each key in such a text; no key has one."""
_PHRASES = 256
"""Phrases whose keys are remembered; all are forgotten beyond it."""


class Vocabulary:
    """Concept keys and kinds by number.

    The writer (or the follower) appends; readers look at numbers below their snapshot's
    ``concept_count`` and never see a half-made entry, because a number is handed out only after
    its key stands in the list.
    """

    __slots__ = ("_blocks", "_held", "_keys", "_kinds", "_numbers")

    def __init__(self) -> None:
        self._keys: list[ConceptKey] = []
        self._kinds: list[ConceptKind] = []
        self._numbers: dict[str, int] = {}
        self._blocks: dict[int, tuple[str, list[int]]] = {}
        self._held: dict[str, tuple[int, list[int]]] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def append(self, key: ConceptKey, kind: ConceptKind) -> int:
        """Add a new concept; return its number."""
        number = len(self._keys)
        self._kinds.append(kind)
        self._keys.append(key)
        self._numbers[key] = number
        return number

    def take_in(self, mention: Mention) -> int:
        """The number of what is mentioned, given where it is new."""
        number = self._numbers.get(mention.key)
        return self.append(mention.key, mention.kind) if number is None else number

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
        self._held.clear()

    def holding(self, phrase: str, count: int) -> list[int]:
        """Numbers below ``count`` of the keys that hold a phrase as whole words, ascending.

        ``count`` is that of a snapshot: what is numbered below it stays, so that a phrase that is
        asked for again is looked for in the keys that came since.
        """
        until, held = self._held.get(phrase, (0, []))
        if until < count:
            held = [*held, *(n for n in self._found(f" {phrase} ", count, until) if n >= until)]
            if len(self._held) >= _PHRASES:
                self._held.clear()
            self._held[phrase] = count, held
        return held[: bisect_left(held, count)]

    def starting_with(self, prefix: str, count: int, limit: int) -> Sequence[int]:
        """The first numbers below ``count`` of keys that begin with a prefix, ascending."""
        return list(islice(self._found(f"{_KEY} {prefix}", count), limit))

    def _found(self, wanted: str, count: int, since: int = 0) -> Iterator[int]:
        """Numbers below ``count`` of the keys with a text in them, as blocks write them.

        From the block of ``since`` on.
        """
        if _KEY in wanted[1:]:
            return  # no key has it, only the text between two
        for first in range(since // _BLOCK * _BLOCK, count, _BLOCK):
            text, starts = self._block(first, min(first + _BLOCK, count))
            at = text.find(wanted)
            while at >= 0:
                number = bisect_right(starts, at)
                if first + number > count:  # a full block reaches beyond an older snapshot
                    return
                yield first + number - 1
                at = text.find(wanted, starts[number]) if number < len(starts) else -1

    def _block(self, first: int, end: int) -> tuple[str, list[int]]:
        """Keys as one text, spaces around each, and where each begins; kept when full."""
        block = self._blocks.get(first)
        if block is None:
            keys = self._keys[first:end]
            starts = list(accumulate((len(key) + 3 for key in keys[:-1]), initial=0))
            block = "".join([f"{_KEY} {key} " for key in keys]), starts
            if end - first == _BLOCK:
                self._blocks[first] = block
        return block
