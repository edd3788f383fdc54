"""When a consumer counts as hanging, and when it is only slow, idle or without its source."""

import threading
from concurrent.futures import Future

import pytest

from stream.consumer import Consumer, ConsumerSettings
from stream.errors import SourceUnavailableError
from stream.watchdog import Activity, Phase, WatchLimits, fault
from tests.index.simple import open_writer
from tests.stream.test_consumer import NoGrouping, Pool, Scripted, message

LIMITS = WatchLimits(read=10, analyze=20, commit=30, group=40, stall=50)


@pytest.mark.parametrize(
    ("phase", "limit", "words"),
    [
        (Phase.READ, 10, "a poll of the source has not returned"),
        (Phase.ANALYZE, 20, "the analysis of a batch has not ended"),
        (Phase.COMMIT, 30, "the commit of a generation has not ended"),
        (Phase.GROUP, 40, "the adoption of communities has not ended"),
    ],
)
def test_a_phase_has_its_longest_time(phase, limit, words):
    assert fault(Activity(phase, limit), LIMITS) is None
    assert (
        fault(Activity(phase, limit + 1), LIMITS)
        == f"{words} after {limit + 1} s (limit {limit} s)"
    )


@pytest.mark.parametrize("phase", [Phase.STOPPED, Phase.FINISH])
def test_long_work_may_take_its_time(phase):
    assert fault(Activity(phase, 100_000), LIMITS) is None


def test_a_source_that_has_more_and_gives_nothing_is_a_fault():
    assert fault(Activity(Phase.READ, 1, stalled=50), LIMITS) is None
    assert "gave nothing for 51 s" in fault(Activity(Phase.READ, 1, stalled=51), LIMITS)


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


class Source(Scripted):
    """Gives what it has, holds it back, or is away, as it is told; each poll takes a second."""

    def __init__(self, values, clock):
        super().__init__(values)
        self.clock, self.mood, self.then = clock, "gives", lambda: None

    def poll(self, max_records, timeout):
        self.clock.now += 1
        self.then()
        if self.mood == "away":
            raise SourceUnavailableError("away")
        return [] if self.mood == "holds" else super().poll(max_records, timeout)


@pytest.fixture
def consumer(tmp_path):
    clock, writer = Clock(), open_writer(tmp_path)
    source = Source([message("a", "oil"), message("b", "ship")], clock)
    settings = ConsumerSettings(batch_records=1, poll_wait=0.0)
    made = Consumer(
        source,
        writer,
        Pool(0),
        NoGrouping(),
        settings,
        observe=lambda _: None,
        clock=clock,
        monotonic=clock,
    )
    made.source, made.clock = source, clock
    yield made
    writer.close()


def test_a_source_that_holds_back_what_it_has_is_stalled_until_it_gives(consumer):
    stop, seen = threading.Event(), []

    def then():
        seen.append(consumer.status())
        if len(seen) == 5:
            consumer.source.mood = "gives"
        if len(seen) == 8:
            stop.set()

    consumer.source.mood, consumer.source.then = "holds", then
    consumer.run(stop)
    assert [one.activity.stalled for one in seen[:5]] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert seen[4].freshness == 4.0
    assert seen[-1].activity.stalled == 0.0
    assert consumer.status().freshness == 0.0
    assert consumer.status().records == 2


def test_a_source_that_is_away_is_not_stalled_and_told_of(consumer):
    stop, seen = threading.Event(), []

    def then():
        seen.append(consumer.status())
        if len(seen) == 4:
            stop.set()

    consumer.source.mood, consumer.source.then = "away", then
    consumer.run(stop)
    assert all(one.activity.stalled == 0.0 for one in seen)
    assert seen[-1].away


def test_the_phase_tells_what_the_consumer_is_at(consumer):
    stop, phases = threading.Event(), []
    consumer.source.then = lambda: phases.append(consumer.status().activity.phase)

    class Slow(Pool):
        def submit(self, documents):
            found = super().submit(documents).result()
            late = Future()
            late.result = lambda: (phases.append(consumer.status().activity.phase), found)[1]
            return late

    consumer._pool = Slow(0)
    consumer._observe = lambda _: (phases.append(consumer.status().activity.phase), stop.set())
    consumer.run(stop)
    assert phases == [Phase.READ, Phase.ANALYZE, Phase.COMMIT]
    assert consumer.status().activity.phase is Phase.STOPPED
