"""Sentences by rules: fast, and the same for chunks, for quotes and for questions."""

import re

_ABBREVIATION_WORDS = """
    adm al approx assn assoc asst ave avg bd bldg blvd brig bros ca capt cf cie cmdr co col comdr
    corp cpl cte dept dir dist div dr ed eds eg esp est etc fig figs ft ga gen gov govt hon ie inc
    incl insp intl jan feb mar apr jun jul aug sep sept oct nov dec jr lt ltd maj max mfg min mr
    mrs ms mt mtn mr nat natl no nos op pp pres prev prof pty rep reps rev sec sen sens sgt sr st
    ste supt univ viz vol vols vs
"""
_ABBREVIATIONS = frozenset(_ABBREVIATION_WORDS.split())
_NEVER_LAST_WORDS = """
    adm brig capt cf cmdr col dr eg esp fig gen gov hon ie insp lt maj mr mrs ms mt no nos
    prof rep reps sen sens sgt st supt viz vs
"""
_NEVER_LAST = frozenset(_NEVER_LAST_WORDS.split())
_OPENERS_WORDS = """
    a after an and as at both but for he her his how however if in it its no of on one our she
    so some that the their then there these they this those to two under we what when where
    while who why with yesterday you
"""
_OPENERS = frozenset(_OPENERS_WORDS.split())
# A candidate end: stop marks with closing quotes, then space; a blank line; an ideographic stop.
_END = re.compile(
    r"""(?P<stop>[.!?]{1,4}["'\u201d\u2019)\]]{0,3})(?=\s)|(?P<para>\n[ \t\r\f\v]*\n)|"""
    r"""(?P<line>\n)|[\u3002\uff01\uff1f]["'\u201d\u2019\u300d\u300f)]?"""
)
_WORD_BEFORE = re.compile(r"[^\s(\[\"'\u201c]*$")
_NEXT = re.compile(r"\s{0,80}[\"'(\[\u201c\u2018]{0,3}(\w{0,20})")
_INITIALS = re.compile(r"(?:[A-Za-z]\.)+[A-Za-z]?$")
_LINE_ENDERS = ".!?:;\u3002\"'\u201d)"


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Half-open offsets of the sentences, in order, without the white space around them.

    Together they hold every character that is not white space. A sentence ends at a stop mark
    that no abbreviation, initial or lower-case continuation explains, at a blank line, and at a
    line break after a full stop.
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _END.finditer(text):
        end = match.end()
        if _ends(text, start, match):
            _append_trimmed(spans, text, start, end)
            start = end
    _append_trimmed(spans, text, start, len(text))
    return spans


def _append_trimmed(spans: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    stripped = piece.strip()
    if stripped:
        left = start + len(piece) - len(piece.lstrip())
        spans.append((left, left + len(stripped)))


def _ends(text: str, start: int, match: re.Match[str]) -> bool:
    """Whether a candidate is an end of the sentence that began at ``start``."""
    if match["line"]:
        before = text[max(start, match.start() - 4) : match.start()].rstrip()
        return bool(before) and before[-1] in _LINE_ENDERS and before[-1] not in ":;"
    stop = match["stop"]
    if stop is None:
        return True
    nxt = _NEXT.match(text, match.end())
    follower = nxt[1] if nxt else ""
    if follower[:1].islower():
        return False
    if stop[0] != "." or len(stop) > 1:
        return True
    word = _WORD_BEFORE.search(text, max(start, match.start() - 20), match.start())
    return _full_stop(word[0] if word else "", follower)


def _full_stop(word: str, follower: str) -> bool:
    """Whether a full stop after ``word`` ends a sentence when ``follower`` begins the next."""
    lower = word.lower()
    if lower in _NEVER_LAST:
        return False
    if len(word) == 1 and word.isalpha():
        return word not in "ABCDEFGHJKLMNOPQRSTUVWXYZ"
    if lower in _ABBREVIATIONS or _INITIALS.match(word):
        return follower.istitle() and follower.lower() in _OPENERS and len(lower) > 1
    return True
