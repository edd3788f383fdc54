"""Envelopes: what other programs wrap around a document, taken off.

Four are known: the document itself; Kafka Connect's JSON with its schema; Debezium's change of a
row; CloudEvents, binary or structured (``stream.cloud_events``). Taking one off gives the fields
of the document message and the key, as if they had been sent plain; a change that deletes becomes
``{"op": "delete"}``.

- Kafka Connect: ``{"schema": ..., "payload": ...}``. Times and JSON columns that the schema names
  become the text that the document message wants; a payload of null deletes what the key names.
- Debezium: ``op`` of c, r, u gives ``after``; d deletes, and the null value after it is a
  duplicate of that delete. Rows flattened by its transform delete by ``__deleted``. A truncation
  names no documents and is rejected.
- Keys may be wrapped too: ``{"schema": ..., "payload": KEY}``, or an object of one field or with
  an ``id``.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import orjson

from index.types import Reason, Record
from stream import fields
from stream.fields import RefusalError
from stream.source import INCOMPLETE_HEADER
from stream.text import parse_json

Envelope = Literal["auto", "plain", "connect", "debezium", "cloudevents"]
"""``auto`` tells each record's envelope from its form."""

Opened = tuple[Mapping[str, Any], bytes | None]
"""The fields of a document message, and the key that goes with them."""

_WRITTEN = ("c", "r", "u")
_CONNECT = {"schema", "payload"}
_DELETED = "__deleted"
_BINARY = "ce_"
_STRUCTURED = b"application/cloudevents+json"


def opened(record: Record, envelope: Envelope) -> Opened:
    """What a record with a value holds. Raises ``RefusalError``."""
    if envelope in ("auto", "cloudevents") and _is_event(record):
        return _event(record)
    body = _body(record)
    found = _form(body) if envelope == "auto" else envelope
    if found == "plain":
        return body, _plain_key(record.key, body) if envelope == "auto" else record.key
    if found == "cloudevents":
        return _event(record)
    if body.keys() == _CONNECT:
        return _connect(body, record.key)
    if found == "connect":
        raise _refusal('the message is not Kafka Connect\'s: it needs "schema" and "payload" alone')
    return _row(body, _key(record.key))


def tombstone_key(record: Record, envelope: Envelope) -> bytes | None:
    """The key that a record without a value deletes. Raises ``RefusalError``."""
    if envelope in ("auto", "cloudevents"):
        for name, value in record.headers:
            if name.lower() == "ce_subject":
                return value
    return record.key if envelope == "plain" else _key(record.key)


def _body(record: Record) -> Mapping[str, Any]:
    value = record.value or b""
    try:
        body = parse_json(value)
    except orjson.JSONDecodeError as error:
        raise _unreadable(record, value, error) from None
    if not isinstance(body, dict):
        hint = "; to delete send no value at all" if body is None else ""
        raise RefusalError(
            Reason.NOT_AN_OBJECT, f"the message is {fields.kind(body)}, not a JSON object{hint}"
        )
    return body


def _unreadable(record: Record, value: bytes, error: orjson.JSONDecodeError) -> RefusalError:
    try:
        value.decode()
    except UnicodeDecodeError as broken:
        where = f"byte {broken.start} is 0x{value[broken.start]:02x}"
        return RefusalError(Reason.NOT_UTF8, f"the message is not UTF-8: {where}")
    if any(name == INCOMPLETE_HEADER for name, _ in record.headers):
        return RefusalError(Reason.INCOMPLETE, f"the last line ends in the middle: {error}")
    return RefusalError(Reason.NOT_JSON, f"the message is not JSON: {error}")


def _is_event(record: Record) -> bool:
    return any(
        name.lower().startswith(_BINARY)
        or (name.lower() == "content-type" and value.startswith(_STRUCTURED))
        for name, value in record.headers
    )


def _form(body: Mapping[str, Any]) -> Envelope:
    """The envelope that a message has by its form."""
    if body.keys() == _CONNECT:
        return "connect"
    if "specversion" in body and "type" in body and "source" in body:
        return "cloudevents"
    return "debezium" if _is_change(body) or _DELETED in body else "plain"


def _event(record: Record) -> Opened:
    # The library takes its time to load, and few streams need it.
    from stream import cloud_events  # noqa: PLC0415

    return cloud_events.opened(record)


def _connect(body: Mapping[str, Any], key: bytes | None) -> Opened:
    schema, payload = body["schema"], body["payload"]
    key = _key(key)
    if payload is None:
        return {"op": "delete"}, key
    if not isinstance(payload, dict):
        raise _refusal(f'"payload" must be an object, not {fields.kind(payload)}')
    columns = _columns(schema)
    if _is_change(payload) or _DELETED in payload:
        return _row(payload, key, columns)
    return _converted(payload, columns), key


def _is_change(body: Mapping[str, Any]) -> bool:
    """Whether it is a change of a row, and not a document message with fields of such names."""
    told = "op" in body and ("after" in body or "before" in body)
    return told and body["op"] not in ("upsert", "delete")


