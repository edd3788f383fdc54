"""Names of one and the same thing: by a curated list, and by the analyzer's own.

The list (``aliases.txt`` beside this module) holds what was renamed, is spelled in several ways
or shortened. It is the only way from a name to another one: what merely resembles a name, or
stands near it in meaning, is never taken for it.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from index.analysis.lexicon import pairs
from index.analysis.normalise import common_key, name_key
from query.graph import SearchGraph
from query.words import STOP_WORDS, WORD, words

_FILE = Path(__file__).with_name("aliases.txt")

LONGEST = 9
"""Words of the longest name that is looked up here."""


@cache
def listed_aliases() -> Mapping[str, tuple[str, ...]]:
    """The names of one thing as the list writes them, by the folded words of each of them."""
    found: dict[str, tuple[str, ...]] = {}
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        names = tuple(name.strip() for name in line.split("=")) if "=" in line else ()
        found |= {_folded(words(name)): names for name in names if not line.startswith("#")}
    return found


@cache
def analyzer_aliases() -> Mapping[str, tuple[str, ...]]:
    """For each key that the analyzer's aliases lead to, the keys that lead there.

    Such a key can be a concept of its own where a text writes it as a common noun ("opec").
    """
    found: dict[str, list[str]] = {}
    for short, key in pairs("aliases").items():
        if short not in STOP_WORDS:
            found.setdefault(key, []).append(short)
    return {key: tuple(shorts) for key, shorts in found.items()}


def other_names(name: str) -> tuple[str, ...]:
    """The other names of the thing that a name names, the usual one first."""
    key = _folded(words(name))
    return tuple(each for each in listed_aliases().get(key, ()) if _folded(words(each)) != key)


def concepts_named(written: Sequence[str], graph: SearchGraph) -> tuple[int, ...]:
    """The concepts of a name, under all its names, those of most chunks first."""
    if not written:
        return ()
    names = [list(written), *(words(name) for name in other_names(" ".join(written)))]
    keys = dict.fromkeys(key for name in names for key in _keys(name))
    held = {number for key in keys if (number := graph.held(key)) is not None}
    return tuple(sorted(held, key=lambda number: (-float(graph.chunk_degree[number]), number)))


def resolved(text: str, graph: SearchGraph) -> tuple[str, tuple[str, ...]]:
    """A text by the names that the index knows, and further names of what it names.

    A name that no concept bears gives way to one that is borne ("Bombay" to "Mumbai"); where both
    are borne the text stays and the other name is looked up beside it.
    """
    further: list[str] = []
    at, kept = 0, []
    for start, end, name in _named(text):
        borne = [other for other in other_names(name) if graph.spelled(words(other)) is not None]
        if not borne:
            continue
        if graph.spelled(words(name)) is None:
            kept += [text[at:start], borne[0]]
            at = end
            further += borne[1:]
        else:
            further += borne
    return "".join([*kept, text[at:]]), tuple(dict.fromkeys(further))


def _named(text: str) -> Iterator[tuple[int, int, str]]:
    """The names of the list in a text, longest first at each place: start, end, as written."""
    found = list(WORD.finditer(text))
    at = 0
    while at < len(found):
        for size in range(min(LONGEST, len(found) - at), 0, -1):
            start, end = found[at].start(), found[at + size - 1].end()
            name = " ".join(words(text[start:end]))
            if _folded(words(name)) in listed_aliases():
                last = found[at + size - 1].group()
                yield start, end - (len(last) - len(words(last)[0])), name
                at += size
                break
        else:
            at += 1


def _keys(written: Sequence[str]) -> tuple[str, ...]:
    key = name_key(written)
    return (key, common_key(written), " ".join(written).lower(), *analyzer_aliases().get(key, ()))


def _folded(written: Sequence[str]) -> str:
    folded = [word.casefold() for word in written]
    return " ".join(folded[1:] if len(folded) > 1 and folded[0] == "the" else folded)
