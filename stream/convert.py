"""Records made fit on their way from a file: filters and other files' forms.

A transform takes a record and gives one at the same position, or None to leave it out. What it
cannot read it gives on untouched, so that the decoding rejects it with its reason.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

import orjson

from index.types import Record
from stream.text import parse_json

Transform = Callable[[Record], Record | None]

Format = Literal["documents", "revisions"]
"""``documents``: the document message. ``revisions``: see ``revision_to_message``."""


def transform(form: Format = "documents", only: Mapping[str, str] | None = None) -> Transform:
    """What a file's records go through: the filter first, then the conversion."""
    wanted = dict(only or {})

    def apply(record: Record) -> Record | None:
        if wanted and not _matches(record, wanted):
            return None
        return revision_to_message(record) if form == "revisions" else record

    return apply


def revision_to_message(record: Record) -> Record:
    """A revision ``{op: insert | update | delete, id, event_at, ...}`` as a document message.

    ``insert`` and ``update`` become ``upsert``, and ``event_at``, the time at which the revision
    was seen, becomes ``observed_at``. ``version`` is left out: such files give deletions none, so
    that an insertion after a deletion would count as stale; their order decides. Position,
    timestamp and headers stay.
    """
    body = _object(record)
    if body is None:
        return record
    operation = body.get("op")
    message = {name: value for name, value in body.items() if name not in ("version", "event_at")}
    message["op"] = "upsert" if operation in ("insert", "update") else operation
    if body.get("event_at") is not None:
        message["observed_at"] = body["event_at"]
    return replace(record, value=orjson.dumps(message))


def _matches(record: Record, wanted: Mapping[str, str]) -> bool:
    """Whether every wanted field has its value; what cannot be read, and a lacking field, does.

    A deletion often names nothing but an id: it must not be lost, and deleting what was never
    taken in changes nothing.
    """
    body = _object(record)
    if body is None:
        return True
    return all(name not in body or str(body[name]) == value for name, value in wanted.items())


def _object(record: Record) -> dict[str, Any] | None:
    if record.value is None:
        return None
    try:
        body = parse_json(record.value)
    except orjson.JSONDecodeError:
        return None
    return body if isinstance(body, dict) else None
