"""One fetch of a feed, over httpx, within limits of size, time and address."""

import email.utils
import ssl
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

import httpcore
import httpx

from stream.errors import FeedError
from stream.feeds.addresses import GuardedBackend, Resolve, checked_url, resolved

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_NOT_MODIFIED = 304
_OK = 200
_LONGEST_HEADER = 1_000
_INFLATED = {"gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}
_PIECE = 65_536


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """What a fetch may cost: bytes after decompression, seconds in all and for one wait."""

    body_bytes: int = 10 * 1024 * 1024
    total_seconds: float = 30.0
    wait_seconds: float = 10.0
    redirects: int = 5
    allow_private: bool = False


@dataclass(frozen=True, slots=True)
class Validators:
    """What a server gave to ask whether anything has changed; "" for what it did not give."""

    etag: str = ""
    last_modified: str = ""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A feed's bytes. ``body`` is None where nothing has changed; ``url`` is where it came from."""

    url: str
    body: bytes | None
    content_type: str | None
    validators: Validators


class Fetcher:
    """Fetches feeds, one at a time; keeps no connection and no cookie between two."""

    def __init__(
        self,
        limits: FetchLimits,
        *,
        clock: Callable[[], float],
        now: Callable[[], datetime],
        agent: str,
        resolve: Resolve = resolved,
    ) -> None:
        """``clock`` is monotonic seconds; ``now`` reads a Retry-After that is a date."""
        self._limits = limits
        self._clock = clock
        self._now = now
        self._resolve = resolve
        self._tls = ssl.create_default_context()
        self._headers: dict[bytes | str, bytes | str] = {
            "User-Agent": agent,
            "Accept": "application/atom+xml, application/rss+xml, application/xml;q=0.9, */*;q=0.5",
            "Accept-Encoding": "gzip, deflate",
        }

    def fetch(self, address: str, known: Validators) -> Fetched:
        """Fetch an address, redirects followed, each hop checked as the first.

        Raises:
            FeedError: for every way in which that can fail; says which.
        """
        ends = self._clock() + self._limits.total_seconds
        backend = GuardedBackend(
            lambda: ends - self._clock(),
            allow_private=self._limits.allow_private,
            resolve=self._resolve,
        )
        with httpcore.ConnectionPool(ssl_context=self._tls, network_backend=backend) as pool:
            return self._follow(pool, address, known, ends)

    def _follow(
        self, pool: httpcore.ConnectionPool, address: str, known: Validators, ends: float
    ) -> Fetched:
        url = checked_url(address)
        visited: list[str] = []
        while True:
            if str(url) in visited:
                raise FeedError(f"redirects in a circle, back to {url}")
            if len(visited) > self._limits.redirects:
                raise FeedError(f"redirects more than {self._limits.redirects} times")
            visited.append(str(url))
            with self._response(pool, url, known) as response:
                headers = httpx.Headers(response.headers)
                if response.status not in _REDIRECTS:
                    return self._read(response, headers, url, known, ends)
            try:
                url = checked_url(str(url.join(headers.get("location", ""))))
            except httpx.InvalidURL as error:
                raise FeedError(f"redirects to no address: {error}") from None

    @contextmanager
    def _response(
        self, pool: httpcore.ConnectionPool, url: httpx.URL, known: Validators
    ) -> Iterator[httpcore.Response]:
        """One request and its response, the body unread; errors translated."""
        headers = dict(self._headers)
        if known.etag:
            headers["If-None-Match"] = known.etag
        if known.last_modified:
            headers["If-Modified-Since"] = known.last_modified
        wait = self._limits.wait_seconds
        target = httpcore.URL(
            scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
        )
        try:
            with pool.stream(
                "GET",
                target,
                headers=headers,
                extensions={"timeout": dict.fromkeys(("connect", "read", "write", "pool"), wait)},
            ) as response:
                yield response
        except httpcore.TimeoutException as error:
            raise FeedError(f"{url.host} is too slow: {_said(error)}") from error
        except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
            raise FeedError(f"{url.host} cannot be read: {_said(error)}") from error

    def _read(
        self,
        response: httpcore.Response,
        headers: httpx.Headers,
        url: httpx.URL,
        known: Validators,
        ends: float,
    ) -> Fetched:
        if response.status == _NOT_MODIFIED and known != Validators():
            return Fetched(str(url), None, None, known)
        if response.status != _OK:
            wait = retry_after(headers.get("retry-after"), self._now())
            raise FeedError(f"{url.host} answers with status {response.status}", wait)
        body = b"".join(self._pieces(response, headers.get("content-encoding", ""), ends))
        validators = Validators(_kept(headers, "etag"), _kept(headers, "last-modified"))
        return Fetched(str(url), body, headers.get("content-type"), validators)

    def _pieces(self, response: httpcore.Response, encoding: str, ends: float) -> Iterator[bytes]:
        """The body, decompressed, counted and timed as it comes."""
        size = 0
        for piece in inflated(response.iter_stream(), encoding):
            size += len(piece)
            if size > self._limits.body_bytes:
                raise FeedError(f"the feed is larger than {self._limits.body_bytes:,} bytes")
            if self._clock() > ends:
                raise FeedError(f"the feed took more than {self._limits.total_seconds:g} seconds")
            yield piece


def inflated(pieces: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    """Decompress in bounded pieces, so that no piece becomes a thousand times itself at once.

    Raises:
        FeedError: for an encoding that was not asked for, or bytes that are not of theirs.
    """
    name = encoding.strip().lower()
    if name in ("", "identity"):
        yield from pieces
        return
    if name not in _INFLATED:
        raise FeedError(f"the feed is encoded as {name[:40]!a}, which was not asked for")
    machine = zlib.decompressobj(_INFLATED[name])
    try:
        for piece in pieces:
            rest = piece
            while rest and not machine.eof:
                yield machine.decompress(rest, _PIECE)
                rest = machine.unconsumed_tail
    except zlib.error as error:
        raise FeedError(f"the feed is not {name} as its server says: {error}") from None
    yield machine.flush()
    if not machine.eof:
        raise FeedError(f"the feed ends in the middle of its {name}")


def retry_after(header: str | None, now: datetime) -> float | None:
    """Seconds that a server asks to wait, never below 0; None where it asks nothing readable."""
    if not header:
        return None
    text = header.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        moment = email.utils.parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())


def _kept(headers: Mapping[str, str], name: str) -> str:
    """A validator worth sending back; one too long is not kept."""
    value = headers.get(name, "")
    return value if len(value) <= _LONGEST_HEADER else ""


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__
