"""What is refused, and how: problems with a reason, security headers, limits, keys."""

import itertools
import json
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from index.errors import SnapshotRetiredError
from index.view import DocumentChange
from query.errors import BadFilterError
from query.service.app import create_app
from query.service.edge import SECURITY_HEADERS
from query.service.rate import Bucket, take
from query.service.service import Limits, RequestReport
from query.service.times import moment
from tests.query.service.fakes import Desk
from tests.query.service.small_index import NOW


@pytest.fixture
def desk():
    return Desk()


@pytest.fixture
def client(desk):
    with TestClient(create_app(desk.service())) as client:
        yield client


def assert_problem(response, status, code):
    assert response.headers["content-type"] == "application/problem+json"
    body = response.json()
    assert (response.status_code, body["status"]) == (status, status)
    assert body["type"] == f"urn:tidegraph:problem:{code}"
    assert body["title"]
    assert body["detail"]
    assert body["instance"] == f"urn:request:{response.headers['X-Request-Id']}"
    return body


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"question": ""}, "invalid"),
        ({"question": " \n "}, "empty_question"),
        ({"question": "x" * 2001}, "question_too_long"),
        ({"question": "x", "budget": 0}, "bad_budget"),
        ({"question": "x", "budget": -1}, "bad_budget"),
        ({"question": "x", "budget": 10**9}, "bad_budget"),
        ({"question": "x", "budget": 10**30}, "bad_budget"),
        ({"question": "x", "budget": True}, "invalid"),
        ({"question": "x", "budget": 1.5}, "invalid"),
        ({"question": "x", "mode": "magic"}, "invalid"),
        ({"question": "x", "since": "soon"}, "bad_filter"),
        ({"question": "x", "where": {"a": []}}, "invalid"),
        ({"question": "x", "qestion": "y"}, "invalid"),
        ({"question": 5}, "invalid"),
        ({}, "invalid"),
        ([], "invalid"),
    ],
)
def test_a_question_that_cannot_be_is_422_with_the_reason(client, asked, code):
    assert_problem(client.post("/v1/search", json=asked), 422, code)


@pytest.mark.parametrize(
    "where",
    [
        '{"a": 9223372036854775808}',
        '{"a": -9223372036854775809}',
        '{"a": NaN}',
        '{"a": -Infinity}',
        '{"a": 1e999}',
        json.dumps({f"n{n}": n for n in range(51)}),
    ],
)
def test_metadata_that_no_store_can_be_asked_for_is_422(client, where):
    body = f'{{"question": "x", "where": {where}}}'
    refused = client.post("/v1/search", content=body, headers={"Content-Type": "application/json"})
    assert_problem(refused, 422, "invalid")
    assert refused.json()["errors"][0]["field"].startswith("where")


def test_metadata_may_be_asked_for_up_to_the_bounds(client):
    for number in (-(1 << 63), (1 << 63) - 1, 1.5, True, None, "word"):
        asked = {"question": "x", "where": {"a": number} | {f"n{n}": n for n in range(49)}}
        assert client.post("/v1/search", json=asked).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"\xff\xfe",
        b'{"question": NaN}',
        b'{"question": "\\ud800"}',
        b"",
        b"null",
    ],
)
def test_a_body_that_is_no_question_is_422(client, body):
    response = client.post("/v1/search", content=body, headers={"Content-Type": "application/json"})
    assert response.status_code == 422
    assert response.headers["content-type"] == "application/problem+json"


def test_a_body_nested_too_deep_is_400(client):
    headers = {"Content-Type": "application/json"}
    response = client.post("/v1/search", content=b"[" * 50_000, headers=headers)
    assert_problem(response, 400, "bad_request")


def test_the_refused_field_is_named(client):
    body = client.post("/v1/search", json={"question": "x", "mode": "magic"}).json()
    assert [e["field"] for e in body["errors"]] == ["mode"]


def test_an_empty_question_is_told_in_words_of_its_own(client):
    body = client.post("/v1/search", json={"question": ""}).json()
    assert body["detail"] == "question: It is empty"


@pytest.mark.parametrize("chunked", [False, True])
def test_a_huge_body_is_413(client, chunked):
    pieces = itertools.repeat(b"x" * 1000, 100)
    body = pieces if chunked else b"x" * 100_000
    assert_problem(client.post("/v1/search", content=body), 413, "body_too_large")


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/v1/documents/none", "unknown_document"),
        ("/v1/communities/99", "unknown_community"),
        ("/v1/communities/x", "unknown_community"),
        ("/v1/communities/99999999999999999999", "unknown_community"),
        ("/v1/communities?level=9", "unknown_community"),
        ("/v1/concepts/none", "unknown_concept"),
        ("/v1/timeseries?concept=none", "unknown_concept"),
        ("/v1/nothing", "not_found"),
        ("/nothing", "not_found"),
    ],
)
def test_what_is_not_there_is_404(client, path, code):
    assert_problem(client.get(path), 404, code)


def test_a_withdrawn_document_says_so(desk, client):
    desk.index.withdrawn = (DocumentChange(8, "w", "delete", NOW, NOW, "", None),)
    assert_problem(client.get("/v1/documents/w"), 404, "document_withdrawn")


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/v1/documents?cursor=x", "bad_cursor"),
        ("/v1/documents?cursor=" + "9" * 40, "bad_cursor"),
        ("/v1/documents?limit=0", "invalid"),
        ("/v1/new?since=yesterday", "bad_filter"),
        ("/v1/new?since=1h&until=2h", "bad_filter"),
        ("/v1/timeseries?concept=ferry&interval=0h", "bad_filter"),
        ("/v1/timeseries?concept=ferry&interval=1s&since=9w", "bad_filter"),
        ("/v1/communities?order=beauty", "invalid"),
    ],
)
def test_parameters_that_cannot_be_are_422(client, path, code):
    assert_problem(client.get(path), 422, code)


