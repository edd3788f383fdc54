"""OAuth tokens for Kafka: by client credentials (RFC 6749, 4.4), or from a file kept by others."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from stream.errors import SourceUnavailableError

_RENEW = 0.8
"""Share of a token's life after which the next is fetched."""
_LIFE = 300.0
"""Seconds that a token is taken to live whose server does not say."""


@dataclass(frozen=True, slots=True)
class ClientCredentials:
    """Who asks which server for tokens; the secret is left out of its text form.

    ``ca_file`` is what TLS trusts, the system's authorities where it is not given; ``timeout`` is
    in seconds.
    """

    url: str
    client: str
    secret: str = field(repr=False)
    scope: str = ""
    ca_file: Path | None = None
    timeout: float = 10.0


class FetchedTokens:
    """Calls give a token that is valid now, fetched again when most of its life is over.

    May be called from any thread.
    """

    def __init__(
        self, credentials: ClientCredentials, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._credentials = credentials
        self._clock = clock
        self._lock = threading.Lock()
        self._token = ""
        self._renew_at = 0.0

    def __call__(self) -> str:
        """A token. Raises ``SourceUnavailableError`` where its server gives none."""
        with self._lock:
            if not self._token or self._clock() >= self._renew_at:
                self._token, life = self._fetch()
                self._renew_at = self._clock() + _RENEW * life
            return self._token

    def _fetch(self) -> tuple[str, float]:
        asked = self._credentials
        form = {"grant_type": "client_credentials"} | (
            {"scope": asked.scope} if asked.scope else {}
        )
        try:
            answer = httpx.post(
                asked.url,
                data=form,
                auth=(asked.client, asked.secret),
                timeout=asked.timeout,
                verify=True if asked.ca_file is None else str(asked.ca_file),
            )
            answer.raise_for_status()
            body = answer.json()
            return str(body["access_token"]), float(body.get("expires_in", _LIFE))
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError, TypeError) as error:
            why = str(error) or type(error).__name__
            raise SourceUnavailableError(f"no token for Kafka from {asked.url}: {why}") from error


@dataclass(frozen=True, slots=True)
class FileTokens:
    """Calls give the token that a file holds now; whoever writes the file renews it."""

    path: Path

    def __call__(self) -> str:
        """The token. Raises ``SourceUnavailableError`` where the file cannot be read."""
        try:
            return self.path.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise SourceUnavailableError(f"no token for Kafka in {self.path}: {error}") from error
