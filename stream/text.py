"""Cleaning of text: what neither a database, nor JSON, nor a terminal can carry is replaced.

Every replacement is one character for one character, so that offsets into the cleaned text are
also offsets into the text as it was sent.
"""

import re
from typing import Any

import orjson

_BOM = b"\xef\xbb\xbf"
REPLACEMENT = "\ufffd"
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_LINE_BREAKS = frozenset("\x0b\x0c\x85")
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


def clean(text: str) -> str:
    """The text without control characters and lone surrogates; tabs and line ends stay.

    Form feeds, vertical tabs and NEL become line feeds, all others U+FFFD.
    """
    if _CONTROL.search(text) is None:
        return text
    return _CONTROL.sub(lambda found: "\n" if found.group() in _LINE_BREAKS else REPLACEMENT, text)


def clean_line(text: str) -> str:
    """The text cleaned and on one line, runs of white space made one space."""
    return " ".join(clean(text).split())


def replace_lone_surrogates(json: bytes) -> bytes:
    r"""JSON in which ``\ud800`` without its other half is ``\ufffd``; all else as it was."""
    return _ESCAPE.sub(
        lambda found: found.group() if found.group("lone") is None else rb"\ufffd", json
    )


def parse_json(value: bytes) -> Any:
    """What JSON says, forgiving a byte order mark and lone surrogates.

    Raises:
        orjson.JSONDecodeError: if it is no JSON; ``NaN`` and numbers beyond a double are none.
    """
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        mended = replace_lone_surrogates(value.removeprefix(_BOM))
        if mended == value:
            raise
    return orjson.loads(mended)
