"""Words of a question: which of them carry meaning, and which look like names."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import stopwordsiso

from index.analysis.scripts import marks, pieces

_LETTERS = rf"[^\W_]+(?:[{marks()}\u200c\u200d]+[^\W_]*)*"
WORD = re.compile(rf"{_LETTERS}(?:[-'\u2019./&]{_LETTERS})*")
"""A word with inner hyphens, apostrophes, dots and slashes: ``Abdul-Aziz``, ``SYN-REP-1234``."""

_POSSESSIVE = re.compile(r"['\u2019]s?$", re.IGNORECASE)

_ASKING = """
    a about above after again against all also am among an and any are as at be because been before
    being between both but by can could did do does doing down during each either else ever every
    for from further get give go had has have having he her here hers him his how i if in into is it
    its just know let like many may me might more most much must my neither no nor not now of off on
    once one only or other our out over own per please same say says she should since so some such
    than that the their theirs them then there these they this those through to too under until up
    upon us very was we were what when where whether which while who whom whose why will with within
    without would you your yours tell show list find describe explain
"""
STOP_WORDS = frozenset(_ASKING.split())
"""English words that ask but do not say what about."""

_BROAD = """
    main major key top overall overview theme themes topic topics subject subjects trend trends
    issue issues story stories event events news happening happened happens happen summary summarise
    summarize discussed discuss talked reported report reports recurring common general biggest
    important corpus collection documents dataset articles article everything anything something
    new latest recent recently current currently today week month year covered coverage cover
"""
BROAD_WORDS = frozenset(_BROAD.split())
"""Words of questions about the whole rather than about a thing in it."""


def words(text: str) -> list[str]:
    """The words of a text as written, possessive endings removed."""
    return [_POSSESSIVE.sub("", found.group()) for found in WORD.finditer(text)]


def content_words(text: str) -> tuple[str, ...]:
    """The distinct words of a question that are worth looking up, in order, lower case."""
    found = dict.fromkeys(word.lower() for word in words(text))
    foreign = _foreign_stop_words(list(found))
    parts = dict.fromkeys(part for word in found for part in pieces(word))
    content = tuple(part for part in parts if part not in STOP_WORDS and part not in foreign)
    return content or tuple(parts)


_LANGUAGES = """
    de fr es it pt nl sv da nb fi pl cs sk hu ro ca hr ru uk bg el tr ar fa he hi id vi ko ja zh
""".split()  # noqa: SIM905  # easier to read
_TELLING = 2
"""Words of a language, and more than of English, that make a question one of it; ours."""


def _foreign_stop_words(found: Sequence[str]) -> frozenset[str]:
    """The stop words of the language whose own the question holds most of; none for English."""
    if any(pieces(word) != [word] for word in found):
        return _stop_words("ja") | _stop_words("zh")
    ours = sum(word in STOP_WORDS for word in found)
    counts = {lang: sum(word in _stop_words(lang) for word in found) for lang in _LANGUAGES}
    best = max(counts, key=counts.__getitem__)
    return _stop_words(best) if counts[best] >= _TELLING and counts[best] > ours else frozenset()


@cache
def _stop_words(lang: str) -> frozenset[str]:
    return frozenset(stopwordsiso.stopwords({"nb": "no"}.get(lang, lang)))


def is_broad(text: str) -> bool:
    """Whether a question asks about the whole: nothing in it but broad words, and at least one."""
    content = [word.lower() for word in words(text) if word.lower() not in STOP_WORDS]
    return bool(content) and all(word in BROAD_WORDS for word in content)


_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")


def years(text: str) -> tuple[int, ...]:
    """The years that a question names, as far as four digits tell."""
    return tuple(dict.fromkeys(int(found) for found in _YEAR.findall(text)))


@dataclass(frozen=True, slots=True)
class Name:
    """A span that looks like a name; where it opens a sentence its first word may be no part."""

    text: str
    opens_sentence: bool = False


def names(text: str) -> tuple[Name, ...]:
    """Spans that look like names or identifiers, in order, distinct.

    A run of words with a capital in them or with letters before a last digit; small words such
    as "of" may stand inside. A single word in title case that opens a sentence does not count.
    """
    return tuple(dict.fromkeys(_name_spans(text)))


_INSIDE = frozenset({"of", "the", "de", "la", "von", "van", "bin", "al", "del", "di"})


def _name_spans(text: str) -> Iterator[Name]:
    found = list(WORD.finditer(text))
    at = 0
    while at < len(found):
        if not _looks_named(text, found[at]):
            at += 1
            continue
        last, ahead = at, at + 1
        while ahead < len(found) and _adjacent(text, found[ahead - 1], found[ahead]):
            word = found[ahead].group()
            if _capital(word):
                last = ahead
            elif word not in _INSIDE or ahead - last > 2:  # noqa: PLR2004  "of the" may join
                break
            ahead += 1
        span = text[found[at].start() : found[last].end()]
        opens = _opens_sentence(text, found[at].start())
        if last > at or not opens or not span.istitle():
            yield Name(_POSSESSIVE.sub("", span), opens)
        at = last + 1


def _looks_named(text: str, found: re.Match[str]) -> bool:
    word = found.group()
    if _opens_sentence(text, found.start()) and word.lower() in STOP_WORDS:
        return False
    return _capital(word) and (len(word) > 1 or word.isdigit())


def _capital(word: str) -> bool:
    return any(c.isupper() for c in word) or (word[0].isalpha() and word[-1].isdigit())


def _opens_sentence(text: str, start: int) -> bool:
    before = text[:start].rstrip(" \"'\u201c\u2018(\u00bf\u00a1")
    return not before or before[-1] in ".!?:;\n"


def _adjacent(text: str, left: re.Match[str], right: re.Match[str]) -> bool:
    gap = text[left.end() : right.start()]
    return gap.strip() == "" and not left.group().endswith(("'s", "\u2019s"))
