"""CloudEvents 1.0 on Kafka, binary and structured, as the fields of a document message.

The event's ``data`` is the document. Where it has no ``id`` the event's ``subject`` names the
document, else the record's key; the key is otherwise the event's partition key and need not be
the id. An event without data whose type ends in ``.deleted``, ``.delete`` or ``.removed`` deletes
its subject. ``source`` and ``time`` stand in for a missing ``source`` and ``observed_at``.
"""

from collections.abc import Mapping
from typing import Any

import orjson
from cloudevents.core.base import BaseCloudEvent
from cloudevents.core.bindings.kafka import KafkaMessage, from_kafka
from cloudevents.core.exceptions import BaseCloudEventException
from cloudevents.core.formats.json import JSONFormat

from index.types import Reason, Record
from stream import fields
from stream.fields import RefusalError
from stream.text import parse_json

_DELETES = (".deleted", ".delete", ".removed")


def opened(record: Record) -> tuple[Mapping[str, Any], bytes | None]:
    """The document's fields and the key that names it. Raises ``RefusalError``."""
    event = _event(record)
    data = _data(event)
    subject = event.get_subject()
    if data is None:
        if not event.get_type().endswith(_DELETES):
            raise _refusal(f"the event of type {fields.shown(event.get_type())} has no data")
        return {"op": "delete"}, record.key if subject is None else subject.encode(
            errors="surrogatepass"
        )
    body = {"source": event.get_source()} | dict(data)
    moment = event.get_time()
    if moment is not None and body.get("observed_at") is None:
        body["observed_at"] = moment.isoformat()
    if body.get("id") is not None:
        return body, None
    return body, record.key if subject is None else subject.encode(errors="surrogatepass")


def _event(record: Record) -> BaseCloudEvent:
    # The key is left out: one that is no text is no fault of the event.
    message = KafkaMessage(dict(record.headers), None, record.value or b"")
    try:
        return from_kafka(message, JSONFormat())
    except BaseCloudEventException as error:
        raise _refusal(f"the CloudEvent is not valid: {_first(error)}") from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise _refusal(f"the CloudEvent cannot be read: {error}") from None


def _first(error: BaseCloudEventException) -> str:
    """The first fault: the library gathers them by attribute."""
    gathered = getattr(error, "errors", None)
    if isinstance(gathered, Mapping):
        return "; ".join(str(one) for found in gathered.values() for one in found)
    return str(error)


def _data(event: BaseCloudEvent) -> Mapping[str, Any] | None:
    data = event.get_data()
    if isinstance(data, bytes | str):
        raw = data if isinstance(data, bytes) else data.encode(errors="surrogatepass")
        try:
            data = parse_json(raw)
        except orjson.JSONDecodeError as error:
            raise _refusal(f"the event's data is not JSON: {error}") from None
    if data is None or isinstance(data, Mapping):
        return data
    raise _refusal(f"the event's data is {fields.kind(data)}, not a JSON object")


def _refusal(detail: str) -> RefusalError:
    return RefusalError(Reason.BAD_ENVELOPE, detail)
