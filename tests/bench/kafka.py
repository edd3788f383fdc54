"""Reading Kafka: documents of one kilobyte from a real broker, fetched and parsed."""

import json
import tempfile
import time
import warnings
from contextlib import closing
from pathlib import Path

from index.types import Upsert
from stream.message import decode
from stream.source import Message
from tests.bench.table import Row
from tests.stream.broker import Broker

with warnings.catch_warnings():
    # The client reads its protocol by a function that importlib wants to give up.
    warnings.simplefilter("ignore", DeprecationWarning)
    from stream.kafka import KafkaSource
    from stream.kafka_connection import KafkaConnection, create_topic
    from stream.kafka_producer import KafkaProducer

DOCUMENTS = 50_000
TOPIC = "bench"
_TEXT = "The ministers met in the harbour and spoke of copper, grain and the price of tin. " * 12


def reading() -> list[Row]:
    """Documents a second, from the first poll to the last document parsed; one process."""
    with tempfile.TemporaryDirectory() as folder:
        broker = Broker(Path(folder))
        try:
            broker.run("start")
            connection = KafkaConnection((broker.bootstrap,))
            create_topic(connection, TOPIC, partitions=4)
            _publish(connection)
            seconds = _read(connection)
        finally:
            broker.run("kill")
    return [Row("Kafka source, read and parsed", DOCUMENTS / seconds, "documents/s", ">= 5000")]


def _publish(connection: KafkaConnection) -> None:
    with closing(KafkaProducer(connection)) as producer:
        for start in range(0, DOCUMENTS, 1000):
            producer.publish(TOPIC, [_message(n) for n in range(start, start + 1000)])


def _message(number: int) -> Message:
    body = {"id": f"d{number}", "title": f"Report {number}", "text": _TEXT[: 1024 - 60]}
    return Message(f"d{number}".encode(), json.dumps(body).encode())


def _read(connection: KafkaConnection) -> float:
    with closing(KafkaSource(connection, [TOPIC])) as source:
        source.seek({})
        started, found = time.perf_counter(), 0
        while found < DOCUMENTS:
            contents = [decode(record) for record in source.poll(1000, 1.0)]
            found += sum(isinstance(content, Upsert) for content in contents)
        return time.perf_counter() - started
