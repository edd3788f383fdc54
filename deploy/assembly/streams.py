"""Sources and producers from settings."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from deploy.errors import UsageError
from deploy.settings import Settings
from stream import convert
from stream.files import FileSource
from stream.log import LogProducer, LogSource
from stream.message import MessageLimits
from stream.produce import Pace, ProduceReport
from stream.produce import produce as publish_source
from stream.source import Partition, Source

LOG_NAME = "log.db"

Told = Callable[[str, int, int | None], None]
"""What long work tells: what it does, how many are done, of how many (None: not known)."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where documents come from: a file, or the embedded log where ``file`` is None."""

    file: Path | None = None
    form: str = "documents"
    only: Mapping[str, str] = field(default_factory=dict)
    follow: bool = True


def source_of(settings: Settings, origin: Origin) -> Source:
    """The source of an origin. Raises ``UsageError`` or ``StreamError``."""
    if origin.file is None:
        return LogSource(settings.data / LOG_NAME, [settings.topic])
    forms = get_args(convert.Format)
    if origin.form not in forms:
        raise UsageError(f"--format {origin.form}: one of {', '.join(forms)}")
    form: convert.Format = "revisions" if origin.form == "revisions" else "documents"
    return FileSource(
        origin.file,
        follow=origin.follow,
        transform=convert.transform(form, origin.only),
    )


@contextmanager
def producer(settings: Settings) -> Iterator[LogProducer]:
    """A producer to the embedded log of the data directory."""
    with closing(LogProducer(settings.data / LOG_NAME)) as made:
        yield made


def publish(
    settings: Settings,
    origin: Origin,
    stop: threading.Event,
    *,
    rate: float | None = None,
    replay: float | None = None,
    told: Told = lambda _what, _done, _total: None,
) -> ProduceReport:
    """Publish a file into the topic, to its end or, where it is followed, until stopped."""
    with closing(source_of(settings, origin)) as source, producer(settings) as made:
        source.seek({})
        total = None if origin.follow else sum(source.end_offsets().values())
        return publish_source(
            source,
            made,
            settings.topic,
            pace=Pace(rate, replay),
            clock=time.monotonic,
            sleep=pause(stop),
            progress=lambda done: told("publishing", done, total),
            stop=stop.is_set,
            until_end=not origin.follow,
            limits=message_limits(settings),
        )


def pause(stop: threading.Event) -> Callable[[float], None]:
    """A sleep that ends when it is to stop."""

    def wait(seconds: float) -> None:
        stop.wait(seconds)

    return wait


def message_limits(settings: Settings) -> MessageLimits:
    """How large a message may be."""
    return MessageLimits(message_bytes=settings.message_max_bytes)


def log_ends(settings: Settings) -> Mapping[Partition, int] | None:
    """The next offsets of the embedded log; None where there is no log."""
    path = settings.data / LOG_NAME
    if not path.exists():
        return None
    with closing(LogSource(path, [settings.topic])) as source:
        return source.end_offsets()
