"""Updates on their way: signed, in order, retried with waits, and never waited for."""

import hmac
import threading
from contextlib import closing
from dataclasses import replace
from hashlib import sha256

import pytest

from index.types import Millis
from query.standing.delivery import (
    ATTEMPTS,
    EVENT,
    SIGNATURE,
    Courier,
    DeliveryError,
    signature,
    wait_after,
)
from query.standing.store import StandingStore
from query.standing.types import Changes, Interest, StandingSettings, Terms, Update

NOW = Millis(1_772_000_000_000)


class Post:
    """A courier whose webhooks and topic the test scripts, with a clock that it sets."""

    def __init__(self, folder):
        self.now = NOW
        self.posted, self.published, self.reports = [], [], []
        self.fails = {}
        self.gates = {}
        self.store = StandingStore(folder, StandingSettings(topic=True))
        self.courier = Courier(
            self.store,
            lambda update: f"{update.id} {update.number}".encode(),
            self._post,
            self._publish,
            clock=lambda: self.now,
            observe=self.reports.append,
        )

    def _post(self, address, body, headers):
        gate = self.gates.get(address)
        if gate is not None:
            assert gate.wait(10)
        if address in self.fails:
            raise self.fails[address]
        self.posted.append((address, body, headers))

    def _publish(self, key, value):
        if "topic" in self.fails:
            raise self.fails["topic"]
        self.published.append((key, value))

    def question(self, name, webhook):
        return self.store.create(name, Terms("Why?", 10, webhook=webhook), f"key of {name}", NOW)

    def update(self, name):
        one = self.store.get(name)
        update = Update(
            name, one.updates + 1, "Why?", 1, self.now, "answered", "", (), (), Changes(),
            0, 0, 0, "offline",
        )  # fmt: skip
        state = replace(one.state, generation=1)
        self.store.asked(one, state, interest=Interest(), update=update, verdicts={}, due=False)

    def run(self):
        while self.courier.step():
            self.courier.settle(10)


@pytest.fixture
def post(tmp_path):
    made = Post(tmp_path)
    with closing(made.store):
        yield made


def test_a_webhook_gets_each_update_once_signed_and_in_order(post):
    post.question("q", "https://a.example/")
    post.update("q")
    post.update("q")
    post.run()
    assert [body for _, body, _ in post.posted] == [b"q 1", b"q 2"]
    _, body, headers = post.posted[0]
    assert headers[EVENT] == "q/1"
    stamp, _, mark = headers[SIGNATURE].partition(",")
    assert stamp == f"t={NOW // 1000}"
    expected = hmac.new(b"key of q", f"{NOW // 1000}.".encode() + body, sha256).hexdigest()
    assert mark == f"v1={expected}"
    assert post.published == [("q", b"q 1"), ("q", b"q 2")]


def test_a_signature_covers_time_body_and_secret():
    made = {
        signature(*what)
        for what in (("s", 1, b"b"), ("s", 2, b"b"), ("s", 1, b"c"), ("t", 1, b"b"))
    }
    assert len({mark.partition(",")[2] for mark in made}) == 4


def test_what_fails_is_tried_again_with_longer_waits_and_then_arrives(post):
    post.question("q", "https://a.example/")
    post.update("q")
    post.fails["https://a.example/"] = DeliveryError("answered with status 500")
    post.run()
    assert "status 500" in post.store.get("q").undelivered
    post.now += wait_after(1) - 1
    post.run()
    assert len([r for r in post.reports if r.channel == "webhook"]) == 1
    post.now += 1
    del post.fails["https://a.example/"]
    post.run()
    assert [body for _, body, _ in post.posted] == [b"q 1"]
    assert post.store.get("q").undelivered == ""
    assert [wait_after(n) for n in (1, 2, 3, 20)] == [5_000, 10_000, 20_000, 3_600_000]


def test_a_later_update_waits_for_the_one_before(post):
    post.question("q", "https://a.example/")
    post.update("q")
    post.fails["https://a.example/"] = DeliveryError("no")
    post.run()
    post.update("q")
    post.run()
    post.fails.clear()
    post.now += wait_after(1)
    post.run()
    assert [body for _, body, _ in post.posted] == [b"q 1", b"q 2"]


def test_it_is_given_up_in_the_end_and_the_topic_is_not(post):
    post.question("q", "https://a.example/")
    post.update("q")
    post.fails.update({"https://a.example/": DeliveryError("no"), "topic": DeliveryError("no")})
    for _ in range(ATTEMPTS + 3):
        post.run()
        post.now += wait_after(99)
    webhook = [r for r in post.reports if r.channel == "webhook"]
    assert len(webhook) == ATTEMPTS
    assert [r.given_up for r in webhook] == [False] * (ATTEMPTS - 1) + [True]
    assert len([r for r in post.reports if r.channel == "topic"]) == ATTEMPTS + 3
    del post.fails["topic"]
    post.run()
    assert post.published == [("q", b"q 1")]


def test_what_can_never_arrive_is_given_up_at_once(post):
    post.question("q", "https://a.example/")
    post.update("q")
    post.fails["https://a.example/"] = DeliveryError("a private address", final=True)
    post.run()
    assert "given up" in post.store.get("q").undelivered
    assert len([r for r in post.reports if r.channel == "webhook"]) == 1


def test_a_webhook_that_hangs_holds_up_nothing(post):
    gate = post.gates["https://hangs.example/"] = threading.Event()
    post.question("slow", "https://hangs.example/")
    post.question("quick", "https://quick.example/")
    post.update("slow")
    post.courier.step()
    post.update("slow")
    post.update("quick")
    for _ in range(200):
        post.courier.step()
        if len(post.posted) == 1 and len(post.published) == 3:
            break
        threading.Event().wait(0.02)
    assert [body for _, body, _ in post.posted] == [b"quick 1"]
    assert len(post.published) == 3
    gate.set()
    post.run()
    assert [body for _, body, _ in post.posted][1:] == [b"slow 1", b"slow 2"]


def test_what_was_not_delivered_is_after_a_restart(post, tmp_path):
    post.question("q", "https://a.example/")
    post.update("q")
    post.store.close()
    again = Post(tmp_path)
    with closing(again.store):
        again.run()
    assert [body for _, body, _ in again.posted] == [b"q 1"]


def test_a_removed_question_takes_its_deliveries_along(post):
    post.question("q", "https://a.example/")
    post.update("q")
    post.store.remove("q")
    post.run()
    assert post.posted == []
    assert post.published == []
