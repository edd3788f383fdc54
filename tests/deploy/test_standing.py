"""Standing questions put together: webhooks by real requests, and the commands as processes."""

import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

import httpx
import pytest

from deploy.assembly import standing
from deploy.assembly.standing import Poster
from deploy.errors import UsageError
from deploy.settings import Settings
from query.standing.delivery import EVENT, SIGNATURE, DeliveryError, signature
from query.standing.types import BadWebhookError
from tests.deploy.test_processes import Background, tidegraph, told
from tests.loopback import loopback


class Hook(BaseHTTPRequestHandler):
    """Notes what is posted; answers with the server's status, late where it is to hang."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((dict(self.headers), body))
        self.server.gate.wait(5)
        status = self.server.statuses.pop(0) if self.server.statuses else 204
        self.send_response(status)
        if status == 302:
            self.send_header("Location", self.server.url)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@contextmanager
def hook(*statuses, hangs=False):
    with loopback(Hook) as server:
        server.got, server.statuses, server.gate = [], list(statuses), threading.Event()
        server.url += "/hook"
        if not hangs:
            server.gate.set()
        try:
            yield server
        finally:
            server.gate.set()


def at(address):
    """Where every name resolves to."""
    return lambda _host, _port: [address]


def poster(**more):
    return Poster(**{"seconds": 5.0, "allow_private": True, **more})


def test_a_post_carries_its_headers_and_body():
    with hook() as server:
        poster()(server.url, b'{"a": 1}', {SIGNATURE: "t=1,v1=x"})
        ((headers, body),) = server.got
    assert (headers[SIGNATURE], body) == ("t=1,v1=x", b'{"a": 1}')
    assert headers["User-Agent"].startswith("tidegraph/")


@pytest.mark.parametrize(
    ("status", "final"), [(500, False), (404, False), (302, False), (410, True)]
)
def test_another_status_is_a_failure_and_redirects_are_not_followed(status, final):
    with hook(status) as server, pytest.raises(DeliveryError, match=str(status)) as refused:
        poster()(server.url, b"", {})
    assert refused.value.final is final
    assert len(server.got) == 1


def test_a_webhook_that_hangs_is_left():
    with hook(hangs=True) as server, pytest.raises(DeliveryError, match="no answer within"):
        poster(seconds=0.3)(server.url, b"", {})


def test_nobody_there_is_a_failure_that_may_pass():
    with pytest.raises(DeliveryError, match="cannot be reached") as refused:
        poster()("http://127.0.0.1:9/", b"", {})
    assert not refused.value.final


def test_an_internal_address_is_never_posted_to():
    """Checked at the connection: a public name may resolve to it."""
    inside = poster(allow_private=False, resolve=at("127.0.0.1"))
    with hook() as server:
        address = server.url.replace("127.0.0.1", "public.example")
        with pytest.raises(DeliveryError, match="standing_allow_private") as refused:
            inside(address, b"", {})
        assert server.got == []
    assert refused.value.final


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("http://127.0.0.1/x", "private"),
        ("http://[::1]/x", "private"),
        ("http://169.254.169.254/latest", "private"),
        ("http://inside.example/", "private"),
        ("ftp://a.example/", "http"),
        ("https://user:pass@a.example/", "password"),
        ("nonsense", "http"),
    ],
)
def test_such_a_webhook_cannot_be_given(tmp_path, address, says):
    check = standing.webhooks(Settings(data=tmp_path), at("10.0.0.7"))
    with pytest.raises(BadWebhookError, match=says):
        check(address)


def test_public_and_unknown_names_can_and_private_ones_where_a_setting_allows(tmp_path):
    def nobody(host, port):
        raise OSError("no such name")

    standing.webhooks(Settings(data=tmp_path), at("93.184.215.14"))("http://a.b/")
    standing.webhooks(Settings(data=tmp_path), nobody)("http://later.example/")
    standing.webhooks(Settings(data=tmp_path, standing_allow_private=True))("http://127.0.0.1/")


@pytest.mark.parametrize("name", ["documents", "dead"])
def test_updates_never_go_where_documents_or_dead_letters_go(name):
    with pytest.raises(UsageError, match="standing_topic"):
        standing.check(Settings(standing_topic=name, dead_letter_topic="dead"))


STRIKE = {"id": "s", "title": "Harbour", "text": "Inspector Ada Moss praised the harbour board."}


def follow(url, name, last=0):
    """The updates of a question from its event stream, in a list that grows."""
    found = []

    def read():
        with httpx.stream(
            "GET",
            f"{url}/v1/standing/{name}/events",
            headers={"Last-Event-ID": str(last)},
            timeout=300,
        ) as response:
            found.extend(
                json.loads(line.removeprefix("data: "))
                for line in response.iter_lines()
                if line.startswith("data: {")
            )

    def guarded():
        try:
            read()
        except httpx.HTTPError:
            return  # the service ended

    threading.Thread(target=guarded, daemon=True).start()
    return found


def until(holds, log):
    deadline = time.monotonic() + 180
    while not holds():
        assert time.monotonic() < deadline, log.read_text("utf-8")[-4000:]
        time.sleep(0.1)


def publish(place, document):
    (place / "more.jsonl").write_text(json.dumps(document) + "\n", "utf-8")
    done = tidegraph("produce", "more.jsonl", cwd=place)
    assert done.returncode == 0, done.stderr


def start(place):
    return Background(
        "run", "--port", "0", "--set", "standing_every=0", "--set", "standing_allow_private=true",
        "--set", "standing_topic=updates", cwd=place,
    )  # fmt: skip


@pytest.mark.timeout(600)
def test_a_question_stands_over_documents_deletions_and_a_restart(tmp_path):
    """Made at the terminal; told as events, to a webhook and to a topic."""
    with hook() as server:
        running = start(tmp_path)
        try:
            url = running.url()
            made = told(
                "standing", "add", "Who praised the harbour board?", "--webhook", server.url,
                cwd=tmp_path,
            )  # fmt: skip
            events = follow(url, made["id"])
            publish(tmp_path, STRIKE)
            until(lambda: events and events[-1]["claims"], running.log)
            added = events[-1]["changes"]["added"]
            assert [claim["text"] for claim in added] == [STRIKE["text"]]
            assert added[0]["sources"][0]["document_id"] == "s"
            publish(tmp_path, {"id": "s", "op": "delete"})
            until(lambda: events[-1]["changes"]["withdrawn"], running.log)
            assert events[-1]["changes"]["withdrawn"] == added
            count = len(events)
            until(lambda: len(server.got) == count, running.log)
        finally:
            assert running.stop() == 0
        for number, (headers, body) in enumerate(server.got, start=1):
            assert json.loads(body) == events[number - 1]
            assert headers[EVENT] == f"{made['id']}/{number}"
            seconds = int(headers[SIGNATURE].partition(",")[0].removeprefix("t="))
            assert headers[SIGNATURE] == signature(made["secret"], seconds, body)
        running = start(tmp_path)
        try:
            url = running.url()
            (listed,) = told("standing", "list", cwd=tmp_path)
            assert (listed["id"], listed["updates"]) == (made["id"], count)
            events = follow(url, made["id"], last=count)
            publish(tmp_path, {**STRIKE, "id": "t"})
            until(lambda: events, running.log)
            assert events[0]["number"] == count + 1
            assert events[0]["changes"]["added"][0]["sources"][0]["document_id"] == "t"
            assert tidegraph("standing", "pause", made["id"], cwd=tmp_path).returncode == 0
            assert told("standing", "show", made["id"], cwd=tmp_path)["paused"] is True
            assert tidegraph("standing", "remove", made["id"], cwd=tmp_path).returncode == 0
            assert told("standing", "list", cwd=tmp_path) == []
            missing = tidegraph("standing", "show", made["id"], cwd=tmp_path)
            assert (missing.returncode, missing.stderr.startswith("error: ")) == (2, True)
        finally:
            assert running.stop() == 0
