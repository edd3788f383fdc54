"""Delivery over a real broker: extractors, the writer alone, recovery, freshness."""

import contextlib
import json
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import httpx

from deploy.configuration import load
from deploy.process import serve_promptly
from index.types import Position
from stream.consumer import BatchReport
from stream.errors import SourceError
from stream.source import Message
from tests.bench.corpus import documents
from tests.bench.measured import Service
from tests.bench.pipeline import percentile
from tests.bench.table import Row
from tests.stream.broker import Broker, free_ports

with warnings.catch_warnings():
    # The client reads its protocol by a function that importlib wants to give up.
    warnings.simplefilter("ignore", DeprecationWarning)
    from stream.kafka import KafkaSource
    from stream.kafka_connection import KafkaConnection, create_topic
    from stream.kafka_producer import KafkaProducer

REUTERS = "reuters21578.docs.jsonl.gz"
PARTITIONS = 4
_SHARED = 4_000
"""Documents over which two extractors are held against one."""
_HUNDREDS = 3_000
"""Documents at the end that come in generations of a hundred."""
_FRESH_SECONDS = 40


def run() -> list[Row]:
    """All figures of the area."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        broker = Broker(Path(folder) / "kafka")
        stack.callback(broker.run, "kill")
        broker.run("start")
        bench = _Bench(broker, Path(folder))
        rows = bench.extractors()
        rows += bench.writer()
        rows += bench.recovery()
        rows += bench.freshness(next(r.value for r in rows if r.name == "one extractor"))
        return rows


class _Bench:
    def __init__(self, broker: Broker, work: Path) -> None:
        self._broker = broker
        self._work = work
        self._connection = KafkaConnection((broker.bootstrap,), timeout=60.0)
        self._messages = [
            Message(d["id"].encode(), json.dumps(d).encode()) for d in documents(REUTERS)
        ]

    def extractors(self) -> list[Row]:
        """Documents a second of one and of two extractors, once they have their partitions."""
        rates = {}
        for count in (1, 2):
            topic = f"shared-{count}"
            create_topic(self._connection, topic, partitions=PARTITIONS)
            with ExitStack() as stack:
                ports = free_ports(count)
                for port in ports:
                    stack.enter_context(self._extractor(topic, port))
                warmed = self._warm(topic, ports)
                started = time.monotonic()
                self._publish(topic, self._messages[:_SHARED])
                self._reached(f"{topic}-analyses", warmed + _SHARED)
                rates[count] = _SHARED / (time.monotonic() - started)
        return [
            Row("one extractor", rates[1], "documents/s"),
            Row("two extractors", rates[2], "documents/s"),
            Row("two extractors to one", rates[2] / rates[1], "ratio", ">= 1.4"),
        ]

    def writer(self) -> list[Row]:
        """The writer over all of Reuters, analysed before; then in generations of a hundred."""
        topic = "news"
        create_topic(self._connection, topic, partitions=PARTITIONS)
        self._publish(topic, self._messages)
        with self._extractor(topic, free_ports(1)[0]), self._extractor(topic, free_ports(1)[0]):
            self._reached(f"{topic}-analyses", len(self._messages))
        # The first run may read a batch beyond what it is asked for.
        most = len(self._messages) - _HUNDREDS - 600
        reports, wall, cpu = self._write(topic, most)
        done = sum(report.records for report in reports)
        hundreds, *_ = self._write(topic, _HUNDREDS, analyses_batch=100)
        commits = [1000 * report.committed for report in hundreds]
        return [
            Row("writer alone, prepared analyses", done / wall, "documents/s", ">= 1500"),
            Row("the same by processor time", done / cpu, "documents/CPU-s"),
            Row("generation of 100, median", statistics.median(commits), "ms", "<= 150"),
            Row("generation of 100, p95", percentile(commits, 95), "ms"),
        ]

    def _write(
        self, topic: str, records: int, **more: object
    ) -> tuple[list[BatchReport], float, float]:
        """Commit so many records; the reports after the first, and what they took."""
        from deploy.assembly import writing
        from deploy.assembly.streams import Origin

        given = {"kafka": self._broker.bootstrap, "topic": topic, "data": self._work / "whole"}
        settings = load(given | {"analyses_topic": f"{topic}-analyses"} | more).settings
        reports: list[BatchReport] = []
        stop, marks = threading.Event(), []

        def observe(report: object) -> None:
            if not isinstance(report, BatchReport):
                return
            marks.append((time.monotonic(), time.process_time()))
            reports.append(report)
            if sum(one.records for one in reports) >= records:
                stop.set()

        with writing.ingestion(settings, Origin(), observe) as ingestion:
            serve_promptly()  # as the command does
            ingestion.consumer.run(stop)
        (wall, cpu), (last_wall, last_cpu) = marks[0], marks[-1]
        # The first batch compiles and connects; the clocks run from its end.
        return reports[1:], last_wall - wall, last_cpu - cpu

    def recovery(self) -> list[Row]:
        """From the start of a process after a kill to ready, and to the first answer."""
        arguments = ["run", "--data", str(self._work / "whole"), *self._kafka("news")]
        service = Service(*arguments, port=free_ports(1)[0])
        with contextlib.suppress(httpx.HTTPError):
            httpx.get(f"{service.url}/v1/status", timeout=30)
        service.kill()
        started = time.monotonic()
        again = Service(*arguments, port=free_ports(1)[0])
        asked = {"question": "What did OPEC decide about output?", "budget": 20}
        answer = httpx.post(f"{again.url}/v1/search", json=asked, timeout=60)
        answer.raise_for_status()
        searchable = time.monotonic() - started
        again.stop()
        return [
            Row("kill -9 to ready", again.ready_after, "s", "<= 10"),
            Row("kill -9 to the first answer", searchable, "s", "<= 10"),
        ]

    def freshness(self, sustained: float) -> list[Row]:
        """From a durable publication to searchable, by one extractor and a writer beside it."""
        topic, rate = "fresh", sustained / 2
        create_topic(self._connection, topic, partitions=PARTITIONS)
        port = free_ports(1)[0]
        data = str(self._work / "fresh")
        with self._extractor(topic, port), closing(KafkaProducer(self._connection)) as producer:
            self._warm(topic, [port])
            service = Service("run", "--data", data, *self._kafka(topic), port=free_ports(1)[0])
            lines = self._messages[: int(rate * _FRESH_SECONDS)]
            seconds = _waits(service.url, lambda part: producer.publish(topic, part), lines, rate)
            service.stop()
        settled = seconds[len(seconds) // 8 :]
        return [
            Row("rate while fresh, from Kafka", rate, "documents/s"),
            Row("Kafka to searchable, median", statistics.median(settled), "s", "<= 1"),
            Row("Kafka to searchable, p99", percentile(settled, 99), "s", "<= 3"),
        ]

    def _kafka(self, topic: str) -> list[str]:
        at = ["--kafka", self._broker.bootstrap, "--topic", topic]
        return [*at, "--analyses", f"{topic}-analyses"]

    @contextmanager
    def _extractor(self, topic: str, port: int) -> Iterator[None]:
        arguments = ["extract", *self._kafka(topic), "--set", f"extract_port={port}"]
        command = [sys.executable, "-m", "deploy.cli", *arguments]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)

    def _warm(self, topic: str, ports: list[int]) -> int:
        """Publish a little, until each extractor has its share; how many analyses there are."""
        published, shares = 0, [0]
        while min(shares) < PARTITIONS // len(ports):
            self._publish(topic, self._messages[-40:])
            published += 40
            self._reached(f"{topic}-analyses", published)
            shares = [_partitions(port) for port in ports]
        # Who took over from whom may have published some twice.
        return self._held(f"{topic}-analyses")

    def _publish(self, topic: str, messages: list[Message]) -> None:
        with closing(KafkaProducer(self._connection)) as producer:
            for start in range(0, len(messages), 1000):
                producer.publish(topic, messages[start : start + 1000])

    def _reached(self, topic: str, records: int) -> None:
        """Wait until a topic holds so many records."""
        deadline = time.monotonic() + 900
        while time.monotonic() < deadline:
            if self._held(topic) >= records:
                return
            time.sleep(0.1)
        sys.exit(f"{topic} does not fill")

    def _held(self, topic: str) -> int:
        """Records of a topic; 0 where the first extractor has not made it yet."""
        try:
            with closing(KafkaSource(self._connection, [topic])) as source:
                return sum(source.end_offsets().values())
        except SourceError:
            return 0


def _partitions(port: int) -> int:
    """How many partitions the extractor with these metrics has."""
    try:
        text = httpx.get(f"http://127.0.0.1:{port}/metrics", timeout=5).text
    except httpx.HTTPError:
        return 0
    name = "tidegraph_extract_partitions "
    lines = [line for line in text.splitlines() if line.startswith(name)]
    return int(float(lines[0][len(name) :])) if lines else 0


def _waits(
    url: str,
    publish: Callable[[list[Message]], list[Position | None]],
    messages: list[Message],
    rate: float,
) -> list[float]:
    """Publish at a rate; for each message the seconds until the service has its position."""
    seconds: list[float] = []
    waiting: dict[Position, float] = {}
    started, sent = time.monotonic(), 0
    with httpx.Client(base_url=url, timeout=30) as client:
        while sent < len(messages) or waiting:
            due = min(len(messages), int((time.monotonic() - started) * rate))
            if due > sent:
                for at in publish(messages[sent:due]):
                    if at is not None:
                        waiting[at] = time.monotonic()
                sent = due
            body = client.get("/v1/status").json()
            reached = {p["partition"]: p["offset"] for p in body["positions"]}
            now = time.monotonic()
            done = [at for at in waiting if at.offset < reached.get(at.partition, 0)]
            seconds += [now - waiting.pop(at) for at in done]
            time.sleep(0.02)
    return seconds
