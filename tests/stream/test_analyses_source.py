"""Analyses read as the source of their documents: repeated, foreign, damaged and missing ones."""

import json
import random
import threading

import pytest

from index.types import Millis, Position, Reason, Record, Rejected
from index.verify import verify
from stream.analyses import Extracted, encode
from stream.analyses_source import AnalysesSource, Mark
from stream.consumer import Consumer, ConsumerSettings
from stream.errors import PositionLostError
from stream.message import decode
from tests.index.simple import FINGERPRINT, analysis, open_writer
from tests.stream.test_consumer import NoGrouping, Pool

OWN, OTHER = FINGERPRINT.to_json(), '{"another": 1}'


class Topic:
    """A scripted topic: values by partition, all held."""

    def __init__(self, name, *partitions):
        self.name = name
        self.values = [list(one) for one in partitions]
        self.next = [0] * len(partitions)
        self.begin = 0

    def partitions(self):
        return [(self.name, n) for n in range(len(self.values))]

    def seek(self, positions):
        self.next = [positions.get(at, self.begin) for at in self.partitions()]

    def poll(self, max_records, timeout):
        found = []
        for (name, n), values in zip(self.partitions(), self.values, strict=True):
            while self.next[n] < len(values) and len(found) < max_records:
                value = values[self.next[n]]
                found.append(Record(Position(name, n, self.next[n]), b"k", value, Millis(7)))
                self.next[n] += 1
        return found

    def positions(self):
        return dict(zip(self.partitions(), self.next, strict=True))

    def lag(self):
        ends = self.end_offsets()
        return {at: ends[at] - to for at, to in self.positions().items()}

    def end_offsets(self):
        lengths = [len(values) for values in self.values]
        return dict(zip(self.partitions(), lengths, strict=True))

    def close(self):
        pass


class Memory:
    """Marks kept in memory."""

    def __init__(self, marks=()):
        self.marks = dict(marks)

    def known(self):
        return self.marks

    def keep(self, marks):
        self.marks = dict(marks)


def message(key, text="one two", **more):
    return json.dumps({"id": key, "text": text, "title": key} | more).encode()


def made(offset, since=None, *, key=None, analyzer=OWN, partition=0, value=None, bare=False):
    """The record of analyses of the document at an offset."""
    name = key or f"d{offset}"
    source = value or message(name)
    record = Record(Position("news", partition, offset), name.encode(), source, Millis(10**12))
    content = decode(record)
    result = None if bare or isinstance(content, Rejected) else analysis(content.document)
    since = offset if since is None else since
    return encode(Extracted("news", partition, since, offset + 1, analyzer, record, result))


def opened(*partitions, length=9, committed=None, marks=None, **more):
    told = []
    analyses = Topic("analyses", *partitions)
    documents = Topic("news", *([None] * length for _ in partitions))
    source = AnalysesSource(
        analyses,
        documents,
        "news",
        OWN,
        FINGERPRINT.dimensions,
        marks=marks or Memory(),
        committed=lambda: committed or {},
        observe=told.append,
        **more,
    )
    return source, analyses, told


def offsets(records):
    return [record.position.offset for record in records]


def test_records_come_as_those_of_the_source_with_their_analysis():
    source, _, told = opened([made(0), made(1)])
    source.seek({})
    first, second = source.poll(10, 0)
    assert first.position == Position("news", 0, 0)
    assert (second.key, second.value, second.timestamp) == (b"d1", message("d1"), 10**12)
    assert first.analysis.document_id == "d0"
    assert source.positions() == {("news", 0): 2}
    assert source.lag() == {("news", 0): 7}
    assert not told


def test_what_is_repeated_after_a_rebalance_is_passed_over():
    again = [made(0), made(1), made(2), made(1), made(2), made(3), made(0)]
    source, _, told = opened(again)
    source.seek({})
    assert offsets(source.poll(10, 0)) == [0, 1, 2, 3]
    assert not told


def test_a_position_of_the_store_passes_over_what_it_has():
    source, _, _ = opened([made(0), made(1), made(2)])
    source.seek({("news", 0): 2})
    assert offsets(source.poll(10, 0)) == [2]


def test_gaps_of_the_source_itself_are_no_gaps():
    passed = encode(Extracted("news", 0, 4, 6, OWN))
    source, _, told = opened([made(3, since=0), passed, made(6)])
    source.seek({})
    assert offsets(source.poll(10, 0)) == [3, 6]
    assert not told


