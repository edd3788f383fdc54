"""Starting, refusing to start, and stopping."""

import socket
import threading
import time

import httpx
import psutil
import pytest

from query.service.app import create_app
from query.service.server import ServerError, ServerThread
from tests.query.service.fakes import Desk


def test_it_serves_on_a_free_port_and_stops():
    server = ServerThread(create_app(Desk().service()))
    port = server.start()
    assert httpx.get(f"http://127.0.0.1:{port}/healthz").text == "alive\n"
    server.stop()
    assert server.wait(0)
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"http://127.0.0.1:{port}/healthz")


def test_small_answers_do_not_wait_for_an_acknowledgement():
    server = ServerThread(create_app(Desk().service()))
    port = server.start()
    with httpx.Client(base_url=f"http://127.0.0.1:{port}") as client:
        client.get("/healthz")
        accepted = [
            one.fd
            for one in psutil.Process().net_connections("tcp")
            if one.laddr.port == port and one.status == psutil.CONN_ESTABLISHED
        ]
        assert accepted
        for descriptor in accepted:
            with socket.fromfd(descriptor, socket.AF_INET, socket.SOCK_STREAM) as one:
                assert one.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    server.stop()


def test_a_port_in_use_is_told_plainly():
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        with pytest.raises(ServerError, match=f"Port {port} on 127.0.0.1 is in use"):
            ServerThread(create_app(Desk().service()), port=port).start()


@pytest.mark.parametrize(("host", "port"), [("256.0.0.1", 0), ("127.0.0.1", 70_000)])
def test_an_address_that_cannot_be_is_told_plainly(host, port):
    with pytest.raises(ServerError, match="Cannot listen on"):
        ServerThread(create_app(Desk().service()), host, port).start()


def test_an_application_that_does_not_start_is_an_error():
    async def broken(scope, receive, send):
        raise RuntimeError("no")

    with pytest.raises(ServerError, match="did not start"):
        ServerThread(broken).start()


def test_stopping_does_not_wait_for_a_search_that_hangs():
    desk = Desk()
    desk.engine.gate = threading.Event()
    server = ServerThread(create_app(desk.service()), grace_seconds=1)
    url = f"http://127.0.0.1:{server.start()}/v1/search"
    headers = {"Accept": "text/event-stream"}
    with httpx.stream("POST", url, json={"question": "x"}, headers=headers) as response:
        assert response.status_code == 200
        started = time.monotonic()
        server.stop()
        assert server.wait(0)
        assert time.monotonic() - started < 4
    desk.engine.gate.set()
    assert desk.engine.closed.wait(5)
