"""Polling: which feed is due, what of it is new, and when to ask again."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2b
from urllib.parse import urlsplit

import orjson

from index.types import Scalar
from stream.errors import FeedError, StreamError
from stream.feeds.fetch import Fetched, Fetcher, Validators
from stream.feeds.parse import Entry, ParsedFeed, parse
from stream.feeds.state import FeedState, FeedStore, Seen, document_id
from stream.source import Message, Producer

LONGEST_WAIT = 86_400.0
"""Seconds: no failure and no Retry-After keeps a feed away for longer."""
_LOOK_EVERY = 1.0
"""Seconds between two looks at the list, so that feeds added meanwhile are found."""


@dataclass(frozen=True, slots=True)
class PollReport:
    """What one poll gave. ``outcome`` is ``published``, ``unchanged`` or ``failed``.

    ``new`` and ``changed`` count the entries that were published, ``found`` all that the feed
    has, ``repeated`` those left out as another's twin, ``undated`` those whose date was left out,
    ``empty`` those with neither title nor text, ``refused`` those larger than the topic takes.
    ``problem`` says what failed, or why the feed is not well-formed.
    """

    url: str
    outcome: str
    seconds: float
    backfill: bool = False
    found: int = 0
    new: int = 0
    changed: int = 0
    repeated: int = 0
    undated: int = 0
    empty: int = 0
    refused: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Selection:
    """What of a feed is to be published: messages, and what is seen once they are."""

    messages: tuple[Message, ...]
    present: tuple[tuple[str, Seen], ...]
    new: int
    changed: int
    empty: int


def next_wait(interval: float, failures: int, asked: float | None) -> float:
    """Seconds until the next poll: doubled with each failure, and no less than the server asks."""
    backoff = min(interval * 2.0 ** min(failures, 32), LONGEST_WAIT)
    return min(max(backoff, asked or 0.0, interval), max(LONGEST_WAIT, interval))


def body_of(entry: Entry, identity: str, feed: FeedState, source: str) -> dict[str, object]:
    """The document message of an entry, without the marks of its arrival."""
    metadata: dict[str, Scalar] = {"feed": feed.url}
    if entry.author:
        metadata["author"] = entry.author
    if entry.date.problem:
        metadata["published_left_out"] = f"{entry.written_date} ({entry.date.problem})"
    if entry.date.zone_assumed:
        metadata["published_zone"] = "assumed UTC"
    return {
        "id": identity,
        "title": entry.title,
        "text": entry.text,
        "source": source,
        "url": entry.url,
        "published_at": entry.date.moment and entry.date.moment.isoformat(),
        "metadata": metadata,
    }


def select(parsed: ParsedFeed, feed: FeedState, seen: Mapping[str, Seen]) -> Selection:
    """The entries that are new or changed, oldest first; in a first poll marked as backfill.

    A backfilled document was observed, as far as anybody can tell, when it was published: so it
    is history and no news. One without a date is observed now, and its mark says the rest.
    """
    backfill = feed.succeeded is None
    source = parsed.title[:200] or urlsplit(feed.url).hostname or ""
    messages, present = [], []
    new = changed = empty = 0
    # Feeds list the newest first; so do those without dates, whose order is all that tells.
    oldest_first = list(parsed.entries)
    oldest_first.reverse()
    for entry in sorted(oldest_first, key=_moment):
        if not (entry.title or entry.text):
            empty += 1
            continue
        identity = document_id(entry, seen)
        body = body_of(entry, identity, feed, source)
        digest = blake2b(
            orjson.dumps([entry.title, entry.text, entry.url, body["published_at"]]),
            digest_size=16,
        ).digest()
        present.append((identity, Seen(digest, entry.url)))
        known = seen.get(identity)
        if known is not None and known.hash == digest:
            continue
        new += known is None
        changed += known is not None
        messages.append(_message(identity, body, backfill=backfill))
    return Selection(tuple(messages), tuple(present), new, changed, empty)


def _moment(entry: Entry) -> float:
    return entry.date.moment.timestamp() if entry.date.moment else 0.0


def _message(identity: str, body: dict[str, object], *, backfill: bool) -> Message:
    if backfill:
        metadata = body["metadata"]
        body["metadata"] = {**(metadata if isinstance(metadata, dict) else {}), "backfill": True}
        body["observed_at"] = body["published_at"]
    kept = {name: value for name, value in body.items() if value not in ("", None)}
    return Message(identity.encode(), orjson.dumps(kept))


class FeedPoller:
    """Polls the feeds of a list and publishes what is new of them. Belongs to one thread."""

    def __init__(
        self,
        store: FeedStore,
        fetcher: Fetcher,
        producer: Producer,
        topic: str,
        *,
        interval: float,
        clock: Callable[[], float],
        observe: Callable[[PollReport], None],
    ) -> None:
        """``interval`` and ``clock`` are seconds, the clock's since 1970."""
        self._store = store
        self._fetcher = fetcher
        self._producer = producer
        self._topic = topic
        self._interval = interval
        self._clock = clock
        self._observe = observe

    def run(self, stop: Callable[[], bool], sleep: Callable[[float], None]) -> None:
        """Poll what is due until it is to stop."""
        while not stop():
            self.poll_due(stop)
            sleep(_LOOK_EVERY)

    def poll_due(self, stop: Callable[[], bool] = lambda: False) -> list[PollReport]:
        """Poll every feed that is due, the longest due first."""
        due = [feed for feed in self._store.feeds() if feed.next_poll <= self._clock()]
        reports = []
        for feed in sorted(due, key=lambda one: one.next_poll):
            if stop():
                break
            reports.append(self.poll(feed))
            self._observe(reports[-1])
        return reports

    def poll(self, feed: FeedState) -> PollReport:
        """Poll one feed. What fails is told in the report, and tried again later.

        Entries are remembered only once they are published: a crash between the two publishes
        them twice, which the index recognises.
        """
        started = self._clock()
        try:
            report = self._polled(feed, started)
        except StreamError as error:
            asked = error.retry_after if isinstance(error, FeedError) else None
            wait = next_wait(self._interval, feed.failures + 1, asked)
            self._store.save(
                replace(
                    feed,
                    polled=started,
                    next_poll=started + wait,
                    failures=feed.failures + 1,
                    problem=str(error),
                )
            )
            report = PollReport(feed.url, "failed", 0.0, problem=str(error))
        return replace(report, seconds=max(0.0, self._clock() - started))

    def _polled(self, feed: FeedState, started: float) -> PollReport:
        fetched = self._fetcher.fetch(feed.url, feed.validators)
        done = replace(
            feed,
            polled=started,
            succeeded=started,
            next_poll=started + next_wait(self._interval, 0, None),
            failures=0,
        )
        if fetched.body is None:
            self._store.save(done)
            return PollReport(feed.url, "unchanged", 0.0, problem=feed.problem)
        return self._publish(self._parsed(feed, fetched, fetched.body), feed, done, fetched)

    def _parsed(self, feed: FeedState, fetched: Fetched, body: bytes) -> ParsedFeed:
        parsed = parse(
            body,
            feed=feed.url,
            base=fetched.url,
            content_type=fetched.content_type,
            now=datetime.fromtimestamp(self._clock(), UTC),
        )
        if not parsed.is_feed:
            raise FeedError(f"this is no feed: {parsed.problem or 'a page, or other XML'}")
        return parsed

    def _publish(
        self, parsed: ParsedFeed, feed: FeedState, done: FeedState, fetched: Fetched
    ) -> PollReport:
        chosen = select(parsed, feed, self._store.seen(feed.url))
        refused = 0
        if chosen.messages:
            refused = self._producer.publish(self._topic, chosen.messages).count(None)
        # Without all of its entries a feed must be fetched whole again.
        whole = parsed.found == len(parsed.entries) + parsed.repeated
        validators = fetched.validators if whole else Validators()
        self._store.save(
            replace(done, title=parsed.title, validators=validators, problem=parsed.problem),
            chosen.present,
        )
        return PollReport(
            feed.url,
            "published" if chosen.messages else "unchanged",
            0.0,
            backfill=feed.succeeded is None,
            found=parsed.found,
            new=chosen.new,
            changed=chosen.changed,
            repeated=parsed.repeated,
            undated=sum(entry.date.problem is not None for entry in parsed.entries),
            empty=chosen.empty,
            refused=refused,
            problem=parsed.problem,
        )
