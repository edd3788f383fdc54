"""From the bytes of a server's response to what the model said.

A reply is asked for as a stream, so that one that does not end can be cut off and a closed
connection stops the model's work; it is read whole before anything of it counts. Servers that do
not stream answer with one object instead.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import orjson

from query.model.calls import ModelError, Reply

LARGEST_BODY = 4 * 1024 * 1024
"""Bytes of a response: ten times what the longest reply takes, token by token."""

_DONE = b"[DONE]"


def whole(
    parts: Iterable[bytes], end: float, *, clock: Callable[[], float] = time.monotonic
) -> bytes:
    """The bytes of a response that ends in time.

    Args:
        parts: The bytes as they arrive.
        end: The last moment, by ``clock``.
        clock: Seconds that never go backwards.

    Raises:
        ModelError: It is longer than a reply can be, or still coming at the end.
    """
    body = bytearray()
    for part in parts:
        body += part
        if len(body) > LARGEST_BODY:
            raise ModelError("its server's reply does not end")
        if clock() > end:
            raise ModelError("its server's reply did not end in time")
    return bytes(body)


def reply_of(body: bytes) -> Reply:
    """What a response's body says; a refusal or no choice at all is an empty text.

    Raises:
        ModelError: It is no reply of a model: a web page, an error in a stream, another object.
    """
    said: list[str] = []
    usage: Mapping[str, Any] = {}
    for event in _events(body):
        if event.get("error") is not None:
            raise ModelError("its server broke off with an error")
        choices = event.get("choices")
        if not isinstance(choices, list):
            raise ModelError("what answers at its address is no model")
        said += (text for choice in choices[:1] if (text := _text(choice)))
        given = event.get("usage")
        usage = given if isinstance(given, dict) else usage
    return Reply("".join(said), _count(usage, "prompt_tokens"), _count(usage, "completion_tokens"))


def _events(body: bytes) -> Iterator[Mapping[str, Any]]:
    """The objects of a body: one, or those of its server-sent events."""
    stripped = body.lstrip()
    if stripped.startswith(b"{"):
        yield _object(stripped)
        return
    found = False
    for line in body.splitlines():
        if line.startswith(b"data:"):
            found, data = True, line[5:].strip()
            if data == _DONE:
                return
            yield _object(data)
    if not found:
        raise ModelError("what answers at its address is no model")


def _object(data: bytes) -> Mapping[str, Any]:
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise ModelError("what answers at its address is no model") from error
    if not isinstance(found, dict):
        raise ModelError("what answers at its address is no model")
    return found


def _text(choice: object) -> str:
    """The text of a choice, or what a streamed choice adds to it."""
    if not isinstance(choice, dict):
        return ""
    message = choice.get("message") or choice.get("delta")
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, str) else ""


def _count(usage: Mapping[str, Any], name: str) -> int:
    value = usage.get(name)
    return value if isinstance(value, int) and value > 0 else 0