def _row(
    body: Mapping[str, Any],
    key: bytes | None,
    columns: Mapping[str, Mapping[str, Any]] | None = None,
) -> Opened:
    """A row's change, whole or flattened."""
    columns = columns or {}
    if _is_change(body):
        return _change(body, key, _columns(columns.get("after")))
    if _DELETED not in body:
        raise _refusal('the message is no change of Debezium\'s: it needs "op" and "after"')
    if str(body[_DELETED]).lower() == "true":
        return _deletion(body, key)
    return _converted(body, columns), key


def _change(
    change: Mapping[str, Any],
    key: bytes | None,
    columns: Mapping[str, Mapping[str, Any]],
) -> Opened:
    operation = change["op"]
    if operation == "d":
        return _deletion(change.get("before"), key)
    if operation not in _WRITTEN:
        why = "names no documents" if operation in ("t", "m") else "is not c, r, u or d"
        raise RefusalError(Reason.BAD_OP, f'the change\'s "op" {fields.shown(operation)} {why}')
    row = change.get("after")
    if not isinstance(row, dict):
        raise _refusal(f'"after" must be an object, not {fields.kind(row)}')
    return _converted(row, columns), key


def _deletion(row: object, key: bytes | None) -> Opened:
    """Of the deleted row the id alone counts: its version is that of what is deleted."""
    identity = row.get("id") if isinstance(row, dict) else None
    return {"op": "delete"} | ({} if identity is None else {"id": identity}), key


def _plain_key(key: bytes | None, body: Mapping[str, Any]) -> bytes | None:
    """The key of a plain message, which its sender may have written as JSON all the same."""
    if key is None or body.get("id") is None or key == str(body["id"]).encode(errors="replace"):
        return key
    return _key(key)


def _key(key: bytes | None) -> bytes | None:
    """A key out of its wrapping; as it is where it has none."""
    if not key or not key.startswith((b"{", b'"')):
        return key
    try:
        value = parse_json(key)
    except orjson.JSONDecodeError:
        return key
    if isinstance(value, dict) and value.keys() == _CONNECT:
        value = value["payload"]
    if isinstance(value, dict):
        value = value.get("id", next(iter(value.values())) if len(value) == 1 else None)
    if isinstance(value, str):
        return value.encode(errors="surrogatepass")
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value).encode()
    raise RefusalError(
        Reason.BAD_ID, f'the key {fields.shown(key)} holds neither one value nor an "id"'
    )


def _columns(schema: object) -> Mapping[str, Mapping[str, Any]]:
    """The schemas of a structure's fields by name; {} where it tells none."""
    listed = schema.get("fields") if isinstance(schema, dict) else None
    if not isinstance(listed, list):
        return {}
    return {
        one["field"]: one
        for one in listed
        if isinstance(one, dict) and isinstance(one.get("field"), str)
    }


def _converted(
    row: Mapping[str, Any], columns: Mapping[str, Mapping[str, Any]]
) -> Mapping[str, Any]:
    """A row with the times and JSON that its schema names, as the document message has them."""
    return {
        name: _column(name, value, str(columns.get(name, {}).get("name")))
        for name, value in row.items()
    }


def _column(name: str, value: object, kind: str) -> object:
    if isinstance(value, bool) or not isinstance(value, int | str):
        return value
    if isinstance(value, int):
        step = _TIMES.get(kind)
        if step is None:
            return value
        try:
            moment = _ZERO + step(value)
        except OverflowError:
            raise RefusalError(Reason.BAD_TIME, f'"{name}": {value} is no such time') from None
        return moment.isoformat()
    if kind == "io.debezium.data.Json":
        try:
            return parse_json(value.encode(errors="surrogatepass"))
        except orjson.JSONDecodeError as error:
            raise RefusalError(Reason.BAD_FIELD, f'"{name}" is not JSON: {error}') from None
    return value


def _refusal(detail: str) -> RefusalError:
    return RefusalError(Reason.BAD_ENVELOPE, detail)


def _days(value: int) -> timedelta:
    return timedelta(days=value)


def _milliseconds(value: int) -> timedelta:
    return timedelta(milliseconds=value)


def _microseconds(value: int) -> timedelta:
    return timedelta(microseconds=value)


def _nanoseconds(value: int) -> timedelta:
    return timedelta(microseconds=value // 1000)


_ZERO = datetime(1970, 1, 1, tzinfo=UTC)
_TIMES: Mapping[str, Callable[[int], timedelta]] = {
    "org.apache.kafka.connect.data.Date": _days,
    "org.apache.kafka.connect.data.Timestamp": _milliseconds,
    "io.debezium.time.Date": _days,
    "io.debezium.time.Timestamp": _milliseconds,
    "io.debezium.time.MicroTimestamp": _microseconds,
    "io.debezium.time.NanoTimestamp": _nanoseconds,
}
"""The whole numbers that name a time, by the name of their schema, since 1970 in UTC."""
