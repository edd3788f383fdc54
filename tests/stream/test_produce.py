"""Publishing a source, and dead letters, into a topic."""

import json

import pytest

from index.types import Millis, Position, Reason, Record
from stream.batching import BatchLimits
from stream.dead_letters import DeadLetter, replay
from stream.errors import ProduceError
from stream.files import FileSource
from stream.log import LogProducer, LogSource
from stream.produce import Pace, ProduceReport, produce
from stream.source import INCOMPLETE_HEADER, OVERSIZE_HEADER
from tests.stream.conformance import FakeTime, drain


class Memory:
    """A producer that keeps what it is given, with its time; takes up to ``limit`` bytes each."""

    def __init__(self, time=None, limit=10_000):
        self.time = time or FakeTime()
        self.limit = limit
        self.batches = []
        self.fails_after = None

    @property
    def messages(self):
        return [message for _, batch, _ in self.batches for message in batch]

    def publish(self, topic, messages):
        if self.fails_after is not None and len(self.batches) >= self.fails_after:
            raise ProduceError("the topic is away")
        taken = [message for message in messages if message.size <= self.limit]
        self.batches.append((topic, taken, self.time.now))
        return [Position(topic, 0, 0) if one.size <= self.limit else None for one in messages]

    def close(self):
        pass


def line(id_, **fields):
    return json.dumps({"id": id_, "text": f"text of {id_}", **fields}).encode()


@pytest.fixture
def publish(tmp_path):
    """Publish lines with a fake clock; returns the report and what the producer got."""

    def run(lines, *, limit=10_000, **settings):
        path = tmp_path / "file.jsonl"
        path.write_bytes(b"".join(one + b"\n" for one in lines))
        time = FakeTime(now=0.0)
        memory = Memory(time, limit)
        source = FileSource(path, clock=time.clock, sleep=time.sleep)
        settings = {"pace": Pace(), **settings}
        report = produce(source, memory, "news", clock=time.clock, sleep=time.sleep, **settings)
        source.close()
        return report, memory

    return run


def test_everything_is_published_with_its_id_as_key(publish):
    lines = [line("a"), line("b"), line("a", op="delete")]
    report, memory = publish(lines)
    assert [message.value for message in memory.messages] == lines
    assert [message.key for message in memory.messages] == [b"a", b"b", b"a"]
    assert report == ProduceReport(3, sum(map(len, lines)) + 3, {}, 0, 0.0)


def test_bad_lines_are_published_as_they_are_and_counted(publish):
    """The index rejects them with the reason; nobody has to look for lines that were dropped."""
    lines = [b"not json", line("a"), b"\xff", line("b", published_at="yesterday")]
    report, memory = publish(lines)
    assert [message.value for message in memory.messages] == lines
    assert [message.key for message in memory.messages] == [None, b"a", None, b"b"]
    assert report.rejected == {"not_json": 1, "not_utf8": 1, "bad_time": 1}


def test_what_is_too_large_for_the_topic_is_refused_alone(publish):
    lines = [line("a"), line("big", title="x" * 500), line("b")]
    report, memory = publish(lines, limit=300)
    assert [message.key for message in memory.messages] == [b"a", b"b"]
    assert (report.published, report.refused) == (2, 1)


def test_batches_are_cut(publish):
    _, memory = publish([line(n) for n in range(10)], batches=BatchLimits(records=4))
    assert [len(batch) for _, batch, _ in memory.batches] == [4, 4, 2]


def test_progress_is_told_after_each_batch(publish):
    told = []
    publish([line(n) for n in range(5)], batches=BatchLimits(records=2), progress=told.append)
    assert told == [2, 4, 5]


def test_a_rate_is_kept(publish):
    report, memory = publish([line(n) for n in range(100)], pace=Pace(rate=50.0))
    assert report.seconds == pytest.approx(2.0, abs=0.05)
    for _, batch, moment in memory.batches:
        assert len(batch) <= 3
        number = json.loads(batch[-1].value)["id"]
        assert moment == pytest.approx(number / 50, abs=0.05)


