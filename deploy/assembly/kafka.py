"""Kafka from settings. Imported only where brokers are named: the client's import takes time."""

import warnings
from collections.abc import Callable
from pathlib import Path

from deploy.errors import UsageError
from deploy.settings import Settings

with warnings.catch_warnings():
    # The client reads its protocol by a function that importlib wants to give up.
    warnings.simplefilter("ignore", DeprecationWarning)
    from stream.kafka import KafkaSource
    from stream.kafka_connection import KafkaConnection
    from stream.kafka_producer import KafkaProducer
    from stream.tokens import ClientCredentials, FetchedTokens, FileTokens


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
        ca_file=_readable(settings.kafka_ca_file, "kafka_ca_file"),
        cert_file=_readable(settings.kafka_cert_file, "kafka_cert_file"),
        key_file=_readable(settings.kafka_key_file, "kafka_key_file"),
        key_password=settings.kafka_key_password.get_secret_value() or None,
        mechanism=settings.kafka_mechanism or None,
        username=settings.kafka_username or None,
        password=settings.kafka_password.get_secret_value() or None,
        token=_tokens(settings),
    )


def _tokens(settings: Settings) -> Callable[[], str] | None:
    if settings.kafka_mechanism != "OAUTHBEARER":
        return None
    if settings.kafka_token_file is not None:
        return FileTokens(settings.kafka_token_file)
    if not settings.kafka_token_url:
        raise UsageError("kafka_mechanism OAUTHBEARER needs kafka_token_url or kafka_token_file")
    return FetchedTokens(
        ClientCredentials(
            settings.kafka_token_url,
            settings.kafka_username,
            settings.kafka_password.get_secret_value(),
            settings.kafka_token_scope,
        )
    )


def _readable(path: Path | None, name: str) -> Path | None:
    """The path of a file that can be read; the client itself would not say which is missing."""
    if path is not None:
        try:
            path.open("rb").close()
        except OSError as error:
            raise UsageError(f"{name} {path}: {error.strerror}") from None
    return path
