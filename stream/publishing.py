"""Publishing records again: as messages, with what is too large set aside."""

from collections.abc import Sequence

from index.types import Record
from stream.errors import MessageTooLargeError
from stream.message import message_id
from stream.source import MARKS, Message, Producer


def message_of(record: Record) -> Message:
    """The record's bytes as a message; a missing key is the id in the body, where it has one."""
    key = record.key
    if key is None:
        found = message_id(record.value)
        key = None if found is None else found.encode()
    headers = tuple((name, value) for name, value in record.headers if name not in MARKS)
    return Message(key, record.value, headers)


def publish_fitting(producer: Producer, topic: str, messages: Sequence[Message]) -> list[bool]:
    """Publish all that the topic takes; tells for each whether it was published.

    Raises:
        ProduceError: if publishing fails for another reason than a message's size.
    """
    try:
        producer.publish(topic, messages)
    except MessageTooLargeError:
        if len(messages) == 1:
            return [False]
        return [fits for one in messages for fits in publish_fitting(producer, topic, [one])]
    return [True] * len(messages)
