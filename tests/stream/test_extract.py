"""The extractor's loop over a scripted group: order, durability before the commit, takeovers."""

import json
import threading
from concurrent.futures import Future

import pytest

from index.errors import EmbedderAwayError
from index.types import Millis, Position, Reason, Record
from stream.analyses import Opened
from stream.errors import ProduceError, SourceUnavailableError
from stream.extract import Extractor, Reached, Standing
from stream.loop import ConsumerSettings
from stream.message import decode
from tests.index.simple import FINGERPRINT, analysis
from tests.stream.test_consumer import Pool

ANALYZER = FINGERPRINT.to_json()


def message(key):
    return json.dumps({"id": key, "text": "one two", "title": key}).encode()


class Scripted:
    """A group that gives the records of partitions of ``news`` from its commits on.

    ``away``: how often the next poll fails. ``goes``: a partition that is taken away once so many
    records were given in all.
    """

    def __init__(self, stop, *partitions, away=0, goes=None, moved=False):
        self.stop, self.away, self.goes, self.moved = stop, away, goes, moved
        self.values = dict(enumerate(partitions))
        self.committed = dict.fromkeys(self.values, 0)
        self.next = dict(self.committed)
        self.given, self.closed, self.history = 0, False, []

    def owned(self):
        return [("news", n) for n in self.next]

    def poll(self, max_records, timeout):
        if self.away:
            self.away -= 1
            raise SourceUnavailableError("the brokers are away")
        found = []
        for n in list(self.next):
            while self.next[n] < len(self.values[n]) and len(found) < max_records:
                found.append(self._reached(n))
        self.given += len(found)
        if self.goes is not None and self.given >= self.goes[1] and self.goes[0] in self.next:
            del self.next[self.goes[0]]
        if not found and all(self.committed[n] == to for n, to in self.next.items()):
            self.stop.set()
        return found

    def _reached(self, n):
        offset = self.next[n]
        self.next[n] += 1
        value = self.values[n][offset]
        at = ("news", n)
        if value == "nothing":
            return Reached(at, offset, offset + 1, None)
        key = f"d{n}.{offset}".encode()
        record = Record(Position("news", n, offset), key, value or message(key.decode()), Millis(7))
        return Reached(at, offset, offset + 1, record)

    def commit(self, until):
        self.history.append(dict(until))
        if self.moved:
            self.stop.set()
            return False
        self.committed |= {n: to for (_, n), to in until.items()}
        return True

    def rewind(self):
        self.next = {n: self.committed[n] for n in self.next}

    def lag(self):
        return {("news", n): len(self.values[n]) - to for n, to in self.next.items()}

    def close(self):
        self.closed = True


class Log:
    """Publishes into lists by partition; fails as often as it is told, midway."""

    def __init__(self, fails=0, largest=10**9):
        self.fails, self.largest, self.values = fails, largest, {}

    def __call__(self, messages, numbers):
        sent = []
        for at, (one, number) in enumerate(zip(messages, numbers, strict=True)):
            if self.fails and at == len(messages) // 2:
                self.fails -= 1
                raise ProduceError("not all of it")
            fits = one.size <= self.largest
            sent.append(fits)
            if fits:
                self.values.setdefault(number, []).append(one.value)
        return sent

    def read(self, number):
        return [
            Opened(value, ("news", number)).extracted(FINGERPRINT.dimensions)
            for value in self.values.get(number, ())
        ]

    def stretches(self, number):
        return [(one.since, one.until) for one in self.read(number)]


def extract(group, log, stop, pool=None, **more):
    reports = []
    made = Extractor(
        group,
        pool or Pool(),
        log,
        ANALYZER,
        ConsumerSettings(batch_records=4, poll_wait=0.0),
        observe=reports.append,
        **more,
    )
    made.run(stop)
    return reports


@pytest.fixture
def stop():
    return threading.Event()


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    monkeypatch.setattr("stream.extract.RETRY", 0.0)


def test_each_partition_is_published_in_order_with_its_analyses_and_then_committed(stop):
    group, log = Scripted(stop, [b""] * 9, [b""] * 6), Log()
    reports = extract(group, log, stop)
    assert log.stretches(0) == [(n, n + 1) for n in range(9)]
    assert log.stretches(1) == [(n, n + 1) for n in range(6)]
    assert group.committed == {0: 9, 1: 6}
    for one in log.read(0):
        assert one.analyzer == ANALYZER
        assert one.analysis == analysis(decode(one.record).document)
    assert sum(report.documents for report in reports) == 15


