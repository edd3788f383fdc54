"""The fields of a document message, each read by a rule of its own."""

import math
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from index.types import DocumentId, Reason, Scalar
from stream.text import REPLACEMENT, clean, clean_line
from stream.times import parse_time

_INT64 = 2**63
_LANG = re.compile(r"[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8})*", re.ASCII)
_KINDS = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "an object",
    type(None): "null",
}


class RefusalError(Exception):
    """Ends the decoding of one message; never leaves ``stream.message``."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


def shown(value: object) -> str:
    """A value as a reason quotes it: printable, and short; of a list or object its kind."""
    text = kind(value) if isinstance(value, list | dict) else ascii(value)
    return text if len(text) <= 80 else f"{text[:77]}..."  # noqa: PLR2004  a line's worth


def kind(value: object) -> str:
    """The name of a JSON value's kind, as a reason says it."""
    return _KINDS.get(type(value), type(value).__name__)


def string(body: Mapping[str, Any], name: str, limit: int, *, line: bool = True) -> str:
    """A field of text, cleaned and (``line``) on one line; "" where it is missing or null."""
    value = body.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise RefusalError(Reason.BAD_FIELD, f'"{name}" must be text, not {kind(value)}')
    if len(value) > limit:
        raise RefusalError(
            Reason.TOO_LARGE, f'"{name}" has {len(value):,} characters; the limit is {limit:,}'
        )
    return clean_line(value) if line else clean(value)


def document_id(value: object, limit: int) -> DocumentId:
    """An id: text that can be told apart, or a whole number, which is taken as its digits."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise RefusalError(Reason.BAD_ID, f'"id" must be text, not {kind(value)}')
    if not value.strip():
        raise RefusalError(Reason.NO_ID, "the id is empty")
    if len(value) > limit:
        raise RefusalError(
            Reason.BAD_ID, f"the id has {len(value):,} characters; the limit is {limit:,}"
        )
    # Cleaning an id could make two of one name, so that one would overwrite the other.
    if value != value.strip() or clean_line(value) != value or REPLACEMENT in value:
        raise RefusalError(
            Reason.BAD_ID,
            f"the id {shown(value)} has control characters, outer or repeated white space, "
            "or characters that are no text",
        )
    return DocumentId(value)


def moment(body: Mapping[str, Any], name: str) -> datetime | None:
    """A field that holds a time; None where it is missing, null or empty."""
    value = body.get(name)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise RefusalError(
            Reason.BAD_TIME, f'"{name}" must be text in ISO 8601, not {kind(value)} {shown(value)}'
        )
    try:
        return parse_time(value)
    except ValueError as error:
        raise RefusalError(Reason.BAD_TIME, f'"{name}": {shown(value)} {error}') from None


def version(body: Mapping[str, Any]) -> int | None:
    """The optional version: a whole number from 0 to 2^63 - 1."""
    value = body.get("version")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _INT64:
        raise RefusalError(
            Reason.BAD_VERSION,
            f'"version" must be a whole number from 0 to 2^63 - 1, not {shown(value)}',
        )
    return value


def lang(body: Mapping[str, Any], limit: int) -> str:
    """The language tag in lower case with hyphens; "" where it is missing."""
    value = string(body, "lang", limit)
    if value and _LANG.fullmatch(value) is None:
        raise RefusalError(
            Reason.BAD_FIELD, f'"lang" must be a language tag such as "en", not {shown(value)}'
        )
    return value.lower().replace("_", "-")


def metadata(body: Mapping[str, Any], entries: int, chars: int) -> dict[str, Scalar]:
    """The flat object of scalars that filters ask for; {} where it is missing."""
    value = body.get("metadata")
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise RefusalError(Reason.BAD_FIELD, f'"metadata" must be an object, not {kind(value)}')
    if len(value) > entries:
        raise RefusalError(
            Reason.TOO_LARGE, f'"metadata" has {len(value):,} entries; the limit is {entries:,}'
        )
    return {clean(name): _scalar(name, entry, chars) for name, entry in value.items()}


def _scalar(name: str, value: object, chars: int) -> Scalar:
    path = f'"metadata" entry {shown(name)}'
    if len(name) > chars or (isinstance(value, str) and len(value) > chars):
        raise RefusalError(
            Reason.TOO_LARGE, f"{path} is too long; the limit is {chars:,} characters"
        )
    if isinstance(value, str):
        return clean(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and -_INT64 <= value < _INT64:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    what = "a number beyond 64 bits" if isinstance(value, int | float) else kind(value)
    raise RefusalError(
        Reason.BAD_FIELD, f"{path} must be text, a number, true, false or null, not {what}"
    )
