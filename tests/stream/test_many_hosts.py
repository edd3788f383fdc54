"""Extractors as processes over a real broker, joining, leaving and dying, and a writer beside."""

import itertools
import json
import random
import signal
import subprocess
import sys
import threading
import time
import warnings

import pytest

from index.verify import verify
from stream.analyses import Opened
from stream.analyses_source import AnalysesSource
from stream.consumer import Consumer, ConsumerSettings
from stream.source import Message
from tests.index.simple import FINGERPRINT, open_writer
from tests.stream.broker import ROOT, Broker, collecting, require_broker
from tests.stream.line import Line
from tests.stream.test_analyses_source import Memory
from tests.stream.test_consumer import NoGrouping, Pool
from tests.test_end_to_end import content

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from stream.kafka import KafkaSource
    from stream.kafka_admin import follow_partitions
    from stream.kafka_connection import KafkaConnection, create_topic
    from stream.kafka_producer import KafkaProducer
    from tests.stream.extracting import extractor

pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

PATIENCE = 60.0
"""Seconds that a machine which does much else may take."""
WORDS = ["alpha", "beta", "gamma", "delta", "epsilon"]
names = (f"many-{number}" for number in itertools.count())


@pytest.fixture(scope="module", autouse=True)
def _collected():
    with collecting():
        yield


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    require_broker()
    made = Broker(tmp_path_factory.mktemp("kafka"))
    try:
        made.run("start")
        yield made
    finally:
        made.run("kill")


@pytest.fixture
def connection(broker):
    return KafkaConnection((broker.bootstrap,), timeout=10.0, metadata_age=2.0)


class Extractors:
    """Processes of one group."""

    def __init__(self, broker, documents):
        self._arguments = [broker.bootstrap, documents, f"{documents}-analyses", f"{documents}-x"]
        self.running = []

    def start(self, instance=""):
        command = [sys.executable, "-W", "ignore", "-m", "tests.stream.extracting"]
        process = subprocess.Popen([*command, *self._arguments, instance], cwd=ROOT)
        self.running.append(process)
        return process

    def end(self, process, number):
        self.running.remove(process)
        process.send_signal(number)
        began = time.monotonic()
        # One that has hardly begun knows no better than to end by the signal.
        assert process.wait(PATIENCE) in (0, -number)
        return time.monotonic() - began

    def close(self):
        for process in list(self.running):
            self.end(process, signal.SIGKILL)


@pytest.fixture
def extractors(broker):
    made = []

    def of(documents):
        made.append(Extractors(broker, documents))
        return made[-1]

    yield of
    for one in made:
        one.close()


def stream_of(dice, count):
    """Messages with inserts, edits, deletes, tombstones and what must be rejected."""
    for number in range(count):
        key = f"d{dice.randrange(count // 4)}"
        text = " ".join(
            dice.choice(["alpha", "beta", "gamma", "delta", "epsilon"]) for _ in range(6)
        )
        body = {"id": key, "title": key, "text": f"{text}\nline {number % 7}"}
        kind = dice.random()
        if kind < 0.08:
            yield Message(key.encode(), None)
        elif kind < 0.12:
            yield Message(key.encode(), json.dumps({"id": key, "op": "delete"}).encode())
        elif kind < 0.16:
            yield Message(key.encode(), b"not json", (("trace", b"\xff"),))
        elif kind < 0.18:
            yield Message(key.encode(), json.dumps(body | {"id": "another"}).encode())
        else:
            yield Message(key.encode(), json.dumps(body).encode(), (("trace", b"1"),))


class Writing:
    """A writer in a thread of its own, fed by analyses."""

    def __init__(self, connection, topic, directory, **more):
        self.writer = open_writer(directory)
        self.stop = threading.Event()
        self.told = []
        analyses = f"{topic}-analyses"
        follow_partitions(connection, analyses, topic, {})
        self.source = AnalysesSource(
            KafkaSource(connection, [analyses], lost="skip"),
            KafkaSource(connection, [topic]),
            topic,
            FINGERPRINT.to_json(),
            FINGERPRINT.dimensions,
            marks=Memory(),
            committed=lambda: self.writer.latest().head.positions,
            observe=self.told.append,
            **more,
        )
        consumer = Consumer(
            self.source,
            self.writer,
            Pool(workers=0),
            NoGrouping(),
            ConsumerSettings(batch_records=50, poll_wait=0.05),
            observe=lambda _: None,
            withheld=self.source.behind,
        )
        self._thread = threading.Thread(target=consumer.run, args=(self.stop,))
        self._thread.start()

    def reaches(self, ends):
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if self.writer.latest().head.positions == ends:
                return True
            time.sleep(0.05)
        return False

    def close(self):
        self.stop.set()
        self._thread.join()
        self.source.close()
        self.writer.close()


def direct(connection, topic, directory):
    """The index of the documents themselves; the ends that it reached."""
    source, writer = KafkaSource(connection, [topic]), open_writer(directory)
    settings = ConsumerSettings(poll_wait=0.05)
    consumer = Consumer(
        source, writer, Pool(workers=0), NoGrouping(), settings, observe=lambda _: None
    )
    consumer.run(threading.Event(), until_end=True)
    reached = writer.latest().head.positions
    source.close()
    writer.close()
    return reached


def held_by(directory):
    """The content of a store; rows of equal offsets, of several partitions, in one order."""
    return {name: sorted(rows, key=repr) for name, rows in content(directory).items()}


def published(connection, topic):
    """What stands in the topic of analyses: partition and stretch of each record."""
    analyses = f"{topic}-analyses"
    source, found = KafkaSource(connection, [analyses]), []
    source.seek({})
    ends = source.end_offsets()
    while any(source.positions()[at] < end for at, end in ends.items()):
        for record in source.poll(500, 0.1):
            number = record.position.partition
            opened = Opened(record.value, (topic, number))
            found.append((number, opened.since, opened.until))
    source.close()
    return found


