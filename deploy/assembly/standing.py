"""Standing questions from settings: their store, the threads that run them, their deliveries."""

import ipaddress
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass

import httpcore
import httpx

from deploy.assembly import streams
from deploy.assembly.models import judge
from deploy.errors import UsageError
from deploy.process import release
from deploy.settings import Settings
from index.types import Millis
from index.view import SnapshotSource
from query.language import Language
from query.service.models_standing import update_json
from query.standing.delivery import Courier, DeliveryError, DeliveryReport
from query.standing.runner import AskedReport, Asks, Runner
from query.standing.store import StandingStore
from query.standing.types import BadWebhookError, StandingSettings
from stream.errors import FeedError, StreamError
from stream.feeds.addresses import GuardedBackend, Resolve, checked_url, is_public, resolved
from stream.source import Message

LOOK_EVERY = 0.2
"""Seconds between two looks for a generation, and for what is to be delivered."""
_LONGEST_PAUSE = 60.0
_SETTING = "standing_allow_private"
_FIRST_GOOD, _FIRST_OTHER = 200, 300
_GONE = 410

Observe = Callable[[AskedReport | DeliveryReport], None]
Problem = Callable[[str], None]


def check(settings: Settings) -> None:
    """Raises ``UsageError`` where updates would be read again as documents."""
    if settings.standing_topic and settings.standing_topic in (
        settings.topic,
        settings.dead_letter_topic,
    ):
        raise UsageError(f"standing_topic is {settings.standing_topic!r}, which holds other things")


@contextmanager
def kept(settings: Settings) -> Iterator[StandingStore]:
    """The standing questions of a data directory."""
    bounds = StandingSettings(
        most=settings.standing_max,
        history=settings.standing_history,
        every=settings.standing_every,
        topic=bool(settings.standing_topic),
    )
    with closing(StandingStore(settings.data, bounds)) as store:
        yield store


def webhooks(settings: Settings, resolve: Resolve = resolved) -> Callable[[str], None]:
    """Raises ``BadWebhookError`` for an address that would be refused; see ``Poster``.

    A name that cannot be resolved now may be later, and is looked at again at each post.
    """

    def checked(address: str) -> None:
        try:
            url = checked_url(address)
        except FeedError as error:
            raise BadWebhookError(str(error)) from None
        if settings.standing_allow_private:
            return
        try:
            addresses = [str(ipaddress.ip_address(url.host))]
        except ValueError:
            try:
                addresses = list(resolve(url.host, url.port or 443))
            except (OSError, UnicodeError):
                return
        if not any(is_public(one) for one in addresses):
            raise BadWebhookError(f"{url.host} is a private address; {_SETTING} allows those")

    return checked


@dataclass(frozen=True, slots=True)
class Poster:
    """Posts to webhooks within limits of time and address; follows no redirect.

    ``seconds`` bounds a post in all; ``clock`` is monotonic.
    """

    seconds: float
    allow_private: bool
    clock: Callable[[], float] = time.monotonic
    resolve: Resolve = resolved

    def __call__(self, address: str, body: bytes, headers: Mapping[str, str]) -> None:
        """See ``query.standing.delivery.Post``."""
        ends = self.clock() + self.seconds
        backend = GuardedBackend(
            lambda: ends - self.clock(),
            allow_private=self.allow_private,
            resolve=self.resolve,
            setting=_SETTING,
        )
        try:
            url = checked_url(address)
            with httpcore.ConnectionPool(
                ssl_context=ssl.create_default_context(), network_backend=backend
            ) as pool:
                status = self._posted(pool, url, body, headers)
        except FeedError as error:
            raise DeliveryError(str(error), final=True) from error
        except httpcore.TimeoutException as error:
            raise DeliveryError(f"no answer within {self.seconds:g} s") from error
        except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
            raise DeliveryError(f"{url.host} cannot be reached: {error}") from error
        if not _FIRST_GOOD <= status < _FIRST_OTHER:
            raise DeliveryError(f"answered with status {status}", final=status == _GONE)

    def _posted(
        self,
        pool: httpcore.ConnectionPool,
        url: httpx.URL,
        body: bytes,
        headers: Mapping[str, str],
    ) -> int:
        """The status of the response; its body is not read."""
        target = httpcore.URL(
            scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
        )
        sent: dict[bytes | str, bytes | str] = {"User-Agent": f"tidegraph/{release()}"}
        sent.update(headers.items())
        wait = dict.fromkeys(("connect", "read", "write", "pool"), self.seconds)
        with pool.stream(
            "POST",
            target,
            headers=sent,
            content=body,
            extensions={"timeout": wait},
        ) as response:
            return int(response.status)


def _publisher(settings: Settings) -> Callable[[str, bytes], None]:
    """Publishes an update; opens the producer for it, since updates are few."""

    def publish(key: str, value: bytes) -> None:
        try:
            with streams.producer(settings) as producer:
                producer.publish(settings.standing_topic, [Message(key.encode(), value)])
        except StreamError as error:
            raise DeliveryError(str(error)) from error

    return publish


def wall_clock() -> Millis:
    """Milliseconds since 1970."""
    return Millis(time.time_ns() // 1_000_000)


@contextmanager
def running(
    settings: Settings,
    store: StandingStore,
    source: SnapshotSource,
    asks: Asks,
    language: Language,
    *,
    observe: Observe,
    failed: Problem,
) -> Iterator[None]:
    """Run the standing questions while it is entered, where no other process does.

    On leaving the store is closed, which also ends the event streams that read from it. What
    goes wrong is told to ``failed`` and tried again; it never ends the process.
    """
    runner = Runner(store, source, asks, language, clock=wall_clock, judge=judge(settings))
    courier = Courier(
        store,
        update_json,
        Poster(settings.standing_timeout, settings.standing_allow_private),
        _publisher(settings),
        clock=wall_clock,
        observe=observe,
    )
    stop = threading.Event()

    def ask() -> float:
        began = time.monotonic()
        report = runner.step()
        if report is None:
            return LOOK_EVERY
        observe(report)
        took = time.monotonic() - began
        return min(_LONGEST_PAUSE, took * (1 / settings.standing_share - 1))

    def deliver() -> float:
        if store.leased:
            courier.step()
        return LOOK_EVERY

    threads = [
        threading.Thread(target=_repeated, args=(work, stop, failed), name=name)
        for name, work in (("standing", ask), ("courier", deliver))
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        courier.settle(1.0)
        store.close()


def _repeated(work: Callable[[], float], stop: threading.Event, failed: Problem) -> None:
    """Work until it is to stop, with the pauses that it asks for; longer ones after a failure."""
    wait = LOOK_EVERY
    while not stop.wait(wait):
        try:
            wait = work()
        except Exception as error:  # noqa: BLE001  told, and tried again after a while
            failed(str(error) or type(error).__name__)
            wait = min(_LONGEST_PAUSE, max(wait, 1.0) * 2)
