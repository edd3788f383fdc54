"""What is known of a language that no tagger reads."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial

import snowballstemmer

from index.analysis.lexicon import pairs
from index.analysis.stopwords import stop_words

_STEMMERS = {
    "ar": "arabic", "cs": "czech", "da": "danish", "el": "greek", "et": "estonian",
    "eu": "basque", "fa": "persian", "fi": "finnish", "ga": "irish", "hi": "hindi",
    "hr": "serbian", "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian",
    "lt": "lithuanian", "nb": "norwegian", "ne": "nepali", "nl": "dutch", "nn": "norwegian",
    "no": "norwegian", "pl": "polish", "ro": "romanian", "ru": "russian", "sr": "serbian",
    "sv": "swedish", "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
_PLURALS = {
    "de": (
        ("ungen", "ung"),
        ("ionen", "ion"),
        ("heiten", "heit"),
        ("keiten", "keit"),
        ("schaften", "schaft"),
        ("turen", "tur"),
        ("täten", "tät"),
        ("lern", "ler"),
        ("kern", "ker"),
        ("tern", "ter"),
        ("dern", "der"),
        ("nern", "ner"),
        ("keten", "ket"),
        ("kete", "ket"),
        ("jekte", "jekt"),
        ("jekten", "jekt"),
        ("jekts", "jekt"),
    ),
    "ca": (("cions", "ció"), ("sions", "sió"), ("ns", "n"), ("es", "a"), ("s", "")),
    "es": (("iones", "ión"), ("ces", "z"), ("des", "d"), ("les", "l"), ("res", "r"), ("s", "")),
    "fr": (("eaux", "eau"), ("eux", "eux"), ("aux", "al"), ("ss", "ss"), ("us", "us"), ("s", "")),
    "gl": (("ións", "ión"), ("ces", "z"), ("des", "d"), ("res", "r"), ("s", "")),
    "pt": (("ões", "ão"), ("ais", "al"), ("eis", "el"), ("ns", "m"), ("res", "r"), ("s", "")),
}
"""Plurals, where the Snowball stemmer cuts derivation too ("distribution" to "distribu")."""
_SHORTEST_PLURAL = 4
_NOUNS_HAVE_CAPITALS = frozenset({"de", "lb", "nds", "gsw", "bar"})
_INFLECTING = """
    bg bs cs da de el et fi hr hu is lt lv mk nb nn no pl ru sk sl sr sv tr uk
"""
_NAMES_INFLECT = frozenset(_INFLECTING.split())
_SYLLABLES = frozenset({"vi"})
_SAME_RULES = {"no": "nb", "nn": "nb", "mk": "bg", "sr": "hr", "bs": "hr"}
_STEMS_KEPT = 100_000


@dataclass(frozen=True, slots=True)
class Rules:
    """How the nouns of a language are told from its other words.

    Attributes:
        stops: words that end a phrase, lower case.
        openers: determiners and prepositions, after which a noun stands; empty where the
            language has none or they are not known.
        other: matches a folded word that is a verb, an adverb or a modifier; None where unknown.
        capital_nouns: every noun is written with a capital.
        prefix: matches a word that is written together with the next; its group ``opener`` tells
            a determiner or preposition. None where there is none.
        particles: matches what is cut from the end of a word; None where there is nothing.
        names_inflect: names take endings ("Debiana", "Debians").
        syllables: a word between spaces is a syllable, so alone it means little.
        stem: cuts the endings of inflection from a folded common word.
    """

    stops: frozenset[str]
    openers: frozenset[str]
    other: re.Pattern[str] | None
    prefix: re.Pattern[str] | None
    particles: re.Pattern[str] | None
    capital_nouns: bool
    names_inflect: bool
    syllables: bool
    stem: Callable[[str], str]


@cache
def rules_of(lang: str) -> Rules:
    """The rules of a language; for an unknown one those that follow from capitals alone."""
    known = _SAME_RULES.get(lang, lang)
    openers = frozenset(pairs("openers").get(known, "").split())
    calendar = frozenset(pairs("calendar").get(known, "").split())
    return Rules(
        stops=stop_words(lang) | stop_words(known) | stop_words("en") | openers | calendar,
        openers=openers,
        other=_pattern("not_nouns", known),
        prefix=_pattern("prefixes", known),
        particles=_pattern("particles", known),
        capital_nouns=lang in _NOUNS_HAVE_CAPITALS,
        names_inflect=lang in _NAMES_INFLECT,
        syllables=lang in _SYLLABLES,
        stem=_stemmer(lang),
    )


def _pattern(listed: str, lang: str) -> re.Pattern[str] | None:
    found = pairs(listed).get(lang)
    return re.compile(found) if found else None


def _stemmer(lang: str) -> Callable[[str], str]:
    if lang in _PLURALS:
        return partial(_singular, _PLURALS[lang])
    if lang not in _STEMMERS:
        return str
    stem: Callable[[str], str] = snowballstemmer.stemmer(_STEMMERS[lang]).stemWord
    return lru_cache(maxsize=_STEMS_KEPT)(stem)


def _singular(endings: Sequence[tuple[str, str]], word: str) -> str:
    """The word with the first plural ending that fits replaced."""
    if len(word) < _SHORTEST_PLURAL:
        return word
    for plural, singular in endings:
        if word.endswith(plural):
            return word[: -len(plural)] + singular
    return word
