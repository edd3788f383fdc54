"""A server on loopback that serves feeds well and badly."""

import gzip
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.loopback import loopback


class Handler(BaseHTTPRequestHandler):
    """Answers by path from the server's ``pages``; keeps each request's headers in ``seen``."""

    def do_GET(self):
        self.server.seen.append((self.path, dict(self.headers)))
        try:
            self.server.pages[self.path](self)
        except KeyError:
            self.send_error(404)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def log_message(self, *_):
        pass


@contextmanager
def served(pages: dict[str, Callable[[Handler], None]]) -> Iterator[ThreadingHTTPServer]:
    with loopback(Handler) as server:
        server.pages = pages
        server.seen = []
        yield server


def page(body: bytes, *, status: int = 200, **headers: str) -> Callable[[Handler], None]:
    def answer(handler: Handler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def redirect(location: str, status: int = 302) -> Callable[[Handler], None]:
    return page(b"", status=status, Location=location)


def with_validators(body: bytes) -> Callable[[Handler], None]:
    """A page that knows its own tag and date."""

    def answer(handler: Handler) -> None:
        given = handler.headers.get("If-None-Match"), handler.headers.get("If-Modified-Since")
        known = given == ('"one"', "Mon, 02 Nov 2026 06:00:00 GMT")
        page(
            b"" if known else body,
            status=304 if known else 200,
            ETag='"one"',
            Last_Modified="Mon, 02 Nov 2026 06:00:00 GMT",
        )(handler)

    return answer


def endless(handler: Handler) -> None:
    handler.send_response(200)
    handler.end_headers()
    while True:
        handler.wfile.write(b"<item/>" * 1000)


def dripping(handler: Handler) -> None:
    handler.send_response(200)
    handler.end_headers()
    while True:
        handler.wfile.write(b"x")
        time.sleep(0.05)


def dripping_headers(handler: Handler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    while True:
        handler.wfile.write(b"x")
        time.sleep(0.05)


def silent(handler: Handler) -> None:
    time.sleep(1.5)


def bomb(size: int) -> Callable[[Handler], None]:
    return page(gzip.compress(b"\0" * size), Content_Encoding="gzip")
