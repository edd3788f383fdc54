"""Clients that are slow, that stop in the middle, that hang up."""

import socket
import time
from contextlib import contextmanager, suppress

import pytest

from query.service.app import create_app
from query.service.server import ServerThread
from query.service.service import Limits
from tests.query.service.fakes import Desk

PATIENCE = 0.4
HEAD = b"POST /v1/search HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


@pytest.fixture
def connected():
    """A connection to a service that waits for heads and bodies for ``PATIENCE`` only."""

    @contextmanager
    def connect(desk=None, **limits):
        desk = desk or Desk()
        desk.limits = Limits(body_seconds=PATIENCE, **limits)
        server = ServerThread(create_app(desk.service()), grace_seconds=1, head_seconds=PATIENCE)
        with socket.create_connection(("127.0.0.1", server.start()), timeout=10) as connection:
            yield connection
        server.stop()

    return connect


def all_of(connection):
    """What the service says until it closes the connection."""
    said = b""
    while piece := connection.recv(65536):
        said += piece
    return said


def test_a_connection_that_asks_nothing_is_closed(connected):
    with connected() as connection:
        started = time.monotonic()
        assert all_of(connection) == b""
        assert time.monotonic() - started >= PATIENCE - 0.05


def test_a_head_that_trickles_in_does_not_extend_its_time(connected):
    with connected() as connection:
        started = time.monotonic()
        with suppress(OSError):  # reset or broken pipe, as the moment has it
            while time.monotonic() - started < PATIENCE * 20:
                connection.sendall(b"G")
                time.sleep(PATIENCE / 4)
        assert time.monotonic() - started < PATIENCE * 20


def test_a_head_without_end_is_refused_at_a_length(connected):
    with connected() as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n")
        with suppress(OSError):  # reset, where the refusal was not waited for
            for _ in range(1_000):
                connection.sendall(b"X-Long: %s\r\n" % (b"x" * 1_000))
        with suppress(OSError):
            assert all_of(connection).startswith(b"HTTP/1.1 400")


def test_a_second_request_has_the_same_bound_as_the_first(connected):
    with connected() as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        said = b""
        while b"alive" not in said:  # the head and the body may come apart
            said += connection.recv(65536)
        connection.sendall(b"GET /hea")
        assert all_of(connection) == b""


def test_an_answer_may_take_longer_than_its_question(connected):
    """The bound is on the head of the request; a search is bounded by its own budget."""
    desk = Desk()
    desk.engine.delay = PATIENCE * 2
    with connected(desk) as connection:
        body = b'{"question": "x"}'
        connection.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")


def test_a_body_that_does_not_arrive_is_408(connected):
    with connected() as connection:
        connection.sendall(HEAD + b"Content-Length: 100\r\n\r\n{")
        said = all_of(connection)
        assert said.startswith(b"HTTP/1.1 408")
        assert b"urn:tidegraph:problem:slow_body" in said


def test_a_half_closed_connection_still_gets_its_answer(connected):
    with connected() as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        connection.shutdown(socket.SHUT_WR)
        assert all_of(connection).endswith(b"alive\n")


def test_a_client_that_is_gone_before_its_body_leaves_nothing_behind(connected):
    desk = Desk()
    with connected(desk) as connection:
        connection.sendall(HEAD + b"Content-Length: 100\r\n\r\n{")
        connection.close()
        deadline = time.monotonic() + 5
        while not desk.reports and time.monotonic() < deadline:
            time.sleep(0.01)
    assert [report.status for report in desk.reports] == [499]
    assert desk.engine.asked == []
