"""What every route answers, over the small index."""

from dataclasses import replace

import numpy as np
import pytest
from starlette.testclient import TestClient

from index.view import DocumentChange
from query.service.app import create_app
from tests.query.service.fakes import Desk
from tests.query.service.small_index import ITEMS, NOW, FakeIndex, Item


@pytest.fixture
def desk():
    return Desk()


@pytest.fixture
def client(desk):
    with TestClient(create_app(desk.service())) as client:
        yield client


def test_documents_come_newest_first_in_pages_that_a_cursor_joins(client):
    first = client.get("/v1/documents", params={"limit": 3}).json()
    second = client.get("/v1/documents", params={"limit": 3, "cursor": first["next"]}).json()
    ids = [d["document_id"] for d in first["documents"] + second["documents"]]
    assert ids == [item.id for item in reversed(ITEMS)]
    assert second["next"] is None


def test_a_cursor_stays_good_while_documents_come_and_go(desk, client):
    """It names the last document seen, not a place in a list that moves."""
    first = client.get("/v1/documents?limit=2").json()
    desk.index.grow(replace(ITEMS[0], id="harbour/9"))
    rest = client.get("/v1/documents", params={"cursor": first["next"]}).json()
    assert [d["document_id"] for d in rest["documents"]] == ["harbour/2", "harbour/1"]
    beyond = client.get("/v1/documents", params={"cursor": "0"}).json()
    assert (beyond["documents"], beyond["next"]) == ([], None)


def test_times_are_iso_in_utc(client):
    listed = client.get("/v1/documents").json()["documents"][0]
    assert listed["observed_at"] == "2026-02-25T05:13:20Z"


def test_documents_of_one_source_alone(client):
    found = client.get("/v1/documents", params={"source": "Port Wire"}).json()
    assert [d["document_id"] for d in found["documents"]] == ["harbour/2"]


def test_a_document_is_found_by_an_id_with_a_slash_and_tells_its_sentences(client):
    found = client.get("/v1/documents/harbour/1").json()
    spans = found["chunks"][0]["sentences"]
    assert [found["text"][s["start"] : s["end"]] for s in spans] == [
        "Inspectors closed the harbour bridge on Monday.",
        "A crack was found in the second span.",
    ]
    assert found["metadata"] == {"desk": "test"}


def test_status_names_what_the_command_line_promises(client):
    body = client.get("/v1/status").json()
    assert body["communities"] == {"0": 2}
    assert body["modularity"] == {"0": 0.5}
    assert body["positions"] == [{"topic": "documents", "partition": 0, "offset": 4}]
    assert (body["lag"], body["freshness_seconds"]) == (5, 0.25)


@pytest.mark.parametrize(("order", "first"), [("size", "1"), ("growth", "2")])
def test_communities_by_size_and_by_growth(client, order, first):
    found = client.get("/v1/communities", params={"order": order, "limit": 1}).json()
    assert [c["id"] for c in found["communities"]] == [first]
    assert found["count"] == 2


def test_a_communitys_timeline_counts_its_documents(client):
    found = client.get("/v1/communities").json()["communities"][0]
    assert sum(found["timeline"]["documents"]) == found["documents"] == 2
    assert len(found["timeline"]["documents"]) <= 24


def test_a_community_tells_its_documents_sources_and_withdrawals(desk, client):
    concept = desk.index.snapshot.vocabulary.number("ferry")
    desk.index.withdrawn = (
        DocumentChange(
            8, "harbour/gone", "delete", NOW, NOW, "Port Wire", np.array([concept], np.int32)
        ),
        DocumentChange(8, "harbour/2", "edit", NOW, NOW, "Port Wire", np.zeros(0, np.int32)),
    )
    told = client.get("/v1/communities/1").json()
    changes = [(d["document_id"], d["change"]) for d in told["documents"]]
    assert changes == [("harbour/gone", "delete"), ("harbour/2", "edit"), ("harbour/1", "insert")]
    assert (told["edits"], told["withdrawals"], told["document_count"]) == (1, 1, 3)
    assert {s["source"]: s["documents"] for s in told["sources"]} == {
        "City Desk": 1,
        "Port Wire": 1,
    }


