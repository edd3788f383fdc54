"""The outbox of dead letters from settings, and the thread that empties it."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager

from deploy.assembly import streams
from deploy.errors import UsageError
from deploy.settings import Settings
from index.errors import IndexingError
from index.store import dead_letters
from index.store.connection import open_readonly, store_path, translated
from index.types import Reason
from stream.dead_letters import DeadLetter
from stream.errors import StreamError
from stream.outbox import Outbox, OutboxReport

MARK_NAME = "outbox.json"
EVERY = 1.0
"""Seconds between two looks at the store."""
_LONGEST = 60.0

Observe = Callable[[OutboxReport], None]


def check(settings: Settings) -> None:
    """Raises ``UsageError`` where dead letters would be read again as documents."""
    if settings.dead_letter_topic and settings.dead_letter_topic == settings.topic:
        raise UsageError(
            f"dead_letter_topic is {settings.topic!r}, the topic that documents are read from"
        )


@contextmanager
def publishing(settings: Settings, observe: Observe) -> Iterator[None]:
    """Publish dead letters while it is entered, and on leaving what is left, where it can be."""
    if not settings.dead_letter_topic:
        yield
        return
    stop = threading.Event()
    thread = threading.Thread(target=_work, args=(settings, observe, stop), name="outbox")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _work(settings: Settings, observe: Observe, stop: threading.Event) -> None:
    """Empty the outbox until it is to stop; a topic that is away never ends the process."""
    wait, last = EVERY, False
    while not last:
        last = stop.is_set()
        try:
            _empty(settings, observe, stop)
            wait = EVERY
        except (StreamError, IndexingError) as error:
            observe(OutboxReport(problem=str(error)))
            wait = min(_LONGEST, wait * 2)
        if not last:
            stop.wait(wait)


def _empty(settings: Settings, observe: Observe, stop: threading.Event) -> None:
    """One connection's life: publish what is there and what comes, until it is to stop."""
    with ExitStack() as stack:
        producer = stack.enter_context(streams.producer(settings))
        outbox = Outbox(
            lambda *bounds: _letters(settings, *bounds),
            producer,
            settings.dead_letter_topic,
            settings.data / MARK_NAME,
        )
        while True:
            stopping = stop.is_set()
            while (report := outbox.step()) is not None:
                observe(report)
            if stopping:
                return
            stop.wait(EVERY)


def _letters(settings: Settings, after: int, limit: int, most_bytes: int) -> Sequence[DeadLetter]:
    path = store_path(settings.data)
    with closing(open_readonly(path)) as connection, translated(path):
        found = dead_letters.read(connection, after=after, limit=limit, most_bytes=most_bytes)
    return [DeadLetter(one.id, one.record, Reason(one.reason), one.detail) for one in found]
