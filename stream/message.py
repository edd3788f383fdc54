"""The document message: what a record's bytes say, or why they say nothing.

A message is a JSON object with ``id, title, text, source, url, lang, published_at, observed_at,
metadata, version, op``; its key is the id. ``op`` is ``upsert`` (the default) or ``delete``; a
record without a value deletes the id that its key names. Fields of other names are passed over.
What others wrap around it is taken off first (``stream.envelope``).

Decoding is a pure function of the record, and never raises:

- A missing ``observed_at`` is the record's own time. One that lies after it is cut to it, since
  nothing is observed after it was published here: a date in 2099 must not move the clock of the
  stream. ``Document.derived`` names what was filled in: ``id`` (from the key), ``text`` (a title
  without a text is its own text), ``lang``, ``observed_at``.
- The id may stand in the key alone; where both are there they must be equal.
- Where a JSON object repeats a name the last one counts, as JSON parsers have it.
- Control characters and lone surrogates in texts are replaced, one for one (``stream.text``).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from index.types import Deletion, Document, DocumentId, Reason, Record, Rejected, Upsert
from stream import fields
from stream.envelope import Envelope, opened, tombstone_key
from stream.fields import RefusalError
from stream.source import OVERSIZE_HEADER, UNREADABLE_HEADER
from stream.text import parse_json
from stream.times import CREDIBLE, from_record


@dataclass(frozen=True, slots=True)
class MessageLimits:
    """How large a message and its parts may be; beyond that it is rejected as ``too_large``.

    ``message_bytes`` bounds the whole message and with it the text; the others are characters.
    """

    message_bytes: int = 2 * 1024 * 1024
    id_chars: int = 512
    title_chars: int = 4_000
    source_chars: int = 1_000
    url_chars: int = 4_000
    lang_chars: int = 35
    metadata_entries: int = 64
    metadata_chars: int = 4_000


_DEFAULT = MessageLimits()


def decode(
    record: Record, limits: MessageLimits = _DEFAULT, envelope: Envelope = "auto"
) -> Upsert | Deletion | Rejected:
    """What a record says; a value in every case, and the same one each time."""
    try:
        _check_marks(record)
        _check_size(record, limits)
        if record.value is None:
            return _tombstone(record, _key(tombstone_key(record, envelope), limits))
        body, wrapped = opened(record, envelope)
        key = _key(wrapped, limits)
        identity = _identity(body, key, limits)
        operation = _operation(body)
        number = fields.version(body)
        observed, observed_derived = _observed(body, record)
        if operation == "delete":
            return Deletion(identity, number, observed)
        derived = {"observed_at"} if observed_derived else set()
        if body.get("id") is None:
            derived.add("id")
        return Upsert(_document(body, identity, number, observed, derived, limits=limits))
    except RefusalError as refusal:
        return Rejected(refusal.reason, refusal.detail)


def message_id(value: bytes | None) -> str | None:
    """The id in a message's body, for use as its key; None where it cannot be told."""
    if value is None:
        return None
    try:
        body = parse_json(value)
        if not isinstance(body, dict) or body.get("id") is None:
            return None
        return fields.document_id(body["id"], _DEFAULT.id_chars)
    except (RefusalError, orjson.JSONDecodeError):
        return None


def _check_marks(record: Record) -> None:
    for name, why in record.headers:
        if name == UNREADABLE_HEADER:
            raise RefusalError(
                Reason.UNREADABLE, f"the record cannot be read: {why.decode(errors='replace')}"
            )


def _check_size(record: Record, limits: MessageLimits) -> None:
    size = len(record.value or b"")
    for name, value in record.headers:
        if name == OVERSIZE_HEADER and value.isdigit():
            size = max(size, int(value[:18]))
    if size > limits.message_bytes:
        raise RefusalError(
            Reason.TOO_LARGE,
            f"the message has {size:,} bytes; the limit is {limits.message_bytes:,}",
        )


def _key(key: bytes | None, limits: MessageLimits) -> DocumentId | None:
    """The id that the key names; None where there is no key."""
    if not key:
        return None
    try:
        return fields.document_id(key.decode(), limits.id_chars)
    except UnicodeDecodeError:
        raise RefusalError(Reason.BAD_ID, f"the key {fields.shown(key)} is not UTF-8") from None


def _tombstone(record: Record, key: DocumentId | None) -> Deletion:
    if key is None:
        raise RefusalError(Reason.NO_ID, "the message has neither key nor value")
    return Deletion(key, None, from_record(record.timestamp))


def _identity(body: Mapping[str, Any], key: DocumentId | None, limits: MessageLimits) -> DocumentId:
    if body.get("id") is None:
        if key is None:
            raise RefusalError(Reason.NO_ID, 'the message has no "id" and no key')
        return key
    identity = fields.document_id(body["id"], limits.id_chars)
    if key is not None and key != identity:
        raise RefusalError(
            Reason.KEY_MISMATCH,
            f'the key {fields.shown(key.encode())} is not the "id" {fields.shown(identity)}',
        )
    return identity


def _operation(body: Mapping[str, Any]) -> str:
    operation = body.get("op")
    if operation is None:
        return "upsert"
    if operation not in ("upsert", "delete"):
        raise RefusalError(
            Reason.BAD_OP, f'"op" must be "upsert" or "delete", not {fields.shown(operation)}'
        )
    return str(operation)


def _observed(body: Mapping[str, Any], record: Record) -> tuple[datetime, bool]:
    """When the document was observed, and whether that was derived."""
    arrived = from_record(record.timestamp)
    stated = fields.moment(body, "observed_at")
    if stated is None:
        return arrived, True
    if record.timestamp >= CREDIBLE and stated > arrived:
        return arrived, True
    return stated, False


def _document(
    body: Mapping[str, Any],
    identity: DocumentId,
    number: int | None,
    observed: datetime,
    derived: set[str],
    *,
    limits: MessageLimits,
) -> Document:
    title = fields.string(body, "title", limits.title_chars)
    text = fields.string(body, "text", limits.message_bytes, line=False)
    if not text.strip():
        if not title:
            raise RefusalError(Reason.EMPTY_TEXT, "the document has neither text nor title")
        text = title
        derived.add("text")
    lang = fields.lang(body, limits.lang_chars)
    if not lang:
        derived.add("lang")
    return Document(
        id=identity,
        title=title,
        text=text,
        source=fields.string(body, "source", limits.source_chars),
        url=fields.string(body, "url", limits.url_chars),
        lang=lang,
        published_at=fields.moment(body, "published_at"),
        observed_at=observed,
        version=number,
        metadata=fields.metadata(body, limits.metadata_entries, limits.metadata_chars),
        derived=frozenset(derived),
    )
