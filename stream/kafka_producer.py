"""Publishing to Kafka; each publication waits until all of it is durable."""

from collections.abc import Sequence
from typing import Any

from kafka import KafkaProducer as Client
from kafka.errors import MessageSizeTooLargeError

from index.types import Position
from stream.errors import ProduceError
from stream.kafka_connection import KafkaConnection, translated
from stream.source import Message

MAX_MESSAGE_BYTES = 64 * 1024 * 1024


class KafkaProducer:
    """Publishes to a cluster; satisfies ``stream.source.Producer``. Never makes a topic.

    Idempotent, acknowledged by all replicas; keys go where Java's clients put them.
    """

    def __init__(self, connection: KafkaConnection, *, compression: str | None = "lz4") -> None:
        """Connect.

        Args:
            connection: the cluster.
            compression: gzip, snappy, lz4, zstd or None.

        Raises:
            ProduceError: if the cluster does not answer.
        """
        self._connection = connection
        self._compression = compression
        self._client = self._connect()

    def publish(
        self, topic: str, messages: Sequence[Message], partitions: Sequence[int] | None = None
    ) -> list[Position | None]:
        """Publish and wait for the acknowledgements; None for a message that was too large.

        ``partitions`` says for each message where it goes, whatever its key.
        """
        numbers = [None] * len(messages) if partitions is None else list(partitions)
        positions = self._send(topic, messages, numbers)
        if None not in positions:
            return positions
        # After a refusal the client fails whatever follows, fitting or not: begin anew, one by
        # one, so that the others are published, and in their order.
        for number, position in enumerate(positions):
            if position is None:
                self._renew()
                positions[number] = self._send(topic, [messages[number]], [numbers[number]])[0]
        self._renew()
        return positions

    def close(self) -> None:
        """Leave the cluster."""
        self._client.close(timeout=5)

    def _send(
        self, topic: str, messages: Sequence[Message], partitions: Sequence[int | None]
    ) -> list[Position | None]:
        with translated(self._connection, ProduceError):
            futures = [
                self._client.send(
                    topic,
                    # The client takes no message without both; no reader makes sense of one.
                    value=b"" if one.value is None and one.key is None else one.value,
                    key=one.key,
                    headers=list(one.headers),
                    partition=partition,
                )
                if one.size <= MAX_MESSAGE_BYTES
                else None
                for one, partition in zip(messages, partitions, strict=True)
            ]
            self._client.flush(timeout=self._connection.timeout)
            return [_outcome(future, self._connection.timeout) for future in futures]

    def _renew(self) -> None:
        self.close()
        self._client = self._connect()

    def _connect(self) -> Client:
        with translated(self._connection, ProduceError):
            return Client(
                **self._connection.options(),
                compression_type=self._compression,
                enable_idempotence=True,
                acks="all",
                linger_ms=5,
                batch_size=128 * 1024,
                max_request_size=MAX_MESSAGE_BYTES + 1024 * 1024,
                max_block_ms=int(self._connection.timeout * 1000),
                delivery_timeout_ms=int(self._connection.timeout * 2000),
                allow_auto_create_topics=False,
            )


def _outcome(future: Any, timeout: float) -> Position | None:
    """Where a message came to stand; None where it was too large."""
    if future is None:
        return None
    try:
        found = future.get(timeout)
    except MessageSizeTooLargeError:
        return None
    return Position(found.topic, found.partition, found.offset)
