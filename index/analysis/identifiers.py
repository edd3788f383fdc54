"""Identifiers of machines and people's files ("CVE-2019-1234", "SYN-REP-1234"), verbatim."""

import re

_IDENTIFIER = re.compile(
    r"(?<![\w-])(?:[A-Z]{2}[A-Z0-9]{0,11}(?:-[A-Z0-9]{1,12}){0,4}-\d[\dA-Z]{0,15}(?:[-.]\d{1,8}){0,3}"
    r"|[A-Z]{2,8}\d{2,12}[A-Z]{0,3})(?![\w-])"
)
_MONTH = re.compile(r"(?:JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC|MID|LATE|EARLY)[A-Z]*-?\d")
_DIGITS = re.compile(r"\d")


def identifier_spans(text: str) -> list[tuple[int, int]]:
    """Half-open offsets of the identifiers of a text, in order."""
    if not _DIGITS.search(text):
        return []
    return [m.span() for m in _IDENTIFIER.finditer(text) if not _MONTH.match(m[0])]
