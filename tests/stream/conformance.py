"""What every source must do, whatever it reads; one subclass for each implementation."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from index.types import Record
from stream.errors import PositionLostError
from stream.source import Source


@dataclass
class FakeTime:
    """A clock that only sleeping moves; ``on_sleep`` runs once, at the first sleep."""

    now: float = 1_800_000_000.0
    slept: list[float] = field(default_factory=list)
    on_sleep: Callable[[], None] | None = None

    def clock(self):
        return self.now

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds
        if self.on_sleep is not None:
            act, self.on_sleep = self.on_sleep, None
            act()


class Harness:
    """Makes what a source reads, and the source. ``time`` drives its waiting where it can."""

    time: FakeTime

    def publish(self, values: Sequence[bytes]) -> None:
        raise NotImplementedError

    def open(self) -> Source:
        raise NotImplementedError


def drain(source: Source, step: int = 7) -> list[Record]:
    """Everything up to the ends seen now, polled in steps."""
    ends, found = source.end_offsets(), []
    deadline = time.monotonic() + 30
    while any(source.positions()[at] < end for at, end in ends.items()):
        assert time.monotonic() < deadline, (source.positions(), ends)
        records = source.poll(step, 0.2)
        assert len(records) <= step
        found += records
    return found


def bodies(count: int, start: int = 0) -> list[bytes]:
    return [b'{"id": "%d", "text": "text %d"}' % (n, n) for n in range(start, start + count)]


class SourceConformance:
    """Subclasses give the fixture ``harness``."""

    def read(self, harness, positions=None, **how):
        source = harness.open()
        try:
            source.seek(positions or {})
            return drain(source, **how)
        finally:
            source.close()

    def test_reads_all_records_once_and_in_order(self, harness):
        harness.publish(bodies(50))
        records = self.read(harness)
        assert sorted(record.value for record in records) == sorted(bodies(50))
        for at in {(r.position.topic, r.position.partition) for r in records}:
            of_one = [r for r in records if (r.position.topic, r.position.partition) == at]
            offsets = [r.position.offset for r in of_one]
            assert offsets == sorted(set(offsets))
            numbers = [int(r.value.split(b'"')[3]) for r in of_one]
            assert numbers == sorted(numbers)

    def test_resumes_exactly_after_each_record(self, harness):
        """Whatever was committed last, the next reader gets all the rest and nothing twice."""
        harness.publish(bodies(12))
        everything = self.read(harness)
        positions = {}
        for count, record in enumerate(everything, start=1):
            at = (record.position.topic, record.position.partition)
            positions[at] = record.position.offset + 1
            rest = self.read(harness, positions)
            assert {r.position for r in rest} == {r.position for r in everything[count:]}

    def test_seeks_backwards(self, harness):
        harness.publish(bodies(5))
        source = harness.open()
        first = drain(source)
        source.seek({})
        again = drain(source)
        source.close()
        assert {r.position for r in again} == {r.position for r in first}
        assert len(again) == 5

    def test_a_poll_gives_no_more_than_asked_for(self, harness):
        harness.publish(bodies(10))
        source = harness.open()
        source.seek({})
        assert len(source.poll(1, 1.0)) == 1
        assert len(drain(source, step=4)) == 9
        source.close()

    def test_an_empty_poll_ends_with_its_timeout(self, harness):
        harness.publish(bodies(1))
        source = harness.open()
        source.seek({})
        drain(source)
        before = harness.time.clock()
        assert source.poll(10, 0.5) == []
        assert harness.time.clock() - before == pytest.approx(0.5, abs=0.25)
        source.close()

    def test_lag_counts_down_to_nothing(self, harness):
        harness.publish(bodies(9))
        source = harness.open()
        source.seek({})
        assert sum(source.lag().values()) == 9
        taken = len(source.poll(4, 1.0))
        assert sum(source.lag().values()) == 9 - taken
        drain(source)
        assert sum(source.lag().values()) == 0
        source.close()

    def test_positions_reach_the_ends_seen_at_the_start(self, harness):
        harness.publish(bodies(9))
        source = harness.open()
        source.seek({})
        ends = source.end_offsets()
        assert set(ends) == set(source.partitions())
        assert any(source.positions()[at] < end for at, end in ends.items())
        drain(source)
        assert source.positions() == ends
        source.close()

    def test_a_source_without_records_is_at_its_end(self, harness):
        harness.publish([])
        source = harness.open()
        source.seek({})
        assert source.poll(10, 0.0) == []
        assert source.positions() == source.end_offsets()
        assert sum(source.lag().values()) == 0
        source.close()

    def test_positions_of_other_sources_are_ignored(self, harness):
        harness.publish(bodies(3))
        assert len(self.read(harness, {("another topic", 0): 17, ("another topic", 9): 1})) == 3

    def test_a_position_beyond_the_end_is_an_error(self, harness):
        """It happens where a topic or a file was made anew."""
        harness.publish(bodies(3))
        source = harness.open()
        at = source.partitions()[0]
        with pytest.raises(PositionLostError, match=r"anew|another file"):
            source.seek({at: 1000})
        source.close()

    def test_closing_twice_is_harmless(self, harness):
        harness.publish(bodies(1))
        source = harness.open()
        source.close()
        source.close()


class GrowingConformance(SourceConformance):
    """For sources that may get more while they are read."""

    def test_what_comes_during_a_poll_ends_it(self, harness):
        harness.publish(bodies(1))
        source = harness.open()
        source.seek({})
        drain(source)
        harness.time.on_sleep = lambda: harness.publish(bodies(2, start=1))
        before = harness.time.clock()
        assert len(source.poll(10, 5.0)) > 0
        assert harness.time.clock() - before < 1.0
        source.close()

    def test_the_end_seen_at_the_start_stays_where_it_was(self, harness):
        harness.publish(bodies(3))
        source = harness.open()
        source.seek({})
        ends = source.end_offsets()
        harness.publish(bodies(4, start=3))
        assert sum(ends.values()) == 3
        assert sum(source.end_offsets().values()) == 7
        assert len(drain(source)) == 7
        source.close()
