"""One extractor as a process of its own, without a language model: killed and started by tests.

``python -m tests.stream.extracting BOOTSTRAP DOCUMENTS ANALYSES GROUP INSTANCE``
"""

import signal
import sys
import threading
import time
import warnings
from concurrent.futures import Future, ThreadPoolExecutor

from stream.extract import Extractor
from stream.loop import ConsumerSettings
from tests.index.simple import FINGERPRINT, analysis

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from stream.kafka_admin import follow_partitions
    from stream.kafka_connection import KafkaConnection
    from stream.kafka_group import KafkaGroup
    from stream.kafka_producer import KafkaProducer

SECONDS = 0.004
"""How long a document takes, so that there is something to interrupt."""
SESSION = 6.0
"""Seconds until one that was killed is given up; the least that a broker allows."""


class SlowPool:
    """Analyses in two threads, ``SECONDS`` for each document."""

    workers = 2

    def __init__(self):
        self._threads = ThreadPoolExecutor(2)

    def submit(self, documents) -> Future:
        return self._threads.submit(self._analyses, list(documents))

    def _analyses(self, documents):
        time.sleep(SECONDS * len(documents))
        return [analysis(document) for document in documents]


def extractor(connection, documents, analyses, group, instance, *, observe, analyzer=None):
    """An extractor with its group and its producer, which are to be closed."""
    follow_partitions(connection, analyses, documents, {})
    producer = KafkaProducer(connection)
    member = KafkaGroup(connection, documents, group, instance=instance, session_timeout=SESSION)

    def publish(messages, numbers):
        return [at is not None for at in producer.publish(analyses, messages, numbers)]

    made = Extractor(
        member,
        SlowPool(),
        publish,
        analyzer or FINGERPRINT.to_json(),
        ConsumerSettings(batch_records=20, poll_wait=0.05),
        observe=observe,
    )
    return made, member, producer


def main() -> None:
    bootstrap, documents, analyses, group, instance = sys.argv[1:]
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    connection = KafkaConnection((bootstrap,), timeout=10.0)
    made, member, producer = extractor(
        connection, documents, analyses, group, instance, observe=lambda _: None
    )
    made.run(stop)
    member.close()
    producer.close()


if __name__ == "__main__":
    main()
