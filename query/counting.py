"""Questions that ask for a number or a list of documents or names, read from their words.

"How many reports from Mumbai?", "which people are named in more than one case?", "which reports
mention X and Y?". Only what is understood whole is read; any other question is searched.
"""

import re
from dataclasses import dataclass

from index.types import ConceptKind
from query.words import STOP_WORDS, names, words

_DOCUMENT = (
    r"(?:documents?|reports?|articles?|stories|story|cases?|records?|messages?|news\s+items?"
    r"|papers?|files?|entries|posts?)"
)
_KINDS = (
    (r"people|persons?|individuals|names", ConceptKind.PERSON),
    (r"places?|cities|towns|countries|locations?", ConceptKind.PLACE),
    (r"compan(?:y|ies)|organi[sz]ations?|firms|agencies|institutions", ConceptKind.ORGANISATION),
    (r"identifiers?|(?:report|case|file)\s+numbers|codes", ConceptKind.IDENTIFIER),
    (r"concepts|terms|things", None),
)
_KIND = "|".join(pattern for pattern, _ in _KINDS)
_NUMBERS = {
    word: number
    for number, word in enumerate(
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"], start=1
    )
} | {"several": 2, "multiple": 2, "many": 2, "a single": 1}
_NUMBER = rf"(?P<n>\d{{1,6}}|{'|'.join(_NUMBERS)})"
_MENTION = (
    r"(?:mention(?:s|ed|ing)?|nam(?:e|es|ed|ing)|cit(?:e|es|ed|ing)|contain(?:s|ing)?"
    r"|refer(?:s|ring)?\s+to|talks?\s+(?:about|of)|speaks?\s+of|discuss(?:es|ing)?"
    r"|cover(?:s|ing)?|concern(?:s|ing)?)"
)
_LINK = (
    rf"(?:(?:that|which)\s+)?(?:(?:are|is|were|was)\s+)?"
    rf"(?:{_MENTION}|about|on|from|in|of|for|with|regarding|by)"
)
_THERE = (
    r"(?:\s+(?:are|were|is|was)\s+there|\s+do\s+(?:we|you)\s+(?:have|hold)|\s+exist"
    r"|\s+(?:are|is)\s+(?:held|indexed)|\s+in\s+the\s+(?:index|collection|corpus))*"
)
_HOW_MANY = re.compile(
    rf"(?:how\s+many|count(?:\s+(?:the|all))*|(?:what\s+is\s+)?the\s+number\s+of)\s+{_DOCUMENT}"
    rf"{_THERE}(?:\s+{_LINK}\s+(?P<things>.+))?",
    re.IGNORECASE,
)
_WHICH = re.compile(
    rf"(?:which|what|list(?:\s+(?:the|all))*|show(?:\s+(?:me|the|all))*)\s+{_DOCUMENT}\s+"
    rf"(?:that\s+|which\s+)?{_MENTION}\s+(?P<things>.+)",
    re.IGNORECASE,
)
_NAMED = re.compile(
    rf"(?:(?:how\s+many|which|what|list(?:\s+(?:the|all))*)\s+(?P<kind>{_KIND})|(?P<who>who))"
    r"(?:\s+(?:are|is|were|was|have\s+been|has\s+been|that|who|which))*\s+"
    r"(?:named|mentioned|cited|listed|appears?|occurs?|appearing|occurring)\b(?P<tail>.*)",
    re.IGNORECASE,
)
_TOO = re.compile(
    rf",?\s+and\s+(?:in\s+)?(?:which|what|how\s+many)(?:\s+{_DOCUMENT}|\s+ones)?\s*$", re.IGNORECASE
)
_IN_MANY = re.compile(
    rf"\s+in\s+(?:(?P<how>more\s+than|over|at\s+least)\s+)?{_NUMBER}(?:\s+or\s+more)?"
    rf"(?:\s+different|\s+separate)?\s+{_DOCUMENT}(?:\s+{_LINK}\s+(?P<things>.+))?",
    re.IGNORECASE,
)
_IN_BOTH = re.compile(
    rf"\s+in\s+(?:both|each\s+of)\s+(?:(?:the\s+)?{_DOCUMENT}\s+)?(?P<things>.+)", re.IGNORECASE
)
_WITH = re.compile(
    rf"\s+(?:(?:together|along)\s+)?(?:with|beside|alongside|in\s+(?:the\s+)?{_DOCUMENT}\s+{_LINK})"
    r"\s+(?P<things>.+)",
    re.IGNORECASE,
)
_ANYWHERE = re.compile(
    rf"(?:\s+in\s+(?:(?:the|all|any)\s+)*(?:{_DOCUMENT}|index|collection|corpus))?", re.IGNORECASE
)
_BETWEEN = re.compile(
    rf"\s*,\s*(?:and\s+|or\s+)?|\s+(?:and|or|as\s+well\s+as)\s+|\s+{_LINK}\s+", re.IGNORECASE
)
_EITHER = re.compile(r"\s+or\s+", re.IGNORECASE)
_LEAD = re.compile(r"(?:both|either|the|all)\s+", re.IGNORECASE)
_LONGEST_PHRASE = 3
"""Words of a thing without a capital: longer ones are sentences."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be counted.

    ``concepts`` says that it is concepts of ``kind`` (None: of any), each in at least ``least``
    documents; otherwise it is documents. ``things`` are what a document must name: all of them,
    any of them (``either``), or, for concepts, each in a document of its own (``apart``).
    """

    things: tuple[str, ...] = ()
    either: bool = False
    apart: bool = False
    concepts: bool = False
    kind: ConceptKind | None = None
    least: int = 1


