"""The embedded log."""

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from stream.errors import LogError, LogTooNewError, PositionLostError
from stream.log import LogProducer, LogSource, partition_of
from stream.log_retention import Retention, list_topics
from stream.source import Message
from tests.stream.conformance import FakeTime, GrowingConformance, Harness, bodies, drain

REPOSITORY = Path(__file__).parents[2]


class LogHarness(Harness):
    def __init__(self, path, partitions):
        self.path = path
        self.time = FakeTime()
        self.partitions = partitions

    def publish(self, values):
        producer = LogProducer(self.path, partitions=self.partitions)
        producer.publish("news", [Message(b"k%d" % n, v) for n, v in enumerate(values)])
        producer.close()

    def open(self):
        return LogSource(self.path, ["news"], clock=self.time.clock, sleep=self.time.sleep)


class TestConformance(GrowingConformance):
    @pytest.fixture(params=[1, 3])
    def harness(self, tmp_path, request):
        return LogHarness(tmp_path / "log.db", request.param)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log.db"


def publish(path, messages, topic="news", **settings):
    producer = LogProducer(path, **settings)
    try:
        return producer.publish(topic, messages)
    finally:
        producer.close()


def read(path, topic="news", positions=None, **settings):
    source = LogSource(path, [topic], **settings)
    source.seek(positions or {})
    try:
        return drain(source)
    finally:
        source.close()


def test_bytes_come_back_untouched(path):
    message = Message(b"\xff\x00", b"\x00not utf-8 \xfe", (("trace", b"\x80"), ("trace", b"")))
    publish(path, [message, Message(None, None)])
    first, second = read(path)
    assert (first.key, first.value, first.headers) == (message.key, message.value, message.headers)
    assert (second.key, second.value, second.headers) == (None, None, ())


def test_the_timestamp_is_the_time_of_publication(path):
    publish(path, [Message(b"a", b"{}")], clock=lambda: 1_700_000_000.5)
    assert read(path)[0].timestamp == 1_700_000_000_500


def test_a_key_stays_in_its_partition(path):
    positions = publish(path, [Message(b"k%d" % (n % 5), b"") for n in range(50)], partitions=4)
    assert len({position.partition for position in positions}) > 1
    for n, position in enumerate(positions):
        assert position.partition == partition_of(b"k%d" % (n % 5), 4)


def test_topics_are_apart(path):
    publish(path, [Message(b"a", b"1")], topic="one")
    publish(path, [Message(b"a", b"2"), Message(b"b", b"3")], topic="two")
    assert [record.value for record in read(path, "one")] == [b"1"]
    assert [(t.topic, t.records, t.published) for t in list_topics(path)] == [
        ("one", 1, 1),
        ("two", 2, 2),
    ]


def test_listing_topics_makes_no_log(path):
    assert list_topics(path) == []
    assert not path.exists()


def test_several_processes_lose_nothing(path):
    """Three processes publish at once into a log that none of them found made."""
    code = textwrap.dedent("""
        import sys
        from pathlib import Path
        from stream.log import LogProducer
        from stream.source import Message
        producer = LogProducer(Path(sys.argv[1]), partitions=2)
        for n in range(20):
            name = f"{sys.argv[2]}-{n}".encode()
            producer.publish("news", [Message(name, name), Message(name, name + b"+")])
    """)
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(path), str(n)], cwd=REPOSITORY)
        for n in range(3)
    ]
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    records = read(path)
    expected = {f"{p}-{n}{end}".encode() for p in range(3) for n in range(20) for end in ("", "+")}
    assert {record.value for record in records} == expected
    assert len(records) == len(expected)


