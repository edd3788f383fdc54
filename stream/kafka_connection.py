"""How a Kafka cluster is reached, and its errors in the words of ``stream``.

Importing Kafka's client takes a third of a second, so only what connects imports this module.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from kafka import KafkaAdminClient
from kafka.errors import (
    AuthorizationError,
    KafkaError,
    LogTruncationError,
    SaslAuthenticationFailedError,
    TopicAlreadyExistsError,
)
from kafka.net.sasl.oauth import AbstractTokenProvider

from stream.errors import PositionLostError, SourceUnavailableError, StreamError

Security = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"]


@dataclass(frozen=True, slots=True)
class KafkaConnection:
    """A cluster and the way to it; secrets are left out of its text form.

    ``bootstrap`` are ``host:port`` of some brokers. ``ca_file`` is what TLS trusts (the system's
    authorities where it is not given), ``cert_file`` and ``key_file`` are the client's own.
    ``mechanism`` with ``username`` and ``password`` (PLAIN, SCRAM) or ``token``, which is asked
    for a valid token at each connection (OAUTHBEARER), belong to the two ``SASL`` ways.
    ``timeout`` is how many seconds a server may take to answer, ``metadata_age`` after how many
    new partitions are found at the latest.
    """

    bootstrap: tuple[str, ...]
    security: Security = "PLAINTEXT"
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    key_password: str | None = field(default=None, repr=False)
    check_hostname: bool = True
    mechanism: Mechanism | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    token: Callable[[], str] | None = field(default=None, repr=False)
    client_id: str = "tidegraph"
    timeout: float = 30.0
    metadata_age: float = 30.0

    def options(self) -> dict[str, Any]:
        """The settings of the client library, the same for reading, writing and administration."""
        milliseconds = int(self.timeout * 1000)
        options: dict[str, Any] = {
            "bootstrap_servers": list(self.bootstrap),
            "client_id": self.client_id,
            "security_protocol": self.security,
            "bootstrap_timeout_ms": milliseconds,
            "request_timeout_ms": milliseconds,
            "reconnect_backoff_max_ms": 2_000,
            "metadata_max_age_ms": int(self.metadata_age * 1000),
        }
        if self.security in ("SSL", "SASL_SSL"):
            options |= {
                "ssl_check_hostname": self.check_hostname,
                "ssl_cafile": _text(self.ca_file),
                "ssl_certfile": _text(self.cert_file),
                "ssl_keyfile": _text(self.key_file),
                "ssl_password": self.key_password,
            }
        if self.security in ("SASL_PLAINTEXT", "SASL_SSL"):
            options["sasl_mechanism"] = self.mechanism
            if self.token is not None:
                options["sasl_oauth_token_provider"] = _Tokens(self.token)
            else:
                options |= {
                    "sasl_plain_username": self.username,
                    "sasl_plain_password": self.password,
                }
        return options


def create_topic(
    connection: KafkaConnection,
    topic: str,
    *,
    partitions: int = 1,
    replication: int = 1,
    settings: dict[str, str] | None = None,
) -> bool:
    """Make a topic; False where it was there before, which is then left as it is.

    Raises:
        SourceUnavailableError: if the cluster cannot be reached or refuses.
    """
    with translated(connection):
        admin = KafkaAdminClient(**connection.options())
        try:
            admin.create_topics(
                {
                    topic: {
                        "num_partitions": partitions,
                        "replication_factor": replication,
                        "configs": settings or {},
                    }
                }
            )
        except TopicAlreadyExistsError:
            return False
        finally:
            admin.close()
    return True


@contextmanager
def translated(
    connection: KafkaConnection, kind: type[StreamError] = SourceUnavailableError
) -> Iterator[None]:
    """The client's errors as one of ours that says where, what, and what to do.

    A log that lost what was read is a lost position, whatever was asked when the client told it.
    """
    where = ",".join(connection.bootstrap)
    # A broker that dislikes a password just hangs up, as one does that expects another protocol.
    sasl = connection.security.startswith("SASL")
    whose = ", and mechanism, user name and password" if sasl else ""
    try:
        yield
    except LogTruncationError as error:
        raise PositionLostError(
            f"{error}: what was read there is no more, since a topic was made anew or lost its "
            "newest records; index it into a new data directory"
        ) from error
    except (SaslAuthenticationFailedError, AuthorizationError) as error:
        raise kind(
            f"Kafka at {where} refuses: {error}; check mechanism, user name, password and rights"
        ) from error
    except (KafkaError, OSError, AssertionError, ValueError) as error:
        raise kind(
            f"Kafka at {where} does not answer as it should: {error}; check the address, that a "
            f"broker listens there, that it expects {connection.security}{whose}"
        ) from error


class _Tokens(AbstractTokenProvider):  # type: ignore[misc]  # the library is untyped
    def __init__(self, token: Callable[[], str]) -> None:
        super().__init__()
        self._token = token

    def token(self) -> str:
        """A token that is valid now."""
        return self._token()


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
