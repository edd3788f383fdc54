"""The consumer loop over a scripted source and the real writer."""

import json
import threading
from concurrent.futures import Future

import pytest

from index.types import Millis, Position, Record
from index.verify import verify
from index.writer import Writer
from stream.consumer import BatchReport, Consumer, ConsumerSettings
from stream.errors import SourceUnavailableError
from tests.index.simple import FINGERPRINT, analysis, open_writer

PARTITION = ("news", 0)


class Scripted:
    """A source of given values; passes over ``gaps``, fails once before each of ``away``."""

    def __init__(self, values, gaps=(), away=()):
        self.values, self.gaps, self.away, self.next = list(values), set(gaps), set(away), 0

    def partitions(self):
        return [PARTITION]

    def seek(self, positions):
        self.next = positions.get(PARTITION, 0)

    def poll(self, max_records, timeout):
        records = []
        while self.next < len(self.values) and len(records) < max_records:
            at = self.next
            if at in self.away:
                if records:
                    break
                self.away.remove(at)
                raise SourceUnavailableError("away")
            self.next += 1
            if at not in self.gaps:
                records.append(Record(Position("news", 0, at), None, self.values[at], Millis(0)))
        return records

    def positions(self):
        return {PARTITION: self.next}

    def lag(self):
        return {PARTITION: len(self.values) - self.next}

    def end_offsets(self):
        return {PARTITION: len(self.values)}

    def close(self):
        pass


class Pool:
    """Analyses at once, in the caller; ``workers`` says how far the consumer may read ahead."""

    def __init__(self, workers=2):
        self.workers = workers

    def submit(self, documents):
        done = Future()
        done.set_result([analysis(document) for document in documents])
        return done


class NoGrouping:
    def step(self, *, idle):
        return None

    def finish(self):
        return iter(())


def message(key, text, **more):
    return json.dumps({"id": key, "text": text, "title": key} | more).encode()


def run(directory, source, *, records=2, workers=2):
    writer, reports = open_writer(directory), []
    settings = ConsumerSettings(batch_records=records, poll_wait=0.01)
    consumer = Consumer(
        source, writer, Pool(workers), NoGrouping(), settings, observe=reports.append
    )
    consumer.run(threading.Event(), until_end=True)
    totals = writer.latest().head.totals
    positions = dict(writer.positions)
    writer.close()
    return totals, positions, [r for r in reports if isinstance(r, BatchReport)]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("records", [1, 3, 100])
def test_all_is_indexed_however_batches_are_cut(tmp_path, records, workers):
    values = [message(f"d{i % 4}", f"oil ship {i}") for i in range(10)]
    values += [message("d1", "", op="delete"), b"not json"]
    totals, positions, reports = run(tmp_path, Scripted(values), records=records, workers=workers)
    assert totals.documents == 3
    assert positions == {PARTITION: 12}
    assert sum(report.records for report in reports) == 12
    assert verify(tmp_path).ok


def test_a_revision_undone_while_reading_ahead_is_analysed_after_all(tmp_path):
    """Read ahead, the last message looks like a duplicate of what is stored; it is not."""
    run(tmp_path, Scripted([message("a", "oil")]))
    source = Scripted([message("a", "oil"), message("a", "ship"), message("a", "oil")])
    run(tmp_path, source, records=1)
    writer = open_writer(tmp_path)
    with writer.pin() as view:
        assert view.document("a").text == "oil"
    writer.close()


def test_a_filtered_end_does_not_wait_for_ever(tmp_path):
    values = [message("a", "oil"), message("b", "ship")]
    totals, _, _ = run(tmp_path, Scripted(values, gaps={1}))
    assert totals.documents == 1


def test_a_source_that_is_away_is_asked_again(tmp_path):
    source = Scripted([message("a", "oil"), message("b", "ship")], away={1})
    totals, positions, _ = run(tmp_path, source)
    assert (totals.documents, positions) == (2, {PARTITION: 2})


def test_a_second_run_goes_on_where_the_first_ended(tmp_path):
    values = [message("a", "oil"), message("b", "ship")]
    run(tmp_path, Scripted(values))
    _, _, reports = run(tmp_path, Scripted([*values, message("c", "dock")]))
    assert [report.records for report in reports] == [1]


def test_an_idle_stream_takes_out_what_the_window_left_behind(tmp_path):
    day = 24 * 3600 * 1000
    old = [message(f"o{n}", "oil", published_at="1960-01-01") for n in range(9)]
    source = Scripted([*old, message("new", "ship", published_at="1960-03-01")])
    writer = Writer.open(tmp_path, fingerprint=FINGERPRINT, window=Millis(30 * day))
    reports = []
    consumer = Consumer(
        source,
        writer,
        Pool(),
        NoGrouping(),
        ConsumerSettings(poll_wait=0.01),
        observe=reports.append,
    )
    consumer.run(threading.Event(), until_end=True)
    drained = [report for report in reports if not isinstance(report, BatchReport)]
    assert [report.expired for report in drained] == [9]
    assert writer.latest().head.totals.documents == 1
    assert writer.expire() is None
    writer.close()
