"""A client that hangs up on a question that a slow model answers, through the HTTP service."""

import json
import socket
import time

import pytest

from query.assessor import OfflineAssessor
from query.model.calls import Role
from query.model.spending import Ceilings, Member, Models, Purse
from query.search import Engine
from query.service.app import create_app
from query.service.server import ServerThread
from query.service.service import SearchReport
from query.types import Stopped
from tests.query.memory import MemorySource
from tests.query.model.server import good, model
from tests.query.service.fakes import Desk
from tests.query.small import LANGUAGE, stories

ASKED = {"question": "What wages did the dockers accept after the strike?", "budget": 40}
PAUSE = 0.15


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def slow(call):
    time.sleep(PAUSE)
    return good(call)


def report_of(desk):
    end = time.monotonic() + 10
    while time.monotonic() < end:
        for report in desk.reports:
            if isinstance(report, SearchReport):
                return report
        time.sleep(0.01)
    raise AssertionError("no search was reported")


def ask_and_hang_up(port, accept, calls):
    """Ask, wait until the model is testing chunks, then close the connection."""
    body = json.dumps(ASKED).encode()
    head = (
        f"POST /v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: {accept}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(head.encode() + body)
        end = time.monotonic() + 20
        while sum(call.stage == "test" for call in calls) < 2 and time.monotonic() < end:
            time.sleep(0.01)


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
def test_work_stops_and_what_was_spent_is_kept(accept):
    desk, spent = Desk(), []
    with model(slow, concurrency=1) as (client, calls):
        members = dict.fromkeys(Role, Member(client, "m"))
        models = Models(members, Ceilings(), Purse("a day", Ceilings()), spent.append)
        desk.engine = Engine(MemorySource(stories()), LANGUAGE, OfflineAssessor(), model=models)
        server = ServerThread(create_app(desk.service()))
        port = server.start()
        try:
            ask_and_hang_up(port, accept, calls)
            report = report_of(desk)
            made = len(calls)
            time.sleep(3 * PAUSE)
            assert len(calls) == made
        finally:
            server.stop()
            desk.engine.close()
    assert report.stopped == Stopped.CANCELLED.value
    assert len(spent) == made > 0
    assert {one.role for one in spent} == {Role.ANSWERS, Role.TESTS}
    assert report.tests > 0
