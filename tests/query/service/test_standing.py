"""Standing questions over HTTP: kept, changed, removed, and told as events."""

import json
import threading
from contextlib import closing, contextmanager
from dataclasses import replace

import httpx
import pytest
from fastapi.testclient import TestClient

from index.types import Millis
from query.service.app import create_app
from query.service.models_standing import update_json
from query.service.server import ServerThread
from query.standing.store import StandingStore
from query.standing.types import (
    BadWebhookError,
    Changes,
    Interest,
    StandingSettings,
    Told,
    Update,
    day_of,
)
from query.types import Citation
from tests.query.service.fakes import Desk

NOW = Millis(1_772_000_000_000)
ASKED = {"question": "What happened with the harbour bridge?"}


def refuse_private(address):
    if "10.0.0.1" in address:
        raise BadWebhookError("10.0.0.1 is a private address")


@pytest.fixture
def store(tmp_path):
    with closing(StandingStore(tmp_path, StandingSettings(most=3))) as made:
        yield made


@pytest.fixture
def app(store):
    return create_app(replace(Desk().service(), standing=store, check_webhook=refuse_private))


@pytest.fixture
def client(app):
    with TestClient(app) as made:
        yield made


def told(store, name, text="The bridge is closed.", number=None):
    """Keep an update as an asking would."""
    one = store.get(name)
    source = Citation("d", "c", 0, len(text), text, "Bridge", "Wire", "", None, NOW)
    claim = Told(text, (source,))
    update = Update(
        name, one.updates + 1, one.terms.question, 1, NOW, "answered", text, (source,), (claim,),
        Changes(added=(claim,)), 1, 0, 0, "offline",
    )  # fmt: skip
    state = replace(one.state, claims=(claim,), generation=1, asked_at=NOW)
    store.asked(one, state, interest=Interest(), update=update, verdicts={}, due=False)
    return update


def made(client, **more):
    response = client.post("/v1/standing", json={**ASKED, **more})
    assert response.status_code == 201, response.text
    return response.json()


def test_it_is_created_listed_paused_resumed_and_removed(client):
    one = made(client, since="7d", source=["Wire"], tests_a_day=5)
    assert (one["paused"], one["updates"], one["tests_a_day"], one["secret"]) == (
        False,
        0,
        5,
        None,
    )
    listed = client.get("/v1/standing").json()
    assert (listed["available"], listed["most"]) == (True, 3)
    assert [found["id"] for found in listed["standing"]] == [one["id"]]
    path = f"/v1/standing/{one['id']}"
    assert client.patch(path, json={"paused": True}).json()["paused"] is True
    assert client.patch(path, json={"paused": False}).json()["paused"] is False
    assert client.delete(path).status_code == 204
    for gone in (client.get(path), client.delete(path), client.patch(path, json={"paused": True})):
        assert gone.status_code == 404
        assert gone.json()["type"].endswith("unknown_standing")


@pytest.mark.parametrize("where", [{"a": 1 << 63}, {f"n{n}": n for n in range(51)}])
def test_metadata_that_no_store_can_be_asked_for_is_refused(client, where):
    refused = client.post("/v1/standing", json={**ASKED, "where": where})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"].startswith("where")


def test_it_is_kept_as_it_was_asked(client, store):
    one = made(client, preset="z500", window=False, amounts=False, mode="lazy", where={"a": 1})
    terms = store.get(one["id"]).terms
    assert (terms.budget, terms.preset, terms.window, terms.amounts, terms.where) == (
        500,
        "z500",
        False,
        False,
        {"a": 1},
    )
    assert (one["preset"], one["window"], one["where"]) == ("z500", False, {"a": 1})


@pytest.mark.parametrize(("earlier", "tests"), [(0, 7), (24 * 3600 * 1000, 0)])
def test_the_tests_of_another_day_are_not_told_as_of_today(client, store, earlier, tests):
    one = store.get(made(client)["id"])
    state = replace(one.state, day=day_of(NOW - earlier), spent=7)
    store.asked(one, state, interest=None, update=None, verdicts={}, due=False)
    assert client.get(f"/v1/standing/{one.id}").json()["tests_today"] == tests