def test_a_trailing_stretch_without_records_counts_as_read():
    source, _, _ = opened([made(0), encode(Extracted("news", 0, 1, 9, OWN))])
    source.seek({})
    source.poll(10, 0)
    assert source.positions() == source.end_offsets()


def test_another_analyzers_record_holds_its_partition_alone_and_is_told_once():
    source, _, told = opened(
        [made(0), made(1, analyzer=OTHER), made(2)], [made(0, partition=1), made(1, partition=1)]
    )
    source.seek({})
    read = source.poll(10, 0)
    assert [(r.position.partition, r.position.offset) for r in read] == [(0, 0), (1, 0), (1, 1)]
    source.poll(10, 0)
    assert len(told) == 1
    assert "another analyzer" in source.held()["news", 0]
    assert "offset 1" in source.held()["news", 0]


def test_another_releases_form_holds_its_partition_until_it_comes_in_ones_own():
    source, topic, told = opened([made(0), b"TGA\xff" + made(1)[4:], made(2)])
    source.seek({})
    assert offsets(source.poll(10, 0)) == [0]
    assert "the record at 1 of the topic of analyses" in source.held()["news", 0]
    assert "version 255" in source.held()["news", 0]
    assert told[-1].unreadable == 0
    topic.values[0] += [made(1), made(2)]
    assert offsets(source.poll(10, 0)) == [1, 2]
    assert not source.held()


def test_a_source_that_reads_on_or_has_nothing_holds_nothing_back():
    source, _, _ = opened([made(n) for n in range(4)])
    source.seek({})
    source.behind()
    assert source.behind(), "there is something, and nobody reads it"
    source.poll(2, 0)
    assert not source.behind()
    source.poll(9, 0)
    assert not source.behind()
    assert not source.behind()


def test_a_held_partition_goes_on_when_the_own_analyzer_has_published_again():
    source, topic, told = opened([made(0), made(1, analyzer=OTHER), made(2)])
    source.seek({})
    source.poll(10, 0)
    topic.values[0] += [made(1), made(2), made(3)]
    assert offsets(source.poll(10, 0)) == [1, 2, 3]
    assert not source.held()
    assert [dict(report.held) for report in told][-1] == {}


def test_told_to_analyse_the_reader_is_given_others_records_without_analysis():
    source, _, told = opened([made(0), made(1, analyzer=OTHER), made(2)], others="analyze")
    source.seek({})
    first, second, third = source.poll(10, 0)
    assert first.analysis
    assert third.analysis
    assert second.analysis is None
    assert second.value == message("d1")
    assert not told


def test_a_missing_stretch_holds_until_it_comes_again():
    source, topic, _ = opened([made(0), made(2), made(3)])
    source.seek({})
    assert offsets(source.poll(10, 0)) == [0]
    assert "missing" in source.held()["news", 0]
    assert "offsets 1 to 1" in source.held()["news", 0]
    topic.values[0] += [made(1), made(2), made(3)]
    assert offsets(source.poll(10, 0)) == [1, 2, 3]


def test_a_damaged_record_becomes_a_dead_letter_in_its_place():
    source, _, told = opened([made(0), b"damaged", made(2)])
    source.seek({})
    read = source.poll(10, 0)
    assert offsets(read) == [0, 1, 2]
    assert read[1].position == Position("news", 0, 1)
    assert read[1].value == b"damaged"
    assert decode(read[1]).reason is Reason.UNREADABLE
    assert told[0].unreadable == 1


def test_what_strangers_publish_between_is_counted_and_passed_over():
    source, _, told = opened([made(0), b"hello", made(1)])
    source.seek({})
    assert offsets(source.poll(10, 0)) == [0, 1]
    assert [report.unreadable for report in told] == [1]


def test_a_position_beyond_the_end_of_the_documents_is_refused():
    source, _, _ = opened([made(0)], length=1)
    with pytest.raises(PositionLostError, match="made anew"):
        source.seek({("news", 0): 2})


