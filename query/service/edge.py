"""The edge of the application: what holds for every request, before and after its route.

It names the request, refuses what must not get further (foreign hosts, floods, missing keys,
bodies too large or too slow), adds the security headers, turns what nobody foresaw into a problem
and reports the request once it is done.
"""

import asyncio
import hashlib
import hmac
import math
import re
from collections.abc import Mapping

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from query.service.problems import (
    ProblemError,
    as_problem_error,
    internal,
    problem,
    problem_response,
)
from query.service.rate import RateLimit
from query.service.service import RequestReport, Service

_REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,64}\Z")

SECURITY_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class Edge:
    """ASGI middleware around the whole application."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service
        self._rate = RateLimit(service.limits.rate, service.limits.burst)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(self._service, scope, send)
        try:
            self._admit(scope)
            replay = await self._with_body(scope, receive)
            await self._app(scope, replay, exchange.send)
        except ClientDisconnect:
            pass
        except Exception as error:  # noqa: BLE001  the last place where an error can be answered
            await exchange.fail(error, scope, receive)
        finally:
            exchange.report()

    def _admit(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        if self._service.hosts and _host(headers) not in self._service.hosts:
            detail = "This service does not answer to that host name."
            raise ProblemError(421, "foreign_host", detail)
        if not scope["path"].startswith("/v1/"):
            return
        key = _key(headers)
        accepted = not self._service.keys or _is_one_of(key, self._service.keys)
        client = f"key {key}" if key and self._service.keys and accepted else _address(scope)
        wait = self._rate.wait(client, self._service.stopwatch())
        if wait > 0:
            seconds = str(max(1, math.ceil(wait)))
            detail = f"Too many requests at once: ask again in {seconds} s."
            raise ProblemError(429, "too_many_requests", detail, {"Retry-After": seconds})
        if not accepted:
            detail = "Send an API key, as 'Authorization: Bearer KEY' or as 'X-API-Key: KEY'."
            raise ProblemError(401, "key_needed", detail, {"WWW-Authenticate": "Bearer"})
        scope["state"]["payer"] = payer_of(key) if self._service.keys else ""

    async def _with_body(self, scope: Scope, receive: Receive) -> Receive:
        """Read the body whole, within its limits; give a ``receive`` that tells it again."""
        if scope["method"] in {"GET", "HEAD", "OPTIONS"}:
            return receive
        limits = self._service.limits
        declared = Headers(scope=scope).get("content-length", "0")
        if declared.isdecimal() and int(declared) > limits.body_bytes:
            raise _too_large(limits.body_bytes)
        try:
            async with asyncio.timeout(limits.body_seconds):
                body = await _read(receive, limits.body_bytes)
        except TimeoutError:
            detail = f"The body did not arrive within {limits.body_seconds:g} s."
            raise ProblemError(408, "slow_body", detail, {"Connection": "close"}) from None
        told = False

        async def replay() -> Message:
            nonlocal told
            if told:
                return await receive()
            told = True
            return {"type": "http.request", "body": body, "more_body": False}

        return replay


class _Exchange:
    """One request and the response that it gets."""

    def __init__(self, service: Service, scope: Scope, send: Send) -> None:
        given = Headers(scope=scope).get("x-request-id", "")
        self._service = service
        self._scope = scope
        self._send = send
        self._started = service.stopwatch()
        self._status: int | None = None
        self._error: Exception | None = None
        self.request_id = given if _REQUEST_ID.match(given) else service.new_id()
        scope.setdefault("state", {})["request_id"] = self.request_id

    async def send(self, message: Message) -> None:
        """Pass a message on; the first one gets the headers that all responses have."""
        if message["type"] == "http.response.start":
            self._status = message["status"]
            headers = MutableHeaders(scope=message)
            headers["X-Request-Id"] = self.request_id
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
        await self._send(message)

    async def fail(self, error: Exception, scope: Scope, receive: Receive) -> None:
        """Answer an error as a problem; 500 for one that nobody foresaw."""
        known = as_problem_error(error)
        if known is None:
            self._error = error
            known = internal()
        if self._status is None:
            body = problem(known.status, known.code, known.detail, self.request_id)
            await problem_response(body, known.headers)(scope, receive, self.send)

    def report(self) -> None:
        """Report the request; 499 where the client was gone before there was a status."""
        route = getattr(self._scope.get("route"), "path", "")
        self._service.observe(
            RequestReport(
                request_id=self.request_id,
                method=self._scope["method"],
                route=route,
                status=self._status or 499,
                seconds=self._service.stopwatch() - self._started,
                error=self._error,
            )
        )


def payer_of(key: str) -> str:
    """The name under which a key's spending is noted: it does not tell the key."""
    return hashlib.sha256(key.encode()).hexdigest()[:16]


def _too_large(limit: int) -> ProblemError:
    detail = f"The body is larger than {limit} bytes."
    return ProblemError(413, "body_too_large", detail, {"Connection": "close"})


async def _read(receive: Receive, limit: int) -> bytes:
    body = b""
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > limit:
            raise _too_large(limit)
    return body


def _host(headers: Headers) -> str:
    """The name in ``Host``, without the port; brackets of an IPv6 address are kept."""
    return re.sub(r":\d+\Z", "", headers.get("host", "")).lower()


def _key(headers: Headers) -> str:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return token.strip()
    return headers.get("x-api-key", "")


def _is_one_of(key: str, keys: tuple[str, ...]) -> bool:
    """Whether a key is accepted, in a time that tells nothing about the accepted ones."""
    given = key.encode()
    return any([hmac.compare_digest(given, accepted.encode()) for accepted in keys])  # noqa: C419  tries them all


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else ""
