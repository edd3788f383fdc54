"""Feeds from settings: the list, and the thread that polls it."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime

from deploy.assembly.streams import Origin, pause, producer
from deploy.errors import UsageError
from deploy.process import release
from deploy.settings import Settings
from stream.errors import FeedError
from stream.feeds.addresses import checked_url
from stream.feeds.fetch import Fetcher, FetchLimits
from stream.feeds.poll import FeedPoller, PollReport
from stream.feeds.state import FEEDS_NAME, FeedState, FeedStore


def address_of(written: str) -> str:
    """A feed's address as the list has it. Raises ``UsageError``."""
    try:
        return str(checked_url(written))
    except FeedError as error:
        raise UsageError(str(error)) from None


@contextmanager
def listed(settings: Settings) -> Iterator[FeedStore]:
    """The list of feeds of a data directory, created where it is missing."""
    with closing(FeedStore(settings.data / FEEDS_NAME)) as store:
        yield store


def states(settings: Settings) -> list[FeedState]:
    """The feeds on the list; none where there is no list."""
    if not (settings.data / FEEDS_NAME).exists():
        return []
    with listed(settings) as store:
        return store.feeds()


def summary(state: FeedState) -> str:
    """How a feed is doing, on one line."""
    if state.polled is None:
        return "not polled yet"
    parts = [state.title, f"polled {_at(state.polled)}", f"next {_at(state.next_poll)}"]
    if state.failures:
        parts.append(f"failed {state.failures} times in a row")
    return ", ".join(part for part in [*parts, state.problem] if part)


def _at(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def wanted(settings: Settings, origin: Origin, given: Sequence[str]) -> bool:
    """Whether feeds are to be polled: those given join the list, which is polled where it has any.

    Raises:
        UsageError: for what is no address, or where a file is read and not the topic that feeds
            are published into.
    """
    if origin.file is not None:
        if given:
            raise UsageError("--feed publishes into the topic; with --source a file is read")
        return False
    addresses = [address_of(one) for one in given]
    if not addresses and not (settings.data / FEEDS_NAME).exists():
        return False
    with listed(settings) as store:
        for address in addresses:
            store.add(address)
    return True


def poll(settings: Settings, stop: threading.Event, observe: Callable[[PollReport], None]) -> None:
    """Poll the list and publish into the topic until it is to stop."""
    fetcher = Fetcher(
        FetchLimits(
            body_bytes=settings.feeds_max_bytes,
            total_seconds=settings.feeds_timeout,
            allow_private=settings.feeds_allow_private,
        ),
        clock=time.monotonic,
        now=lambda: datetime.now(UTC),
        agent=f"tidegraph/{release()}",
    )
    with listed(settings) as store, producer(settings) as made:
        poller = FeedPoller(
            store,
            fetcher,
            made,
            settings.topic,
            interval=settings.feeds_interval,
            clock=time.time,
            observe=observe,
        )
        poller.run(stop.is_set, pause(stop))
