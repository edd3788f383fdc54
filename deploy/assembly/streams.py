"""Sources and producers from settings."""

import json
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
from stream.errors import StreamError
from stream.files import FileSource
from stream.log import LogProducer, LogSource
from stream.loop import ConsumerSettings
from stream.message import MessageLimits
from stream.produce import Pace, ProduceReport
from stream.produce import produce as publish_source
from stream.source import Partition, Producer, Source

LOG_NAME = "log.db"
ORIGIN_NAME = "origin.json"
ANALYSES = "analyses"
"""Where extractors publish to unless the settings name another topic."""
TOPICS_NAME = "topics.json"
"""Which Kafka topics the positions belong to."""

Told = Callable[[str, int, int | None], None]
"""What long work tells: what it does, how many are done, of how many (None: not known)."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where documents come from: a file, or where ``file`` is None the topic of the settings."""

    file: Path | None = None
    form: str = "documents"
    only: Mapping[str, str] = field(default_factory=dict)
    follow: bool = True


def check(origin: Origin) -> None:
    """Raises ``UsageError`` for an origin that cannot be read whatever is there."""
    forms = get_args(convert.Format)
    if origin.form not in forms:
        raise UsageError(f"--format {origin.form}: one of {', '.join(forms)}")
    if origin.file is not None and not origin.file.exists():
        raise UsageError(f"--source {origin.file}: there is no such file")


def check_topics(settings: Settings, origin: Origin | None = None) -> None:
    """Raises ``UsageError`` where analyses cannot be read, or where nothing can be extracted.

    Args:
        settings: those in force.
        origin: what the writer reads; None for an extractor.
    """
    if not settings.kafka and origin is None:
        raise UsageError("extract shares a Kafka topic among many: name the brokers by --kafka")
    if not settings.kafka and settings.analyses_topic:
        raise UsageError("analyses_topic is read from Kafka: name the brokers by --kafka")
    if origin is not None and not settings.analyses_topic:
        return
    if settings.topic == (settings.analyses_topic or ANALYSES):
        raise UsageError(f"{settings.topic!r} is the topic of the documents, not of analyses")
    if settings.extract_group == settings.kafka_group:
        raise UsageError(
            f"extract_group and kafka_group are both {settings.kafka_group!r}: the first shares "
            "work, the second tells how far the writer is"
        )


def source_of(settings: Settings, origin: Origin) -> Source:
    """The source of an origin. Raises ``UsageError`` or ``StreamError``."""
    if origin.file is None and settings.kafka:
        from deploy.assembly import kafka  # noqa: PLC0415  loads the client

        return kafka.source(settings)
    if origin.file is None:
        return LogSource(settings.data / LOG_NAME, [settings.topic])
    check(origin)
    form: convert.Format = "revisions" if origin.form == "revisions" else "documents"
    return FileSource(
        origin.file,
        follow=origin.follow,
        transform=convert.transform(form, origin.only),
    )


@contextmanager
def producer(settings: Settings) -> Iterator[Producer]:
    """A producer to Kafka where brokers are named, else to the log of the data directory."""
    made: Producer
    if settings.kafka:
        from deploy.assembly import kafka  # noqa: PLC0415  loads the client

        made = kafka.producer(settings)
    else:
        made = LogProducer(settings.data / LOG_NAME)
    with closing(made):
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


def consumer_settings(settings: Settings, *, analyzed: bool = False) -> ConsumerSettings:
    """How batches are cut and records are decoded; ``analyzed``: they bring their analyses."""
    return ConsumerSettings(
        batch_records=settings.analyses_batch if analyzed else settings.batch_records,
        batch_bytes=settings.batch_bytes,
        batch_age=settings.batch_age,
        limits=message_limits(settings),
        envelope=settings.envelope,
    )


def remember(settings: Settings, origin: Origin) -> None:
    """Write into the data directory what feeds it, so that a reader can tell how far it is."""
    file = None if origin.file is None else str(origin.file.absolute())
    body = {"file": file, "form": origin.form, "only": dict(origin.only), "follow": origin.follow}
    (settings.data / ORIGIN_NAME).write_text(json.dumps(body), "utf-8")


def remembered(settings: Settings) -> Origin:
    """What fed the data directory last; the embedded log where nothing else is known."""
    try:
        body = json.loads((settings.data / ORIGIN_NAME).read_text("utf-8"))
        file = None if body["file"] is None else Path(body["file"])
        return Origin(file, body["form"], body["only"], follow=body["follow"])
    except (OSError, ValueError, KeyError, TypeError):
        return Origin()


class Backlog:
    """How far a data directory is behind its stream, for a process that only reads it.

    May be called from any thread.
    """

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.time) -> None:
        self._settings = settings
        self._clock = clock
        self._lock = threading.Lock()
        self._source: Source | None = None

    def __call__(self, positions: Mapping[Partition, int]) -> tuple[int | None, float | None]:
        """Records not yet searchable, and the age of the oldest in seconds.

        None for what is not known: both where there is no such stream any more, the age where
        the stream is a file, whose lines bear no time.
        """
        with self._lock:
            try:
                source = self._opened()
                if source is None:
                    return None, None
                ends = source.end_offsets()
                lag = sum(max(0, end - positions.get(at, 0)) for at, end in ends.items())
                return lag, self._age(source, positions) if lag else 0.0
            except (StreamError, UsageError):
                return None, None

    def _opened(self) -> Source | None:
        if self._source is None:
            origin = remembered(self._settings)
            if self._settings.kafka or (origin.file or self._settings.data / LOG_NAME).exists():
                self._source = source_of(self._settings, origin)
        return self._source

    def _age(self, source: Source, positions: Mapping[Partition, int]) -> float | None:
        if isinstance(source, FileSource):
            return None
        source.seek(positions)
        first = source.poll(1, 0)
        return max(0.0, self._clock() - first[0].timestamp / 1000) if first else None