def test_what_is_no_document_is_published_as_it_came_for_the_writer_to_reject(stop):
    group, log = Scripted(stop, [b"not json", "nothing", None]), Log()
    extract(group, log, stop)
    first, second, third = log.read(0)
    assert (first.record.value, first.analysis) == (b"not json", None)
    assert second.record is None
    assert third.analysis.document_id == "d0.2"


def test_a_failed_publication_is_repeated_from_the_commit_without_a_gap(stop):
    group, log = Scripted(stop, [b""] * 8), Log(fails=1)
    extract(group, log, stop)
    seen = 0
    for since, until in log.stretches(0):
        assert since <= seen
        seen = max(seen, until)
    assert seen == group.committed[0] == 8


def test_brokers_that_are_away_for_a_while_are_waited_for(stop):
    group, log = Scripted(stop, [b""] * 3, away=4), Log()
    extract(group, log, stop)
    assert log.stretches(0) == [(0, 1), (1, 2), (2, 3)]


def test_a_partition_that_went_while_it_was_analysed_is_neither_published_nor_committed(stop):
    group, log = Scripted(stop, [b""] * 4, [b""] * 4, goes=(1, 8)), Log()
    reports = extract(group, log, stop)
    assert log.stretches(0) == [(n, n + 1) for n in range(4)]
    assert log.stretches(1) == []
    assert all(("news", 1) not in until for until in group.history)
    assert sum(report.dropped for report in reports) == 4


def test_what_it_has_is_told_also_when_it_has_nothing_to_do(stop):
    group = Scripted(stop, [""] * 40, [""] * 40, goes=(0, 60))
    standing = []
    made = Extractor(
        group,
        Pool(),
        Log(),
        ANALYZER,
        ConsumerSettings(batch_records=4, poll_wait=0.0),
        observe=lambda _: standing.append(made.standing()),
    )
    made.run(stop)
    assert standing[0].partitions == 2
    assert standing[0].lag > 0
    # The partition that went is not its lag any more.
    assert made.standing() == Standing(lag=0, partitions=1)


def test_a_commit_that_the_group_refuses_ends_nothing(stop):
    group, log = Scripted(stop, [b""] * 3, moved=True), Log()
    reports = extract(group, log, stop)
    assert [report.committed for report in reports] == [False]


def test_what_is_too_large_goes_without_its_analysis_then_without_its_text(stop):
    text = json.dumps({"id": "d0.1", "text": "word " * 200, "title": "t"}).encode()
    values = [b"", text, message("d0.2"), text, b""]
    group, log = Scripted(stop, values, [b""] * 2), Log(largest=800)
    reports = extract(group, log, stop)
    taken = 0  # a reader takes what follows on what it has, and nothing else
    for since, until in log.stretches(0):
        taken = until if since == taken else taken
    assert taken == len(values)
    assert log.stretches(1) == [(0, 1), (1, 2)]
    large = next(one for one in log.read(0) if one.since == 1)
    assert large.analysis is None
    assert decode(large.record).reason is Reason.UNREADABLE
    assert sum(report.left_out for report in reports) == 2


class Never(Pool):
    """A pool whose work does not end; stopping is asked for while it is under way."""

    def __init__(self, stop):
        super().__init__(workers=1)
        self._stop = stop

    def submit(self, documents):
        self._stop.set()
        return Future()


def test_what_is_not_analysed_in_time_is_left_to_others_on_stopping(stop):
    group, log = Scripted(stop, [b""] * 3), Log()
    made = Extractor(
        group,
        Never(stop),
        log,
        ANALYZER,
        ConsumerSettings(poll_wait=0.0),
        observe=lambda _: None,
        drain=0.05,
    )
    made.run(stop)
    assert log.values == {}
    assert group.committed == {0: 0}


class Away(Pool):
    """A pool whose embedder is away once."""

    times = 1

    def submit(self, documents):
        if not self.times:
            return super().submit(documents)
        self.times -= 1
        done = Future()
        done.set_exception(EmbedderAwayError("away"))
        return done


def test_a_run_after_one_that_failed_begins_at_the_commit(stop):
    group, log = Scripted(stop, [b""] * 3), Log()
    made = Extractor(
        group,
        Away(),
        log,
        ANALYZER,
        ConsumerSettings(poll_wait=0.0),
        observe=lambda _: None,
    )
    with pytest.raises(EmbedderAwayError):
        made.run(stop)
    made.run(stop)
    assert log.stretches(0) == [(0, 1), (1, 2), (2, 3)]