def test_a_withdrawal_of_another_story_is_not_told(desk, client):
    concept = desk.index.snapshot.vocabulary.number("frost")
    desk.index.withdrawn = (
        DocumentChange(8, "v/9", "delete", NOW, NOW, "x", np.array([concept], np.int32)),
    )
    assert client.get("/v1/communities/1").json()["withdrawals"] == 0


def test_concepts_are_found_by_prefix_the_most_frequent_first(client):
    found = client.get("/v1/concepts", params={"prefix": "F"}).json()["concepts"]
    assert [c["key"] for c in found] == ["ferry", "frost"]
    assert client.get("/v1/concepts/harbour bridge").json()["frequency"] == 2


def test_sources_are_counted_for_the_filters(client):
    found = client.get("/v1/sources").json()["sources"]
    assert {"source": "City Desk", "documents": 1} in found
    assert len(found) == 4


def test_new_takes_spans_and_moments(client):
    found = client.get("/v1/new", params={"about": "ferry", "since": "2h"}).json()
    assert (found["since"], found["matched"]) == ("2026-02-25T04:13:20Z", ["Ferry"])
    exact = client.get("/v1/new", params={"since": "2026-02-01"}).json()
    assert exact["since"] == "2026-02-01T00:00:00Z"


def test_timeseries_gives_flat_rows(client):
    found = client.get("/v1/timeseries", params={"concept": "ferry", "interval": "1d"}).json()
    assert found["rows"] == [
        {"start": "2026-02-20T00:00:00Z", "documents": 2, "edits": 1, "withdrawals": 0}
    ]


def test_health_readiness_and_metrics(client):
    assert client.get("/healthz").text == "alive\n"
    assert client.get("/readyz").text == "ready: generation 8, lag 5\n"
    metrics = client.get("/metrics")
    assert "tidegraph_up 1" in metrics.text
    assert metrics.headers["content-type"].startswith("text/plain; version=0.0.4")


def test_a_tag_holds_until_the_next_generation(desk, client):
    tag = client.get("/v1/documents").headers["ETag"]
    again = client.get("/v1/documents", headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    desk.index.grow(replace(ITEMS[0], id="harbour/3"))
    fresh = client.get("/v1/documents", headers={"If-None-Match": tag})
    assert fresh.status_code == 200
    assert fresh.headers["ETag"] != tag


def test_another_process_never_confirms_the_tag_of_this_one(desk, client):
    """Another store may count the same generations."""
    tag = client.get("/v1/documents").headers["ETag"]
    later = replace(desk.service(), clock=lambda: NOW + 1)
    with TestClient(create_app(later)) as other:
        assert other.get("/v1/documents", headers={"If-None-Match": tag}).status_code == 200


def test_what_depends_on_the_clock_has_no_tag(client):
    assert "ETag" not in client.get("/v1/new").headers
    assert client.get("/v1/status").headers["Cache-Control"] == "no-store"


def test_an_empty_index_answers_every_list():
    index = FakeIndex(())
    with TestClient(create_app(Desk(index=index).service())) as client:
        for path in ("documents", "communities", "concepts", "sources"):
            assert client.get(f"/v1/{path}").json()[path] == []


def test_one_wrong_date_does_not_flatten_the_timelines():
    items = [replace(ITEMS[0], id=str(n), hours=n / 10) for n in range(200)]
    index = FakeIndex((*items, Item("old", "", "x", "s", ("harbour bridge",), 1, 300_000)))
    with TestClient(create_app(Desk(index=index).service())) as client:
        timeline = client.get("/v1/communities").json()["communities"][0]["timeline"]
    assert timeline["interval_seconds"] == 3600
    assert sum(timeline["documents"]) >= 195
