"""Kafka from settings. Imported only where brokers are named: the client's import takes time."""

import json
import threading
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

from deploy.assembly.streams import TOPICS_NAME
from deploy.errors import UsageError
from deploy.settings import Settings
from stream.errors import SourceUnavailableError
from stream.source import Partition

with warnings.catch_warnings():
    # The client reads its protocol by a function that importlib wants to give up.
    warnings.simplefilter("ignore", DeprecationWarning)
    from stream.kafka import KafkaSource
    from stream.kafka_admin import GroupMarks
    from stream.kafka_connection import KafkaConnection
    from stream.kafka_producer import KafkaProducer
    from stream.tokens import ClientCredentials, FetchedTokens, FileTokens


MARK_EVERY = 5.0
"""Seconds between two commits of positions for those who show the lag."""


def source(settings: Settings) -> KafkaSource:
    """The topic of the settings. Raises ``UsageError`` or ``StreamError``."""
    return KafkaSource(
        connection(settings),
        [settings.topic],
        lost=settings.kafka_lost,
        ids=_IdsFile(settings.data / TOPICS_NAME),
    )


def mark(
    settings: Settings,
    positions: Callable[[], Mapping[Partition, int]],
    stop: threading.Event,
    failed: Callable[[str], None],
) -> None:
    """Commit positions for the group of the settings until it is to stop, and once more then."""
    marks = GroupMarks(connection(settings), settings.kafka_group)
    failures = 0
    while True:
        stopping = stop.wait(MARK_EVERY)
        try:
            marks.mark(positions())
            failures = 0
        except SourceUnavailableError as error:
            # Brokers find a new group's coordinator only after they were asked once.
            failures += 1
            if failures == 2:  # noqa: PLR2004
                failed(str(error))
        if stopping:
            return


class _IdsFile:
    """The ids of topics in a file of the data directory."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def known(self) -> Mapping[str, str]:
        """What the file says; nothing where it is missing or damaged."""
        try:
            body = json.loads(self._path.read_text("utf-8"))
            return {str(name): str(of) for name, of in body.items()}
        except (OSError, ValueError, AttributeError):
            return {}

    def keep(self, ids: Mapping[str, str]) -> None:
        """Write the file anew, whole or not at all."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        new = self._path.with_suffix(".new")
        new.write_text(json.dumps(dict(ids)), "utf-8")
        new.replace(self._path)


def producer(settings: Settings) -> KafkaProducer:
    """A producer to the brokers of the settings. Raises ``UsageError`` or ``ProduceError``."""
    return KafkaProducer(connection(settings))


def connection(settings: Settings) -> KafkaConnection:
    """How the brokers of the settings are reached. Raises ``UsageError``."""
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
