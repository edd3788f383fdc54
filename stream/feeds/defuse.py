"""XML entities made harmless before feedparser sees them.

feedparser drops entities that refer to entities, but finds them by lines: a declaration behind
something else on its line, or behind a comment that holds a tag, reaches expat, and then only
expat's own bound on amplification stands. Here the whole prolog of a document that declares
entities is written anew.
"""

import re
from collections.abc import Mapping

from feedparser.encodings import convert_to_utf8

LONGEST_PROLOG = 16_384
"""Bytes before the first element; feedparser's search over them costs their square."""
_EXPANSION = 1_000_000
"""Bytes that all references to declared entities may give together."""

_DECLARATION = b"<!ENTITY"
_SKIPPED = re.compile(rb"\s+|<\?.*?\?>|<!--.*?-->", re.DOTALL)
_ROOT = re.compile(rb"<[\w:]")
_SAFE = re.compile(
    rb"<!ENTITY\s+(\w{1,40})\s+(?:\"(&#\w{1,8};|[^&%<\"]{0,1000})\"|'([^&%<'\"]{0,1000})')\s*>"
)


def to_utf8(body: bytes, headers: Mapping[str, str]) -> tuple[bytes, str, Exception | None]:
    """The body in UTF-8 by feedparser's own rules, its encoding, and what was wrong with it."""
    told: dict[str, object] = {}
    converted = convert_to_utf8(dict(headers), body, told)
    problem = told.get("bozo_exception")
    return (
        bytes(converted),
        str(told.get("encoding") or ""),
        problem if isinstance(problem, Exception) else None,
    )


def prolog_is_bounded(utf8: bytes) -> bool:
    """Whether an element begins early enough for the prolog to be read."""
    return len(utf8) <= LONGEST_PROLOG or _ROOT.search(utf8, 0, LONGEST_PROLOG) is not None


def defused(utf8: bytes) -> bytes:
    """The document with no entity that could expand to more than a little.

    Entities whose value is plain text or one character stay; all others, external ones and
    parameters among them, are undeclared. A document that declares none comes back as it is.
    """
    if _DECLARATION not in utf8:
        return utf8
    start = _root_at(utf8)
    prolog, rest = utf8[:start], utf8[start:]
    safe = {name: plain or quoted for name, plain, quoted in _SAFE.findall(prolog)}
    if (
        sum(rest.count(b"&" + name + b";") * len(value) for name, value in safe.items())
        > _EXPANSION
    ):
        safe = {}
    lines = b"".join(b'<!ENTITY %s "%s">\n' % pair for pair in safe.items())
    # The name of the type is all that feedparser takes from it: it tells one version of RSS.
    kind = b"netscape" if b"netscape" in prolog.lower() else b"feed"
    doctype = b"<!DOCTYPE %s [\n%s]>\n" % (kind, lines) if safe or kind == b"netscape" else b""
    return b'<?xml version="1.0" encoding="utf-8"?>\n' + doctype + rest


def _root_at(utf8: bytes) -> int:
    """Where the first element begins, comments, instructions and document types passed over."""
    at = 0
    while at < len(utf8):
        skipped = _SKIPPED.match(utf8, at)
        if skipped is not None:
            at = skipped.end()
        elif utf8.startswith(b"<!", at):
            at = _declaration_end(utf8, at)
        elif _ROOT.match(utf8, at):
            return at
        else:
            at += 1
    return len(utf8)


_STEP = re.compile(rb"<!--.*?-->|<\?.*?\?>|\"[^\"]*\"|'[^']*'|[\[\]>]|<!", re.DOTALL)


def _declaration_end(utf8: bytes, at: int) -> int:
    """Where a declaration that begins here ends, those within its brackets included."""
    depth, inside = 0, 0
    for step in _STEP.finditer(utf8, at + 2):
        token = step.group()
        if token == b"[":
            depth += 1
        elif token == b"]":
            depth = max(0, depth - 1)
        elif token == b"<!":
            inside += 1
        elif token == b">":
            if inside:
                inside -= 1
            elif not depth:
                return step.end()
    return len(utf8)