@pytest.mark.parametrize(("partitions", "count"), [(1, 400), (4, 1500)])
def test_any_coming_and_going_of_extractors_gives_the_index_of_one_writer(
    partitions, count, broker, connection, extractors, tmp_path
):
    dice, topic = random.Random(partitions), next(names)
    create_topic(connection, topic, partitions=partitions)
    group = extractors(topic)
    group.start()
    group.start()
    writing = Writing(connection, topic, tmp_path / "shared")
    producer = KafkaProducer(connection)
    messages = list(stream_of(dice, count))
    acts = ["join", signal.SIGKILL, "join", signal.SIGTERM, "join"]
    try:
        for act, part in enumerate(range(0, count, count // 5)):
            producer.publish(topic, messages[part : part + count // 5])
            time.sleep(dice.uniform(0.5, 1.5))
            if acts[act] == "join":
                group.start()
            else:
                group.end(dice.choice(group.running), acts[act])
        ends = direct(connection, topic, tmp_path / "direct")
        assert writing.reaches(ends), f"{writing.writer.latest().head.positions} of {ends}"
    finally:
        writing.close()
        producer.close()
    assert held_by(tmp_path / "shared") == held_by(tmp_path / "direct")
    assert verify(tmp_path / "shared").ok
    assert not writing.told
    seen = dict.fromkeys(range(partitions), 0)
    for number, since, until in published(connection, topic):
        assert since <= seen[number], "a gap in the topic of analyses"
        seen[number] = max(seen[number], until)


def test_a_line_that_is_slow_and_breaks_gives_the_index_of_a_good_one(broker, connection, tmp_path):
    topic, breaks = next(names), (9_000, 20_000, 30_000, 45_000)
    create_topic(connection, topic, partitions=2)
    producer = KafkaProducer(connection)
    producer.publish(topic, list(stream_of(random.Random(11), 1000)))
    producer.close()
    line = Line(broker.near, broker.far, delay=0.01, rate=200_000, breaks=breaks)
    try:
        far = KafkaConnection((f"127.0.0.1:{broker.near}",), timeout=10.0)
        ends = direct(far, topic, tmp_path / "far")
    finally:
        line.close()
    assert line.broken >= 2
    assert direct(connection, topic, tmp_path / "near") == ends
    assert held_by(tmp_path / "far") == held_by(tmp_path / "near")


def test_on_sigterm_an_extractor_commits_and_leaves_so_that_nothing_is_done_twice(
    broker, connection, extractors
):
    topic = next(names)
    create_topic(connection, topic, partitions=2)
    follow_partitions(connection, f"{topic}-analyses", topic, {})
    producer, group = KafkaProducer(connection), extractors(topic)
    for part in (0, 1):
        producer.publish(topic, list(stream_of(random.Random(part), 160)))
        process = group.start()
        wait_for(lambda least=part * 160 + 40: len(published(connection, topic)) > least)
        assert group.end(process, signal.SIGTERM) < 10
    group.start()
    wait_for(lambda: len(published(connection, topic)) >= 320)
    stretches = published(connection, topic)
    assert len(stretches) == len(set(stretches)) == 320
    producer.close()


def test_a_static_member_keeps_its_partitions_over_a_restart(connection):
    topic = next(names)
    create_topic(connection, topic, partitions=2)
    analyses, group = f"{topic}-analyses", f"{topic}-x"
    owned, stops, had = {}, {}, set()

    def work(name, stop):
        _, member, producer = extractor(
            connection, topic, analyses, group, name, observe=lambda _: None
        )
        while not stop.is_set():
            member.poll(1, 0.05)
            owned[name] = set(member.owned())
            had.add((name, frozenset(member.owned())))
        member.close()
        producer.close()

    def begin(name):
        stops[name] = threading.Event()
        thread = threading.Thread(target=work, args=(name, stops[name]))
        thread.start()
        return thread

    first, second = begin("a"), begin("b")
    try:
        wait_for(lambda: sorted(map(len, owned.values())) == [1, 1])
        before = dict(owned)
        stops["b"].set()
        second.join()
        had.clear()
        del owned["b"]
        second = begin("b")
        wait_for(lambda: owned == before)
        assert {one for one in had if one[0] == "a"} == {("a", frozenset(before["a"]))}
    finally:
        for stop in stops.values():
            stop.set()
        first.join()
        second.join()


def test_a_record_of_another_analyzer_is_held_until_the_writers_own_publishes_it(
    connection, tmp_path
):
    topic = next(names)
    create_topic(connection, topic)
    producer = KafkaProducer(connection)
    body = json.dumps({"id": "a", "title": "a", "text": "one two"}).encode()
    producer.publish(topic, [Message(b"a", body)])
    producer.close()
    writing = Writing(connection, topic, tmp_path)
    try:
        extract_all(connection, topic, f"{topic}-new", '{"tagger": "newer"}')
        wait_for(lambda: writing.told)
        assert "tagger newer, here simple" in writing.source.held()[topic, 0]
        assert writing.writer.latest().head.generation == 0
        extract_all(connection, topic, f"{topic}-old", FINGERPRINT.to_json())
        assert writing.reaches({(topic, 0): 1})
        assert not writing.source.held()
    finally:
        writing.close()


def extract_all(connection, topic, group, analyzer):
    """One extractor until it has published something."""
    stop = threading.Event()
    made, member, producer = extractor(
        connection,
        topic,
        f"{topic}-analyses",
        group,
        "",
        observe=lambda report: stop.set() if report.records else None,
        analyzer=analyzer,
    )
    made.run(stop)
    member.close()
    producer.close()


def wait_for(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)