def test_a_mark_spares_reading_what_is_committed():
    committed, marks = {("news", 0): 0}, Memory()
    source, _, _ = opened([made(n) for n in range(6)], committed=committed, marks=marks)
    source.seek({})
    source.poll(10, 0)
    source.keep()
    assert marks.marks == {0: Mark(0, 0)}
    committed["news", 0] = 4
    source.close()
    assert marks.marks == {0: Mark(4, 4)}
    again, topic, _ = opened([made(n) for n in range(6)], marks=marks)
    again.seek({("news", 0): 4})
    assert topic.next == [4]
    assert offsets(again.poll(10, 0)) == [4, 5]


def test_a_mark_ahead_of_the_store_or_of_the_topic_is_not_followed():
    values = [made(n) for n in range(6)]
    for mark in (Mark(5, 5), Mark(99, 3)):
        source, topic, _ = opened(values, marks=Memory({0: mark}))
        source.seek({("news", 0): 3})
        assert topic.next == [0]
        assert offsets(source.poll(10, 0)) == [3, 4, 5]


def test_a_mark_never_passes_what_is_held_or_an_uncommitted_stretch_without_records():
    held = [made(0), made(1, analyzer=OTHER), made(2)]
    for values in (held, [made(0), encode(Extracted("news", 0, 1, 4, OWN))]):
        marks = Memory()
        source, _, _ = opened(values, marks=marks, committed={("news", 0): 1})
        source.seek({})
        source.poll(10, 0)
        source.close()
        assert marks.marks == {0: Mark(1, 1)}


@pytest.mark.parametrize("seed", range(12))
def test_extractors_that_die_and_freeze_leave_an_order_without_gap_or_repetition(seed):
    """Any history of takeovers, with what a frozen one publishes late mixed in."""
    dice, log, done, late = random.Random(seed), [], 0, []
    while done < 40:
        run = range(max(0, done - dice.randrange(6)), min(40, done + dice.randrange(1, 9)))
        values = [made(n, analyzer=dice.choice([OWN, OWN, OTHER])) for n in run]
        whole = dice.random() < 0.6  # else it freezes, and its tail comes later
        cut = len(values) if whole else dice.randrange(len(values))
        log += values[:cut]
        late.append(values[cut:])
        done = max(done, run.start + cut)
        if late and dice.random() < 0.5:
            log += late.pop(dice.randrange(len(late)))
    log += [made(n) for n in range(40)]  # at last one takes all with the own analyzer
    source, topic, _ = opened(log, length=40)
    source.seek({})
    read = []
    while any(topic.lag().values()):
        read += source.poll(7, 0)
    assert offsets(read) == list(range(40))
    assert not source.held()


def consume(source, writer, pool):
    consumer = Consumer(
        source,
        writer,
        pool,
        NoGrouping(),
        ConsumerSettings(batch_records=3, poll_wait=0.0),
        observe=lambda _: None,
        withheld=source.behind,
    )
    consumer.run(threading.Event(), until_end=True)
    return consumer


class Counting(Pool):
    """Says which documents were left for the writer to analyse."""

    def __init__(self):
        super().__init__(workers=0)
        self.analysed = []

    def submit(self, documents):
        self.analysed += [document.id for document in documents]
        return super().submit(documents)


def test_the_writer_takes_brought_analyses_and_makes_those_that_were_left_out(tmp_path):
    edit = made(3, key="d0", value=message("d0", "three four"))
    values = [made(0), made(1, bare=True), made(2, value=b"not json"), edit]
    source, _, _ = opened(values, length=4)
    writer, pool = open_writer(tmp_path), Counting()
    consume(source, writer, pool)
    assert pool.analysed == ["d1"]
    head = writer.latest().head
    assert head.totals.documents == 2
    assert head.positions == {("news", 0): 4}
    writer.close()
    assert verify(tmp_path).ok


def test_an_analysis_that_does_not_fit_is_a_dead_letter_and_the_stream_goes_on(tmp_path):
    wrong = Record(Position("news", 0, 0), b"d0", message("d0"), Millis(10**12))
    other = analysis(decode(Record(wrong.position, b"x", message("x"), Millis(1))).document)
    values = [encode(Extracted("news", 0, 0, 1, OWN, wrong, other)), made(1)]
    source, _, _ = opened(values, length=2)
    writer = open_writer(tmp_path)
    consume(source, writer, Counting())
    assert writer.latest().head.totals.documents == 1
    writer.close()
    assert verify(tmp_path).ok
