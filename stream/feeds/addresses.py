"""Where a fetch may connect to: http or https, public addresses, checked as they are connected.

The check stands in the network backend, after resolution and at the connection itself, so that a
name that resolves differently the second time, or a redirect, changes nothing.
"""

import ipaddress
import socket
import ssl
from collections.abc import Callable, Iterable
from typing import Any

import httpcore
import httpx

from stream.errors import FeedError

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_IPV4_COMPATIBLE = ipaddress.ip_network("::/96")
LONGEST_URL = 4_000
HIGHEST_PORT = 65_535

Resolve = Callable[[str, int], Iterable[str]]
"""A name's addresses, as text; raises ``OSError`` where it has none."""


def checked_url(address: str) -> httpx.URL:
    """The address as httpx takes it, without its fragment. Raises ``FeedError``."""
    try:
        url = httpx.URL(address.strip())
        host = url.host
    except (httpx.InvalidURL, ValueError) as error:
        raise FeedError(f"{shown(address)} is no address of the web: {error}") from None
    if url.scheme not in ("http", "https") or not host:
        raise FeedError(f"{shown(address)}: write an address that begins with http:// or https://")
    if url.port is not None and not 0 < url.port <= HIGHEST_PORT:
        raise FeedError(f"{shown(address)}: there is no port {url.port}")
    if url.userinfo:
        raise FeedError("the address may not hold a user or a password")
    if len(str(url)) > LONGEST_URL:
        raise FeedError(f"{shown(address)}: the address is longer than {LONGEST_URL:,} characters")
    return url.copy_with(fragment=None)


def shown(address: str) -> str:
    """An address as an error quotes it."""
    return ascii(address[:200]).strip("'\"")


def is_public(address: str) -> bool:
    """Whether an IP address is one of the public internet; what is embedded in it counts too."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if inner is None and (ip in _NAT64 or ip in _IPV4_COMPATIBLE):
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFF_FFFF)
        if inner is not None:
            return is_public(str(inner))
    return ip.is_global and not ip.is_multicast and not ip.is_reserved


def resolved(host: str, port: int) -> list[str]:
    """The addresses that the system's resolver knows, in its order, each once."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class GuardedBackend(httpcore.NetworkBackend):
    """Connects to allowed addresses only, and lets no single wait outlast the fetch.

    ``remaining`` gives the seconds that the fetch may still take; without it a server that sends
    its headers a byte at a time would hold a thread for days, each read being in time.
    ``setting`` is the one that a refusal names.
    """

    def __init__(
        self,
        remaining: Callable[[], float],
        *,
        allow_private: bool,
        resolve: Resolve = resolved,
        setting: str = "feeds_allow_private",
    ) -> None:
        self._remaining = remaining
        self._setting = setting
        self._allow_private = allow_private
        self._resolve = resolve
        self._inner = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Resolve, check, and connect to the first address that answers."""
        try:
            addresses = list(self._resolve(host, port))
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError(f"{host} cannot be resolved: {error}") from error
        allowed = [one for one in addresses if self._allow_private or is_public(one)]
        if not allowed:
            raise FeedError(
                f"{host} is a private address ({', '.join(addresses[:3])}); "
                f"{self._setting} allows those"
            )
        failure: Exception = httpcore.ConnectError(f"{host} has no address")
        for address in allowed:
            try:
                inner = self._inner.connect_tcp(
                    address, port, self._wait(timeout), local_address, socket_options
                )
                return _Bounded(inner, self._wait)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure

    def connect_unix_socket(
        self,
        path: str,  # noqa: ARG002  the library's signature
        timeout: float | None = None,  # noqa: ARG002
        socket_options: Iterable[Any] | None = None,  # noqa: ARG002
    ) -> httpcore.NetworkStream:
        """Never: nothing of the web lies behind a socket of this host."""
        raise FeedError("a socket of this host is no address of the web")

    def sleep(self, seconds: float) -> None:
        """Never waits: nothing is retried here."""

    def _wait(self, timeout: float | None) -> float:
        left = self._remaining()
        if left <= 0:
            raise httpcore.ReadTimeout("the fetch has taken all of its time")
        return left if timeout is None else min(timeout, left)


class _Bounded(httpcore.NetworkStream):
    """A connection whose every wait is cut to what is left of the fetch."""

    def __init__(
        self, inner: httpcore.NetworkStream, wait: Callable[[float | None], float]
    ) -> None:
        self._inner = inner
        self._wait = wait

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, self._wait(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._wait(timeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        secured = self._inner.start_tls(ssl_context, server_hostname, self._wait(timeout))
        return _Bounded(secured, self._wait)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
