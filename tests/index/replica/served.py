"""A store of plain analyses behind the real service, and a server that says what a test wants."""

from contextlib import contextmanager, suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler

from index.replica.origin import Origin
from query.service.app import create_app
from query.service.server import ServerThread
from query.service.service import Limits
from tests.index.simple import Feed, commit, open_writer
from tests.loopback import loopback
from tests.query.service.fakes import Desk

KEY = "secret"


@contextmanager
def served(directory):
    """The address of a service that gives a directory's store away."""
    origin = Origin(directory)
    desk = Desk(limits=Limits(rate=1e9, burst=10**9)).service()
    server = ServerThread(create_app(replace(desk, origin=origin, keys=(KEY,))))
    try:
        yield f"http://127.0.0.1:{server.start()}"
    finally:
        server.stop()
        origin.close()


class Source:
    """A writer with a feed: what is done to it is what a stream may do."""

    def __init__(self, directory):
        self.directory = directory
        self.writer, self.feed = open_writer(directory), Feed()

    def write(self, *pairs):
        """A generation of documents: (id, text), a text of None withdraws."""
        commit(
            self.writer,
            [
                self.feed.delete(key) if text is None else self.feed.upsert(key, text)
                for key, text in pairs
            ],
        )

    def close(self):
        self.writer.close()


@contextmanager
def scripted(answer):
    """The address of a server whose answers a function gives: status, headers, body.

    ``asked`` on the yielded server holds path and headers of every request.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.server.asked.append((self.path, dict(self.headers)))
            status, headers, body = answer(self)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(ConnectionError):  # who asked may have seen enough
                self.wfile.write(body)
            if len(body) < int(headers.get("Content-Length", 0)):
                self.close_connection = True

        def log_message(self, *_):
            pass

    with loopback(Handler) as server:
        server.asked = []
        yield server
