"""Asking: whole, as a stream, and stopped."""

import asyncio
import json
import socket
import threading
import time

import httpx
import pytest
from starlette.testclient import TestClient

from index.errors import SnapshotRetiredError
from index.types import Millis
from query.service.app import create_app
from query.service.problems import ProblemError
from query.service.searches import Searches
from query.service.server import ServerThread
from query.service.service import Limits, SearchReport
from query.types import EventKind, Filters, Mode, Preset, Question, TimeAxis
from tests.query.service.fakes import Desk
from tests.query.service.small_index import NOW

STREAM = {"Accept": "text/event-stream"}


@pytest.fixture
def desk():
    return Desk()


@pytest.fixture
def client(desk):
    with TestClient(create_app(desk.service())) as client:
        yield client


def events_of(text):
    found = []
    for block in text.replace("\r\n", "\n").strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        found.append((fields.get("event"), json.loads(fields["data"]), fields.get("id")))
    return found


def searches(desk):
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        found = [r for r in desk.reports if isinstance(r, SearchReport)]
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError("no search was reported")


def test_an_answer_has_the_fields_that_the_command_line_promises(client):
    body = client.post("/v1/search", json={"question": "The bridge?"}).json()
    promised = "answer outcome citations claims ledger budget stopped assessor mode generation"
    assert {*promised.split(), "positions"} <= body.keys()
    citation = body["citations"][1]
    document = client.get(f"/v1/documents/{citation['document_id']}").json()
    assert document["text"][citation["start"] : citation["end"]] == citation["quote"]
    assert body["claims"][0]["community"] == "1"


def test_a_question_carries_its_budget_mode_and_filters(desk, client):
    asked = {
        "question": " The bridge? ",
        "budget": 7,
        "mode": "bm25",
        "since": "2026-02-01",
        "until": "1h",
        "time": "observed",
        "source": ["Port Wire"],
        "lang": ["en"],
        "where": {"desk": "test"},
    }
    assert client.post("/v1/search", json=asked).status_code == 200
    question = desk.engine.asked[0]
    assert (question.text, question.budget, question.mode) == ("The bridge?", 7, Mode.BM25)
    since, until = Millis(1_769_904_000_000), Millis(NOW - 3_600_000)
    assert question.filters == Filters(
        since, until, TimeAxis.OBSERVED, ("Port Wire",), ("en",), {"desk": "test"}
    )


def test_spans_of_event_time_count_back_from_the_watermark(desk, client):
    """A replay of 1987 keeps 1987's clock."""
    client.post("/v1/search", json={"question": "x", "since": "1h"})
    watermark = desk.index.snapshot.head.watermark
    assert desk.engine.asked[0].filters.since == watermark - 3_600_000


def test_a_stream_tells_every_step_and_ends_with_the_answer(client):
    told = events_of(client.post("/v1/search", json={"question": "x"}, headers=STREAM).text)
    names = [name for name, _, _ in told]
    assert names == ["started", "ranked", "tested", "claim", "tested", "claim", "answer"]
    assert [number for _, _, number in told] == [str(n + 1) for n in range(7)]
    assert told[2][1]["community"] == "1"
    whole = client.post("/v1/search", json={"question": "x"}).json()
    assert told[-1][1] == whole


def test_steps_arrive_before_the_search_has_ended(desk):
    desk.engine.gate = threading.Event()
    server = ServerThread(create_app(desk.service()))
    url = f"http://127.0.0.1:{server.start()}/v1/search"
    try:
        with httpx.stream("POST", url, json={"question": "x"}, headers=STREAM) as response:
            lines = response.iter_lines()
            assert any(line == "event: started" for line in lines)
            assert not desk.engine.closed.is_set()
            desk.engine.gate.set()
            assert any(line == "event: answer" for line in lines)
    finally:
        server.stop()


@pytest.mark.parametrize("headers", [STREAM, {}], ids=["stream", "whole"])
def test_a_client_that_hangs_up_stops_its_search(desk, headers):
    desk.engine.gate = threading.Event()
    server = ServerThread(create_app(desk.service()))
    port = server.start()
    body = b'{"question": "x"}'
    lines = ["POST /v1/search HTTP/1.1", "Host: x", f"Content-Length: {len(body)}"]
    lines += ["Content-Type: application/json", *(f"{k}: {v}" for k, v in headers.items())]
    try:
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
            deadline = time.monotonic() + 5
            while not desk.engine.asked and time.monotonic() < deadline:
                time.sleep(0.01)
        time.sleep(0.2)
        desk.engine.gate.set()
        assert desk.engine.closed.wait(5)
        report = searches(desk)[0]
        assert (report.stopped, report.outcome) == ("cancelled", "")
    finally:
        server.stop()