def test_the_secret_of_a_webhook_is_told_once(client):
    one = made(client, webhook="https://hooks.example/x")
    assert len(one["secret"]) == 64
    assert one["secret"] not in client.get("/v1/standing").text


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"question": " "}, "empty_question"),
        ({"budget": 0}, "bad_budget"),
        ({"since": "soon"}, "bad_filter"),
        ({"webhook": "http://10.0.0.1/"}, "bad_webhook"),
        ({"surplus": 1}, "invalid"),
        ({"tests_a_day": "many"}, "invalid"),
    ],
)
def test_what_cannot_stand_is_refused(client, more, code):
    response = client.post("/v1/standing", json={**ASKED, **more})
    assert response.status_code == 422
    assert response.json()["type"].endswith(code)
    assert client.get("/v1/standing").json()["standing"] == []


def test_there_are_no_more_than_allowed(client):
    for _ in range(3):
        made(client)
    refused = client.post("/v1/standing", json=ASKED)
    assert (refused.status_code, refused.json()["type"].rpartition(":")[2]) == (
        422,
        "too_many_standing",
    )


def test_updates_are_listed_from_a_number_on(client, store):
    name = made(client)["id"]
    for text in ("One.", "Two.", "Three."):
        told(store, name, text)
    found = client.get(f"/v1/standing/{name}/updates", params={"after": 1}).json()["updates"]
    assert [update["number"] for update in found] == [2, 3]
    assert found[0]["changes"]["added"][0]["sources"][0]["document_id"] == "d"
    shown = client.get(f"/v1/standing/{name}").json()
    assert (shown["updates"], shown["claims"][0]["text"]) == (3, "Three.")


def test_a_service_without_them_says_so():
    with TestClient(create_app(Desk().service())) as client:
        assert client.get("/v1/standing").json() == {
            "available": False,
            "most": 0,
            "standing": [],
        }
        refused = client.post("/v1/standing", json=ASKED)
        assert refused.status_code == 503
        assert refused.json()["type"].endswith("standing_unavailable")


@contextmanager
def listening(app, name, last=None):
    """The events of a stream, as they come."""
    server = ServerThread(app, grace_seconds=1)
    url = f"http://127.0.0.1:{server.start()}/v1/standing/{name}/events"
    headers = {} if last is None else {"Last-Event-ID": last}
    try:
        with httpx.stream("GET", url, headers=headers, timeout=20) as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            yield _events(response.iter_lines())
    finally:
        server.stop()


def _events(lines):
    event = {}
    for line in lines:
        if line and not line.startswith(":"):
            field, _, value = line.partition(": ")
            event[field] = value
        elif event:
            yield event
            event = {}


def test_events_are_those_kept_then_those_that_come_until_it_is_removed(app, client, store):
    name = made(client)["id"]
    first = told(store, name, "One.")
    with listening(app, name) as events:
        found = next(events)
        assert (found["id"], found["event"]) == ("1", "update")
        assert json.loads(found["data"]) == json.loads(update_json(first))
        threading.Timer(0.2, told, (store, name, "Two.")).start()
        assert next(events)["id"] == "2"
        store.remove(name)
        assert next(events)["event"] == "removed"
        assert list(events) == []


@pytest.mark.parametrize(("last", "first"), [("1", "2"), ("0", "1"), ("x", "1"), ("-1", "1")])
def test_a_reader_that_comes_back_misses_nothing(app, client, store, last, first):
    name = made(client)["id"]
    for text in ("One.", "Two.", "Three."):
        told(store, name, text)
    with listening(app, name, last) as events:
        assert next(events)["id"] == first


def test_streams_end_with_the_store(app, client, store):
    name = made(client)["id"]
    told(store, name)
    with listening(app, name) as events:
        next(events)
        store.close()
        assert list(events) == []