def test_a_replay_keeps_the_documents_own_distances(publish):
    """An hour a second; one that is older than those before it comes at once."""
    hours = [0, 1, 3, 2, 10]
    lines = [line(n, published_at=f"1987-02-26T{hour:02}:00:00Z") for n, hour in enumerate(hours)]
    _, memory = publish(lines, pace=Pace(replay=3600.0))
    seen = {json.loads(m.value)["id"]: moment for _, batch, moment in memory.batches for m in batch}
    assert [round(seen[n]) for n in range(5)] == [0, 1, 3, 3, 10]


def test_a_document_without_a_time_does_not_hold_a_replay_up(publish):
    """The time of its reading lies decades after those of an old stream."""
    lines = [
        line("a", published_at="1987-02-26"),
        line("b"),
        b"oops",
        line("c", op="delete"),
        line("d", published_at="1987-02-26T01:00:00Z"),
    ]
    report, memory = publish(lines, pace=Pace(replay=3600.0))
    assert report.seconds == pytest.approx(1.0, abs=0.05)
    assert len(memory.messages) == 5


def test_stopping_leaves_what_is_not_due(publish):
    asked = []

    def stop():
        asked.append(1)
        return len(asked) > 20

    report, memory = publish([line(n) for n in range(1000)], pace=Pace(rate=10.0), stop=stop)
    assert 0 < report.published < 20
    assert len(memory.messages) == report.published


def test_an_empty_file_publishes_nothing(publish):
    report, memory = publish([])
    assert (report.published, memory.batches) == (0, [])


def test_from_a_file_through_the_log(tmp_path):
    path = tmp_path / "file.jsonl"
    lines = [line(n) for n in range(1200)]
    path.write_bytes(b"\n".join(lines))
    source, producer = FileSource(path), LogProducer(tmp_path / "log.db")
    produce(source, producer, "news", pace=Pace(), clock=lambda: 0.0, sleep=lambda _: None)
    source.close()
    producer.close()
    log = LogSource(tmp_path / "log.db", ["news"])
    records = drain(log, step=500)
    log.close()
    assert [record.value for record in records] == lines
    assert all(not record.headers for record in records)


def letter(number, value, *, topic="news", key=None, headers=()):
    record = Record(Position(topic, 0, number), key, value, Millis(0), headers)
    return DeadLetter(number, record, Reason.NOT_JSON, "why")


class TestReplay:
    def test_letters_go_back_to_their_topics_in_order(self):
        memory = Memory()
        letters = [letter(1, b"x", key=b"k"), letter(2, None, key=b"d"), letter(3, b"y", topic="b")]
        report = replay(letters, memory)
        assert report.published == (1, 2, 3)
        assert [(topic, len(batch)) for topic, batch, _ in memory.batches] == [
            ("news", 2),
            ("b", 1),
        ]
        assert [(m.key, m.value) for m in memory.messages] == [
            (b"k", b"x"),
            (b"d", None),
            (None, b"y"),
        ]

    def test_letters_of_a_file_go_to_the_topic_that_is_named(self):
        memory = Memory()
        replay([letter(1, line("a"), topic="news.jsonl.gz")], memory, topic="news")
        assert memory.batches[0][0] == "news"
        assert memory.messages[0].key == b"a"

    def test_marks_of_the_reading_are_left_and_other_headers_kept(self):
        memory = Memory()
        headers = ((INCOMPLETE_HEADER, b""), ("trace", b"1"), (OVERSIZE_HEADER, b"9"))
        replay([letter(1, b"x", headers=headers)], memory)
        assert memory.messages[0].headers == (("trace", b"1"),)

    def test_what_the_topic_does_not_take_is_named(self):
        report = replay([letter(1, b"x"), letter(2, bytes(500)), letter(3, b"y")], Memory(limit=99))
        assert (report.published, report.refused) == ((1, 3), (2,))

    def test_a_topic_that_is_away_is_an_error(self):
        memory = Memory()
        memory.fails_after = 0
        with pytest.raises(ProduceError, match="away"):
            replay([letter(1, b"x")], memory)

    def test_many_letters_go_in_batches(self):
        memory = Memory()
        report = replay([letter(n, b"x") for n in range(1100)], memory)
        assert len(report.published) == 1100
        assert [len(batch) for _, batch, _ in memory.batches] == [500, 500, 100]
