"""Phrases to concepts: what is cut, split, dropped, and what key and kind are left."""

from collections.abc import Iterable, Sequence

from index.analysis.kinds import name_kind
from index.analysis.lexicon import words
from index.analysis.normalise import common_key, fold, join, name_key, place_of, singular
from index.types import ConceptKey, ConceptKind, Mention

_CUT = words("noise")
_ALONE = words("alone") | _CUT
_MODIFIERS = words("modifiers")
_TITLES = words("titles")
_STATES_COMPANIES_WORDS = """
    steel air west airways sprint trust bancorp healthcare surgical shoe
"""
_STATES_COMPANIES = frozenset(_STATES_COMPANIES_WORDS.split())
_JOINED_BY_AND_WORDS = """
    commission co corp inc ltd company sons board agency association administration committee
    poor institute society partners department ministry council brothers
"""
_JOINED_BY_AND = frozenset(_JOINED_BY_AND_WORDS.split())
_LONGEST_COMMON = 4
_LONGEST_NAME = 8
_SHORTEST_KEY = 2


def phrase_mentions(
    parts: Sequence[str], codes: str, names: int, *, after_title: bool
) -> tuple[Mention, ...]:
    """The concepts of one phrase; the first ``names`` tokens are its name, the rest its tail.

    "OPEC oil prices" gives OPEC and oil price; "OPEC members" only OPEC, since a member is
    nothing by itself; "Nobel prize" gives Nobel and Nobel prize.
    """
    if not names:
        return _common(parts, codes)
    found = list(_names(parts[:names], after_title=after_title))
    tail = _trim(parts[names:], codes[names:])
    if not tail:
        return tuple(found)
    single = len(tail) == 1
    last = found[-1] if found else None
    if single and last is not None and last.kind is not ConceptKind.PLACE:
        found.append(_other(f"{last.key} {common_key(tail)}", [last.form, *tail]))
    else:
        found.extend(_keep(common_key(tail), tail))
    return tuple(found)


def _common(parts: Sequence[str], codes: str) -> tuple[Mention, ...]:
    kept = _trim(parts, codes)
    return tuple(_keep(common_key(kept), kept)) if kept else ()


def _keep(key: str, parts: Sequence[str]) -> Iterable[Mention]:
    if len(key) > _SHORTEST_KEY and any(map(str.isalpha, key)):
        yield _other(key, parts)


def _other(key: str, parts: Sequence[str]) -> Mention:
    return Mention(ConceptKey(key), _form(parts), ConceptKind.OTHER)


def _trim(parts: Sequence[str], codes: str) -> list[str]:
    """Cut pointing words from the front and empty nouns from the end; [] where nothing is left."""
    start, end = 0, len(parts)
    while start < end and (fold(parts[start]) in _MODIFIERS or codes[start] in "-v"):
        start += 1
    while end > start and (codes[end - 1] not in "ns" or _listed(parts[end - 1], _CUT)):
        end -= 1
    longest = max(start, end - _LONGEST_COMMON)
    while longest > start and longest < end and codes[longest - 1] == "-":
        longest += 1
    kept = list(parts[max(start, longest) : end])
    if kept and kept[0] == "-":
        del kept[0]
    return [] if len(kept) == 1 and _listed(kept[0], _ALONE) else kept


def _listed(word: str, listed: frozenset[str]) -> bool:
    folded = fold(word)
    return folded in listed or singular(folded) in listed


def _names(parts: Sequence[str], *, after_title: bool) -> Iterable[Mention]:
    """The names in a run of proper nouns: "and" and a leading country may part it."""
    for piece in _split_and(parts):
        at = _leading_country(piece)
        if at:
            yield from _name(piece[:at], after_title=False)
        yield from _name(piece[at:], after_title=after_title)


def _split_and(parts: Sequence[str]) -> list[Sequence[str]]:
    """Part at "and", unless the name's last word says that the whole is one body."""
    if "and" not in parts or fold(parts[-1]) in _JOINED_BY_AND:
        return [parts]
    pieces: list[Sequence[str]] = []
    start = 0
    for at, part in enumerate(parts):
        if part == "and":
            pieces.append(parts[start:at])
            start = at + 1
    return [*pieces, parts[start:]]


def _leading_country(parts: Sequence[str]) -> int:
    """How many words in front are "U.S." or the like, to be a concept of their own."""
    if len(parts) < 2 or fold(parts[0]) not in {"us", "uk", "ec", "eu", "un"}:  # noqa: PLR2004
        return 0
    if fold(parts[1]) in _STATES_COMPANIES or parts[1] in {"-", "&"}:
        return 0
    return 1


def _name(parts: Sequence[str], *, after_title: bool) -> Iterable[Mention]:
    kept = list(parts[:_LONGEST_NAME])
    while kept and kept[0] in {"-", "&", "of", "and", "'s"}:
        del kept[0]
    if len(kept) == 1 and fold(kept[0]) in _MODIFIERS:
        return
    while kept and (kept[-1] in {"-", "&", "of", "and"} or _empty_end(kept)):
        del kept[-1]
    if not kept:
        return
    folded = [fold(part) for part in kept]
    if len(kept) == 1 and (_listed(kept[0], _ALONE) or folded[0] in _TITLES):
        return
    key = place_of(join(folded)) or name_key(kept)
    if len(key) < _SHORTEST_KEY or not any(map(str.isalpha, key)):
        return
    kind = name_kind(key, kept, after_title=after_title)
    yield Mention(ConceptKey(key), _form(kept), kind)


def _empty_end(parts: Sequence[str]) -> bool:
    """Whether a name ends in a title that named nobody ("Bank President said")."""
    return len(parts) > 1 and fold(parts[-1]) in _TITLES and parts[-1].istitle()


def _form(parts: Sequence[str]) -> str:
    return " ".join(parts).replace(" - ", "-").replace(" 's", "'s")