def test_a_limit_is_cut_to_what_the_service_allows(desk):
    desk.limits = Limits(page_size=2)
    with TestClient(create_app(desk.service())) as client:
        assert len(client.get("/v1/documents?limit=1000000").json()["documents"]) == 2


def test_a_method_that_is_not_possible_is_405(client):
    assert_problem(client.delete("/v1/documents"), 405, "method_not_allowed")


def test_a_retired_snapshot_is_503(desk, client):
    desk.index.failure = SnapshotRetiredError("gone")
    assert_problem(client.get("/v1/documents"), 503, "snapshot_retired")


def test_what_nobody_foresaw_is_a_500_that_tells_only_the_log(desk, client):
    desk.index.failure = RuntimeError("secret")
    response = client.get("/v1/documents", headers={"X-Request-Id": "r-1"})
    assert_problem(response, 500, "internal")
    assert "secret" not in response.text
    report = desk.reports[-1]
    assert (report.request_id, report.error) == ("r-1", desk.index.failure)


def test_a_store_without_a_snapshot_is_not_ready(desk, client):
    def nothing():
        raise SnapshotRetiredError("none yet")

    desk.index.latest = nothing
    assert_problem(client.get("/readyz"), 503, "not_ready")


def test_a_flood_is_429_and_says_when_to_come_back(desk):
    desk.limits = Limits(rate=0.5, burst=3)
    with TestClient(create_app(replace(desk.service(), stopwatch=lambda: 0.0))) as client:
        assert [client.get("/v1/status").status_code for _ in range(3)] == [200] * 3
        refused = client.get("/v1/status")
        assert_problem(refused, 429, "too_many_requests")
        assert refused.headers["Retry-After"] == "2"
        assert client.get("/healthz").status_code == 200


@given(
    gaps=st.lists(st.floats(0, 5), max_size=60),
    rate=st.floats(0.1, 10),
    burst=st.integers(1, 10),
)
def test_a_bucket_never_grants_more_than_its_burst_and_rate(gaps, rate, burst):
    bucket, now, granted = None, 0.0, 0
    for gap in gaps:
        now += gap
        bucket, wait = take(bucket, now, rate, burst)
        granted += wait == 0
        assert wait == 0 or take(bucket, now + wait + 1e-6, rate, burst)[1] == 0
    assert granted <= burst + now * rate + 1e-6
    assert bucket is None or isinstance(bucket, Bucket)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"X-API-Key": "wrong"}, 401),
        ({"X-API-Key": "k2"}, 200),
        ({"Authorization": "Bearer k1"}, 200),
        ({"Authorization": "bearer k1"}, 200),
        ({"Authorization": "Basic k1"}, 401),
        ({"X-API-Key": "k1k2"}, 401),
    ],
)
def test_a_key_opens_v1(desk, headers, status):
    desk.keys = ("k1", "k2")
    with TestClient(create_app(desk.service())) as client:
        response = client.get("/v1/status", headers=headers)
        assert response.status_code == status
        if status == 401:
            assert_problem(response, 401, "key_needed")
            assert response.headers["WWW-Authenticate"] == "Bearer"
        assert client.get("/").status_code == client.get("/healthz").status_code == 200


def test_another_host_name_is_refused(desk):
    """A foreign page that rebinds its name to loopback still sends its own name."""
    desk.hosts = ("127.0.0.1", "localhost")
    with TestClient(create_app(desk.service())) as client:
        assert client.get("/v1/status", headers={"Host": "localhost:8000"}).status_code == 200
        evil = client.get("/v1/status", headers={"Host": "evil.example"})
        assert_problem(evil, 421, "foreign_host")


@pytest.mark.parametrize("path", ["/", "/app.js", "/v1/status", "/v1/nothing", "/metrics"])
def test_every_response_has_the_security_headers(client, path):
    headers = client.get(path).headers
    assert {name: headers[name] for name in SECURITY_HEADERS} == dict(SECURITY_HEADERS)
    policy = headers["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy


@pytest.mark.parametrize("given_id", ["abc-1", "", "x" * 65, "a b", "a\tb"])
def test_a_request_id_is_kept_or_made(desk, client, given_id):
    response = client.get("/v1/status", headers={"X-Request-Id": given_id})
    kept = response.headers["X-Request-Id"]
    assert kept == given_id if given_id == "abc-1" else len(kept) == 32
    assert desk.reports[-1].request_id == kept


def test_requests_are_reported_by_route_and_not_by_address(desk, client):
    client.get("/v1/documents/harbour/1")
    client.get("/whatever/somebody/types")
    routes = [r.route for r in desk.reports if isinstance(r, RequestReport)]
    assert routes == ["/v1/documents/{document_id:path}", ""]


@pytest.mark.parametrize("since", ["999999w", "0001-01-01T00:00:00+14:00", "1969-12-31"])
def test_a_moment_however_early_can_be_told_again(client, since):
    assert client.get("/v1/new", params={"since": since}).status_code == 200


@given(st.text(max_size=30))
def test_any_text_is_a_moment_or_a_reason(text):
    with suppress(BadFilterError):
        moment(text, NOW)
