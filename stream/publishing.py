"""Records as messages to be published."""

from index.types import Record
from stream.message import message_id
from stream.source import MARKS, Message


def message_of(record: Record) -> Message:
    """The record's bytes as a message; a missing key is the id in the body, where it has one."""
    key = record.key
    if key is None:
        found = message_id(record.value)
        key = None if found is None else found.encode()
    headers = tuple((name, value) for name, value in record.headers if name not in MARKS)
    return Message(key, record.value, headers)