def wanted(text: str) -> Wanted | None:
    """What a question asks to be counted or listed; None for any other question."""
    asked = " ".join(text.split()).rstrip("?!. ")
    found = _HOW_MANY.fullmatch(asked) or _WHICH.fullmatch(asked)
    if found is not None:
        return _of(found["things"], Wanted())
    named = _NAMED.fullmatch(asked)
    return None if named is None else _of_names(named)


def _of_names(named: re.Match[str]) -> Wanted | None:
    kind = ConceptKind.PERSON if named["who"] else _kind(named["kind"])
    base = Wanted(concepts=True, kind=kind)
    tail = _TOO.sub("", named["tail"])
    if (many := _IN_MANY.fullmatch(tail)) is not None:
        count = many["n"].lower()
        number = int(count) if count.isdecimal() else _NUMBERS[count]
        above = (many["how"] or "").lower() in {"more than", "over"}
        return _of(many["things"], Wanted(concepts=True, kind=kind, least=number + above))
    if (both := _IN_BOTH.fullmatch(tail)) is not None:
        return _of(both["things"], Wanted(concepts=True, kind=kind, apart=True))
    if (beside := _WITH.fullmatch(tail)) is not None:
        return _of(beside["things"], base)
    return base if _ANYWHERE.fullmatch(tail) else None


def _kind(noun: str) -> ConceptKind | None:
    return next(kind for pattern, kind in _KINDS if re.fullmatch(pattern, noun, re.IGNORECASE))


def _of(written: str | None, base: Wanted) -> Wanted | None:
    """What is wanted, of the things written; None where they are more than things."""
    if written is None:
        return base
    things = [_LEAD.sub("", part, count=1).strip() for part in _BETWEEN.split(written)]
    if not all(_is_thing(thing) for thing in things):
        return None
    either = _EITHER.search(written) is not None
    return Wanted(
        tuple(dict.fromkeys(things)), either, base.apart, base.concepts, base.kind, base.least
    )


def _is_thing(text: str) -> bool:
    """Whether a text is one name, or a short phrase without a small word in it."""
    if text.startswith('"') and text.endswith('"') and len(text) > len('""'):
        return True
    found = names(f"of {text}")
    if len(found) == 1 and found[0].text == text:
        return True
    parts = words(text)
    plain = not any(c.isupper() for c in text)
    return (
        plain
        and 0 < len(parts) <= _LONGEST_PHRASE
        and not any(part.lower() in STOP_WORDS for part in parts)
    )
