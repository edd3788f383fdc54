"""Words of a question: which of them carry meaning, and which look like names."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

WORD = re.compile(r"[^\W_]+(?:[-'\u2019./&][^\W_]+)*")
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
"""English words that ask but do not say what about; other languages lose nothing by them."""

_BROAD = """
    main major key top overall overview theme themes topic topics subject subjects trend trends
    issue issues story stories event events news happening happened happen summary summarise
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
    content = tuple(word for word in found if word not in STOP_WORDS)
    return content or tuple(found)


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
