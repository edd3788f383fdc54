"""One key for one concept: words folded, then aliases and places."""

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from index.analysis.lexicon import pairs, phrases, words

VERSION = 2
"""Raise with every change of a rule or a list that can change an analysis."""

_KEEP_S = words("keep_s")
_CORPORATE = words("corporate")
_ALIASES = pairs("aliases")
_DEMONYMS = pairs("demonyms")
_PLACES = phrases("places")
_NAME_PLURALS = (
    "tions",
    "sions",
    "ments",
    "nesses",
    "isms",
    "ists",
    "trons",
    "tons",
    "ologies",
    "ities",
)
_ES = ("sses", "shes", "ches", "xes", "zzes", "tzes")
_OES = frozenset({"shoes", "toes", "foes", "canoes", "hoes", "woes", "horseshoes", "does"})
_IRREGULAR = {
    "men": "man",
    "women": "woman",
    "children": "child",
    "mice": "mouse",
    "feet": "foot",
    "criteria": "criterion",
    "phenomena": "phenomenon",
    "crises": "crisis",
    "analyses": "analysis",
    "bases": "base",
    "lives": "life",
    "wives": "wife",
    "knives": "knife",
    "shelves": "shelf",
    "halves": "half",
    "indices": "index",
    "matrices": "matrix",
    "vertices": "vertex",
    "movies": "movie",
    "cookies": "cookie",
    "calories": "calorie",
    "premises": "premises",
    "axes": "axis",
    "potatoes": "potato",
    "tomatoes": "tomato",
    "heroes": "hero",
    "echoes": "echo",
    "vetoes": "veto",
    "caches": "cache",
    "headaches": "headache",
    "ties": "tie",
    "pies": "pie",
    "lies": "lie",
    "dies": "die",
    "axles": "axle",
}
_SHORTEST_PLURAL = 4
_SHORTEST_IES = 5


def singular(word: str) -> str:
    """The singular of a lower-case English noun, the word itself where no rule is safe."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) < _SHORTEST_PLURAL or word in _KEEP_S:
        return word
    if not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) >= _SHORTEST_IES:
        return word[:-3] + "y"
    takes_es = word.endswith(_ES) or (word.endswith("oes") and word not in _OES)
    return word[:-2] if takes_es or word[:-2] in _KEEP_S else word[:-1]


def name_singular(word: str) -> str:
    """As ``singular``, for a capitalised word: names in s stay, "Electrons" does not."""
    return singular(word) if word.endswith(_NAME_PLURALS) and word not in _KEEP_S else word


@lru_cache(maxsize=50_000)
def fold(word: str) -> str:
    """A word without case, compatibility forms and the stops of its abbreviation."""
    if not word.isascii():
        word = unicodedata.normalize("NFKC", word).replace("\u2019", "'")
    folded = word.casefold().strip(".'\"")
    if folded == "s" and word[0] == "'":
        return ""
    if folded == "&":
        return "and"
    if "." in folded and all(len(part) <= 1 for part in folded.split(".")):
        return folded.replace(".", "")
    return folded.removesuffix("'s") or folded


def common_key(parts: Sequence[str]) -> str:
    """Key of a phrase of common nouns: folded, the last word in the singular."""
    folded = [fold(part) for part in parts]
    folded[-1] = singular(folded[-1])
    return join(folded)


def name_key(parts: Sequence[str]) -> str:
    """Key of a name: folded, without its article and legal form, aliases resolved."""
    folded = [fold(part) for part in parts]
    while len(folded) > 1 and folded[0] in {"the", "a", "an"}:
        del folded[0]
    full = join(folded)
    if full in _ALIASES or full in _DEMONYMS or full in _PLACES:
        return _ALIASES.get(full) or _DEMONYMS.get(full) or full
    while len(folded) > 1 and folded[-1] in _CORPORATE and _stands_alone(folded[:-1]):
        del folded[-1]
        while len(folded) > 1 and folded[-1] in {"and", "&", ","}:
            del folded[-1]
    folded[-1] = name_singular(folded[-1])
    key = join(folded)
    return _ALIASES.get(key, key)


def _stands_alone(rest: Sequence[str]) -> bool:
    """Whether a name without its legal form is still a name ("Chicago Corp" is not)."""
    if len(rest) > 1:
        return True
    word = rest[0]
    return len(word) > 1 and word not in _PLACES | _DEMONYMS.keys() | words("noise")


def join(folded: Sequence[str]) -> str:
    """Words to a key: one space between, none around a hyphen."""
    key = " ".join([word for word in folded if word])
    return key.replace(" - ", "-").replace("- ", "-") if "-" in key else key


def place_of(folded: str) -> str | None:
    """The place that a folded word or phrase names or belongs to ("japanese": "japan")."""
    found = _DEMONYMS.get(folded)
    if found is None:
        found = _ALIASES.get(folded, folded)
        return found if found in _PLACES else None
    return found
