"""Extraction from settings: the member of the group, and the writer's source of analyses."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from deploy.assembly import kafka
from deploy.assembly.language import Inline, analyzer_settings, load_analyzer
from deploy.assembly.streams import ANALYSES, consumer_settings
from deploy.settings import Settings
from index.analysis.fingerprint import Fingerprint
from index.analysis.pool import AnalysisPool
from stream.analyses_source import AnalysesReport, AnalysesSource, Mark
from stream.errors import ProduceError
from stream.extract import Extractor, ExtractReport
from stream.kafka import KafkaSource
from stream.kafka_admin import follow_partitions, topic_ids
from stream.kafka_group import KafkaGroup
from stream.kafka_producer import MAX_MESSAGE_BYTES, KafkaProducer
from stream.loop import Analyzing
from stream.source import Message, Partition

if TYPE_CHECKING:
    from stream.kafka_connection import KafkaConnection

MARKS_NAME = "analyses.json"


@contextmanager
def extraction(
    settings: Settings,
    observe: Callable[[ExtractReport], None],
    failed: Callable[[str], None],
) -> Iterator[Extractor]:
    """A member of the group with its analyzer and its producer; leaves the group at the end."""
    topic = settings.analyses_topic or ANALYSES
    reached = kafka.connection(settings)
    with ExitStack() as stack:
        publish = _Publishing(reached, topic, settings.topic)
        stack.callback(publish.close)
        pool: Analyzing
        if settings.workers:
            # First of all: its processes load their models while this one does.
            pool = stack.enter_context(
                closing(AnalysisPool(analyzer_settings(settings), settings.workers))
            )
            fingerprint = load_analyzer(settings).fingerprint
        else:
            analyzer = load_analyzer(settings)
            pool, fingerprint = Inline(analyzer), analyzer.fingerprint
        group = stack.enter_context(
            closing(
                KafkaGroup(
                    reached,
                    settings.topic,
                    settings.extract_group,
                    instance=settings.extract_instance,
                    lost=settings.kafka_lost,
                )
            )
        )

        yield Extractor(
            group,
            pool,
            publish,
            fingerprint.to_json(),
            consumer_settings(settings),
            observe=observe,
            failed=failed,
        )


def analyses_source(
    settings: Settings,
    fingerprint: Fingerprint,
    committed: Callable[[], Mapping[Partition, int]],
    observe: Callable[[AnalysesReport], None],
) -> AnalysesSource:
    """The topic of analyses as the source of a writer. Raises ``UsageError`` or ``StreamError``."""
    reached, topic = kafka.connection(settings), settings.analyses_topic
    _Partitions(reached, topic, settings.topic)
    with ExitStack() as undo:
        documents = kafka.source(settings)
        undo.callback(documents.close)
        # What retention took is noticed as a gap, where it was wanted.
        analyses = KafkaSource(reached, [topic], lost="skip")
        undo.callback(analyses.close)
        identity = topic_ids(reached, [topic]).get(topic, topic)
        undo.pop_all()
        return AnalysesSource(
            analyses,
            documents,
            settings.topic,
            fingerprint.to_json(),
            fingerprint.dimensions,
            others=settings.analyses_other,
            marks=_MarksFile(settings.data / MARKS_NAME, identity),
            committed=committed,
            observe=observe,
        )


class _Partitions:
    """Keeps the topic of analyses at as many partitions as the documents have."""

    def __init__(self, connection: "KafkaConnection", topic: str, documents: str) -> None:
        self._arguments = (connection, topic, documents)
        self._known = 0
        self.at_least(1)

    def at_least(self, partitions: int) -> None:
        """Look again where a partition came that was not known."""
        if partitions > self._known:
            # A document's analysis is some three times as large as its message.
            largest = {"max.message.bytes": str(MAX_MESSAGE_BYTES)}
            self._known = follow_partitions(*self._arguments, largest)


class _Publishing:
    """Publishes to the topic of analyses; after a failure by a client that is made anew."""

    def __init__(self, connection: "KafkaConnection", topic: str, documents: str) -> None:
        self._connection = connection
        self._topic = topic
        self._partitions = _Partitions(connection, topic, documents)
        self._producer: KafkaProducer | None = None

    def __call__(self, messages: Sequence[Message], numbers: Sequence[int]) -> list[bool]:
        """See ``stream.extract.Publish``."""
        self._partitions.at_least(max(numbers, default=-1) + 1)
        if self._producer is None:
            self._producer = KafkaProducer(self._connection)
        try:
            sent = self._producer.publish(self._topic, messages, numbers)
        except ProduceError:
            self.close()
            raise
        return [at is not None for at in sent]

    def close(self) -> None:
        """Give back the connection."""
        producer, self._producer = self._producer, None
        if producer is not None:
            producer.close()


class _MarksFile:
    """Marks in a file of the data directory, of the topic with one identity."""

    def __init__(self, path: Path, identity: str) -> None:
        self._path = path
        self._identity = identity

    def known(self) -> Mapping[int, Mark]:
        """What the file says; nothing where it is missing, damaged or of another topic."""
        try:
            body = json.loads(self._path.read_text("utf-8"))
            if body["topic"] != self._identity:
                return {}
            return {int(n): Mark(int(at), int(to)) for n, (at, to) in body["marks"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}

    def keep(self, marks: Mapping[int, Mark]) -> None:
        """Write the file anew, whole or not at all."""
        body = {
            "topic": self._identity,
            "marks": {str(n): [mark.offset, mark.position] for n, mark in marks.items()},
        }
        new = self._path.with_suffix(".new")
        new.write_text(json.dumps(body), "utf-8")
        new.replace(self._path)