def test_a_killed_producer_loses_nothing_acknowledged(path):
    """Killed at any moment, it has left whole publications, and every one that it saw return."""
    code = textwrap.dedent("""
        import sys
        from pathlib import Path
        from stream.log import LogProducer
        from stream.source import Message
        producer = LogProducer(Path(sys.argv[1]))
        n = 0
        while True:
            producer.publish("news", [Message(b"k", b"%d" % n), Message(b"k", b"%d+" % n)])
            print(n, flush=True)
            n += 1
    """)
    acknowledged = -1
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], cwd=REPOSITORY, stdout=subprocess.PIPE
    )
    timer = threading.Timer(0.7, lambda: os.kill(process.pid, signal.SIGKILL))
    for line in process.stdout:
        acknowledged = int(line)
        if acknowledged == 2:
            timer.start()
    process.wait(10)
    process.stdout.close()
    timer.cancel()
    values = [record.value for record in read(path)]
    assert acknowledged >= 2
    assert len(values) in (2 * acknowledged + 2, 2 * acknowledged + 4)
    assert values == [end % n for n in range(len(values) // 2) for end in (b"%d", b"%d+")]


def test_a_publication_is_noticed_quickly(path):
    """Real time: what another connection publishes ends a waiting poll well within a second."""
    source = LogSource(path, ["news"])
    source.seek({})
    producer = LogProducer(path)
    timer = threading.Timer(0.2, lambda: producer.publish("news", [Message(b"k", b"v")]))
    started = time.monotonic()
    timer.start()
    assert len(source.poll(10, 10.0)) == 1
    assert time.monotonic() - started < 2.0
    timer.join()
    source.close()
    producer.close()


def test_an_idle_poll_looks_seldom(path):
    """No busy loop: twenty looks a second."""
    fake = FakeTime()
    source = LogSource(path, ["news"], clock=fake.clock, sleep=fake.sleep)
    source.poll(1, 2.0)
    source.close()
    assert 10 <= len(fake.slept) <= 41


def test_a_message_that_is_too_large_is_left_out_alone(path):
    huge = Message(b"b", bytes(64 * 1024 * 1024 + 1))
    first, refused, second = publish(path, [Message(b"a", b"1"), huge, Message(b"c", b"2")])
    assert (first.offset, refused, second.offset) == (0, None, 1)
    assert [record.value for record in read(path)] == [b"1", b"2"]


def test_one_poll_is_bounded_in_bytes(path):
    publish(path, [Message(b"k", bytes(6_000_000)) for _ in range(6)])
    source = LogSource(path, ["news"])
    assert len(source.poll(6, 0.0)) == 3
    source.close()


class TestRetention:
    def test_old_records_go_and_the_newest_stays(self, path):
        retention = Retention(seconds=60, every_bytes=0)
        for moment in (1000, 1030, 1061):
            publish(
                path, [Message(b"a", b"%d" % moment)], retention=retention, clock=lambda m=moment: m
            )
        assert [record.value for record in read(path)] == [b"1030", b"1061"]
        publish(path, [Message(b"a", b"last")], retention=retention, clock=lambda: 9000)
        assert [record.value for record in read(path)] == [b"last"]

    def test_bytes_are_bounded_and_the_disk_given_back(self, path):
        retention = Retention(bytes=2_000_000, every_bytes=1_000_000)
        producer = LogProducer(path, retention=retention)
        for _ in range(30):
            producer.publish("news", [Message(b"k", os.urandom(100_000)) for _ in range(5)])
        producer.close()
        (topic,) = list_topics(path)
        assert topic.published == 150
        assert topic.bytes <= 3_500_000
        assert topic.records == len(read(path))
        assert path.stat().st_size < 6_000_000

    def test_a_reader_that_is_too_late_is_told(self, path):
        publish(path, [Message(b"a", b"1"), Message(b"a", b"2")], clock=lambda: 1000)
        source = LogSource(path, ["news"])
        source.seek({})
        source.poll(1, 0.0)
        publish(path, [Message(b"a", b"3")], retention=Retention(seconds=1), clock=lambda: 5000)
        with pytest.raises(PositionLostError, match="records 1 to 1 of news/0 are gone"):
            source.poll(1, 0.0)
        source.close()
        with pytest.raises(PositionLostError, match="are gone"):
            read(path, positions={("news", 0): 1})
        assert [r.value for r in read(path, positions={("news", 0): 1}, lost="skip")] == [b"3"]

    def test_offsets_go_on_where_everything_is_gone(self, path):
        publish(path, [Message(b"a", b"1")] * 3, clock=lambda: 1000)
        publish(path, [Message(b"a", b"2")], retention=Retention(seconds=1), clock=lambda: 5000)
        assert [record.position.offset for record in read(path)] == [3]


class TestUnusable:
    def test_a_folder_that_cannot_be_made(self, tmp_path):
        (tmp_path / "file").write_text("")
        with pytest.raises(LogError, match="folder that can be written"):
            LogProducer(tmp_path / "file" / "log.db")

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
    def test_a_folder_that_is_not_writable(self, tmp_path):
        tmp_path.chmod(0o500)
        with pytest.raises(LogError, match="writable"):
            LogProducer(tmp_path / "log.db")

    def test_a_folder_in_its_place(self, path):
        path.mkdir()
        with pytest.raises(LogError, match="cannot use"):
            LogProducer(path)

    def test_a_file_that_is_no_database(self, path):
        path.write_bytes(b"something else entirely, and long enough " * 100)
        with pytest.raises(LogError, match="is no log"):
            LogSource(path, ["news"])

    def test_another_database(self, path):
        other = sqlite3.connect(path)
        other.execute("CREATE TABLE theirs (x)")
        other.close()
        with pytest.raises(LogError, match="not Tidegraph's log"):
            LogSource(path, ["news"])

    def test_a_log_of_a_newer_release(self, path):
        publish(path, [Message(b"a", b"1")])
        newer = sqlite3.connect(path)
        newer.execute("PRAGMA user_version = 99")
        newer.close()
        with pytest.raises(LogTooNewError, match="schema 99"):
            read(path)

    def test_a_topic_without_a_name(self, path):
        with pytest.raises(LogError, match="name"):
            publish(path, [Message(b"a", b"1")], topic="")


def test_the_newest_of_many_records_is_found_at_once(path):
    publish(path, [Message(b"k", body) for body in bodies(3000)])
    records = read(path, positions={("news", 0): 2999})
    assert [record.value for record in records] == [bodies(1, start=2999)[0]]