def test_a_search_is_reported_with_its_stages(desk, client):
    client.post("/v1/search", json={"question": "x", "budget": 9}, headers={"X-Request-Id": "q1"})
    report = searches(desk)[0]
    assert (report.request_id, report.budget, report.tests) == ("q1", 9, 4)
    assert (report.outcome, report.stopped) == ("answered", "nothing_left")
    assert report.stages == {"test": 0.01}
    assert report.first_event_seconds <= report.seconds


@pytest.mark.parametrize("headers", [STREAM, {}], ids=["stream", "whole"])
def test_a_retired_snapshot_before_the_first_step_is_503(desk, client, headers):
    desk.engine.failure = SnapshotRetiredError("too long")
    answer = client.post("/v1/search", json={"question": "x"}, headers=headers)
    assert (answer.status_code, answer.json()["type"].rpartition(":")[2]) == (
        503,
        "snapshot_retired",
    )
    assert answer.headers["Retry-After"] == "1"


@pytest.mark.parametrize(
    ("failure", "code", "status"),
    [
        (SnapshotRetiredError("too long"), "snapshot_retired", 503),
        (RuntimeError("secret"), "internal", 500),
    ],
)
def test_an_error_on_the_way_is_the_last_event_of_a_stream(desk, client, failure, code, status):
    desk.engine.failure, desk.engine.fails_at = failure, 2
    response = client.post("/v1/search", json={"question": "x"}, headers=STREAM)
    name, body, _ = events_of(response.text)[-1]
    assert name == "problem"
    assert (body["type"].rpartition(":")[2], body["status"]) == (code, status)
    assert "secret" not in response.text
    assert searches(desk)[0].error is failure


def test_more_questions_than_may_wait_are_refused(desk):
    desk.engine.gate = threading.Event()
    desk.limits = Limits(running_searches=1, waiting_searches=0)
    server = ServerThread(create_app(desk.service()))
    url = f"http://127.0.0.1:{server.start()}/v1/search"
    try:
        with httpx.stream("POST", url, json={"question": "x"}, headers=STREAM) as response:
            assert response.status_code == 200
            refused = httpx.post(url, json={"question": "y"})
            assert refused.status_code == 429
            assert refused.headers["Retry-After"] == "2"
            desk.engine.gate.set()
            response.read()
        assert httpx.post(url, json={"question": "z"}).status_code == 200
    finally:
        server.stop()


def test_a_question_given_up_while_it_waits_makes_room_for_another(desk):
    desk.engine.gate = threading.Event()
    desk.limits = Limits(running_searches=1, waiting_searches=1)
    question = Question("x", 5)

    async def hang_up_and_ask_again():
        searches = Searches(desk.service())
        running = searches.events(question, "running")
        await anext(running)
        waiting = asyncio.create_task(anext(searches.events(question, "waiting")))
        await asyncio.sleep(0)
        with pytest.raises(ProblemError):
            await anext(searches.events(question, "refused"))
        waiting.cancel()
        await asyncio.wait([waiting])
        await asyncio.sleep(0)
        last = asyncio.create_task(anext(searches.events(question, "last")))
        desk.engine.gate.set()
        async for _ in running:
            pass
        event = await last
        searches.close()
        return event

    assert asyncio.run(hang_up_and_ask_again()).kind is EventKind.STARTED
    assert len(desk.engine.asked) == 2
    (given_up,) = [found for found in searches(desk) if found.request_id == "waiting"]
    assert given_up.stopped == "cancelled"


def asked_of(desk):
    return desk.engine.asked[-1]


def test_a_preset_names_budget_and_roles(client, desk):
    body = {"question": "The bridge?", "preset": "z500"}
    assert client.post("/v1/search", json=body).status_code == 200
    assert (asked_of(desk).budget, asked_of(desk).preset) == (500, Preset.Z500)
    clash = client.post("/v1/search", json={**body, "budget": 100})
    assert (clash.status_code, clash.json()["type"][-10:]) == (422, "bad_budget")
    assert client.post("/v1/search", json={**body, "preset": "z7"}).status_code == 422


def test_reading_times_and_amounts_may_be_switched_off(client, desk):
    client.post("/v1/search", json={"question": "The bridge?"})
    assert (asked_of(desk).window, asked_of(desk).amounts) == (True, True)
    client.post("/v1/search", json={"question": "The bridge?", "window": False, "amounts": False})
    assert (asked_of(desk).window, asked_of(desk).amounts) == (False, False)


def test_an_answer_says_how_the_words_of_its_question_were_read(client):
    body = client.post("/v1/search", json={"question": "The bridge?"}).json()
    assert body["window"] is body["counted"] is body["preset"] is None
    assert body["amounts"] == []
