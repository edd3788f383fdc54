"""The concepts of one store, by number: append-only, so that every snapshot can share it."""

from collections.abc import Iterable, Sequence

from index.types import ConceptKey, ConceptKind


class Vocabulary:
    """Concept keys and kinds by number.

    The writer (or the follower) appends; readers look at numbers below their snapshot's
    ``concept_count`` and never see a half-made entry, because a number is handed out only after
    its key stands in the list.
    """

    __slots__ = ("_keys", "_kinds", "_numbers")

    def __init__(self) -> None:
        self._keys: list[ConceptKey] = []
        self._kinds: list[ConceptKind] = []
        self._numbers: dict[str, int] = {}

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

    def starting_with(self, prefix: str, limit: int) -> Sequence[int]:
        """Numbers of keys that begin with a prefix; a scan, for the page's suggestions."""
        found: list[int] = []
        for number, key in enumerate(list(self._keys)):
            if key.startswith(prefix):
                found.append(number)
                if len(found) >= limit:
                    break
        return found
