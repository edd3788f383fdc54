"""Updates delivered to a topic and to webhooks: signed, retried, and never waited for."""

import hmac
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256

from index.types import Millis
from query.standing.store import Delivery, StandingStore
from query.standing.types import Channel, StandingStoreError, Update

SIGNATURE = "Tidegraph-Signature"
"""Header: ``t=SECONDS,v1=HEX``, HMAC-SHA256 of ``SECONDS.BODY`` under the question's secret."""
EVENT = "Tidegraph-Event"
"""Header: question's id, a slash and the update's number; the same for each attempt."""

FIRST_WAIT = 5_000
LONGEST_WAIT = 3_600_000
ATTEMPTS = 15
"""Waits of 5 s, doubled to an hour: half a day in all, then an update is given up."""
AT_ONCE = 16
"""Webhooks under way at once."""

Post = Callable[[str, bytes, Mapping[str, str]], None]
"""Sends a body to an address; raises ``DeliveryError``. Must bound its own time."""
Publish = Callable[[str, bytes], None]
"""Publishes a value under a key to the topic; raises ``DeliveryError``."""
Body = Callable[[Update], bytes]


class DeliveryError(Exception):
    """An update did not arrive; ``final`` where trying again is of no use."""

    def __init__(self, message: str, *, final: bool = False) -> None:
        super().__init__(message)
        self.final = final


@dataclass(frozen=True, slots=True)
class DeliveryReport:
    """One attempt. ``problem`` is "" where the update arrived, ``given_up`` ends its attempts."""

    id: str
    number: int
    channel: str
    attempt: int
    problem: str
    given_up: bool


def signature(secret: str, seconds: int, body: bytes) -> str:
    """The value of the header ``Tidegraph-Signature``."""
    signed = hmac.new(secret.encode(), f"{seconds}.".encode() + body, sha256)
    return f"t={seconds},v1={signed.hexdigest()}"


def wait_after(attempts: int) -> int:
    """Milliseconds before the next attempt, after so many in vain."""
    return min(LONGEST_WAIT, FIRST_WAIT << min(max(attempts - 1, 0), 20))


class Courier:
    """Delivers what the store holds. ``step`` belongs to one thread and never waits.

    Each attempt runs in a thread of its own, one at a time for a webhook and one for the topic,
    so that updates of a question arrive in order and one that hangs holds up no other.

    Args:
        store: Holds what is to be delivered.
        body: An update as it is sent.
        post: Sends to a webhook.
        publish: Publishes to the topic.
        clock: Milliseconds since 1970.
        observe: Is told each attempt, from any thread.
    """

    def __init__(
        self,
        store: StandingStore,
        body: Body,
        post: Post,
        publish: Publish,
        *,
        clock: Callable[[], Millis],
        observe: Callable[[DeliveryReport], None] = lambda _: None,
    ) -> None:
        self._store = store
        self._body = body
        self._post = post
        self._publish = publish
        self._clock = clock
        self._observe = observe
        self._lock = threading.Lock()
        self._under_way: dict[str, threading.Thread] = {}

    def step(self) -> int:
        """Begin what is due and has room; returns how many attempts are under way."""
        for delivery in self._store.deliveries(self._clock()):
            topic = delivery.channel is Channel.TOPIC
            lane = "" if topic else delivery.update.id
            with self._lock:
                full = not topic and len(self._under_way) >= AT_ONCE
                if lane in self._under_way or full:
                    continue
                thread = threading.Thread(
                    target=self._attempt, args=(lane, delivery), name="delivery", daemon=True
                )
                self._under_way[lane] = thread
            thread.start()
        with self._lock:
            return len(self._under_way)

    def settle(self, seconds: float) -> None:
        """Wait for the attempts under way, at most so long for each."""
        with self._lock:
            threads = list(self._under_way.values())
        for thread in threads:
            thread.join(seconds)

    def _attempt(self, lane: str, delivery: Delivery) -> None:
        try:
            problem, final = "", False
            try:
                self._send(delivery)
            except DeliveryError as error:
                problem, final = str(error), error.final
            self._settled(delivery, problem, final=final)
        except StandingStoreError:
            return  # closed meanwhile: what was not struck off is sent again after the next start
        finally:
            with self._lock:
                self._under_way.pop(lane, None)

    def _send(self, delivery: Delivery) -> None:
        body = self._body(delivery.update)
        if delivery.channel is Channel.TOPIC:
            self._publish(delivery.update.id, body)
            return
        seconds = self._clock() // 1000
        headers = {
            "Content-Type": "application/json",
            SIGNATURE: signature(delivery.secret, seconds, body),
            EVENT: f"{delivery.update.id}/{delivery.update.number}",
        }
        self._post(delivery.webhook, body, headers)

    def _settled(self, delivery: Delivery, problem: str, *, final: bool) -> None:
        attempt = delivery.attempts + 1
        # A topic is ours: it is waited for as long as its update is kept.
        last = final or (attempt >= ATTEMPTS and delivery.channel is Channel.WEBHOOK)
        if problem and not last:
            next_at = Millis(self._clock() + wait_after(attempt))
            self._store.deferred(delivery, next_at, f"{delivery.channel}: {problem}")
        else:
            given_up = f"{delivery.channel}: {problem}; update {delivery.update.number} given up"
            self._store.delivered(delivery, problem=given_up if problem else "")
        self._observe(
            DeliveryReport(
                delivery.update.id,
                delivery.update.number,
                delivery.channel.value,
                attempt,
                problem,
                bool(problem) and last,
            )
        )
