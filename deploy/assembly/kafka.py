"""Kafka from settings. Imported only where brokers are named: the client's import takes time."""

import warnings

from deploy.errors import UsageError
from deploy.settings import Settings

with warnings.catch_warnings():
    # The client reads its protocol by a function that importlib wants to give up.
    warnings.simplefilter("ignore", DeprecationWarning)
    from stream.kafka import KafkaSource
    from stream.kafka_connection import KafkaConnection
    from stream.kafka_producer import KafkaProducer


def source(settings: Settings) -> KafkaSource:
    """The topic of the settings. Raises ``UsageError`` or ``StreamError``."""
    return KafkaSource(_connection(settings), [settings.topic])


def producer(settings: Settings) -> KafkaProducer:
    """A producer to the brokers of the settings. Raises ``UsageError`` or ``ProduceError``."""
    return KafkaProducer(_connection(settings))


def _connection(settings: Settings) -> KafkaConnection:
    if settings.kafka_security.startswith("SASL") and not settings.kafka_mechanism:
        raise UsageError(f"kafka_security {settings.kafka_security} needs kafka_mechanism")
    return KafkaConnection(
        bootstrap=tuple(part.strip() for part in settings.kafka.split(",") if part.strip()),
        security=settings.kafka_security,
        ca_file=settings.kafka_ca_file,
        mechanism=settings.kafka_mechanism or None,
        username=settings.kafka_username or None,
        password=settings.kafka_password.get_secret_value() or None,
    )
