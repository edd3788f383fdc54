"""The counts and the communities alone: exactness is tested elsewhere, here it is timed.

Times are seconds of one processor, so that a busy machine does not spoil the ratios. "Static" is
what a batch would cost without the dynamic hierarchy: one library's graph object built and one
level of Leiden run, pruning not counted. The fastest library counts that reaches 0.99 of the best
modularity, the bar that the dynamic hierarchy is held to itself.
"""

import gc
import statistics
from collections.abc import Iterator

import numpy as np
import psutil

from index.communities.dynamic import DynamicCommunities, DynamicSettings, Work
from index.communities.fullrun import GroupingSettings, full_run
from index.communities.hierarchy import Hierarchy
from index.communities.live import LiveCommunities
from index.counts.delta import chunk_delta
from index.counts.graph import Counts
from index.store.array_file import read_arrays, write_arrays
from index.types import Delta, Int32Array
from tests.bench.prepared import Prepared, reuters
from tests.bench.stability import Before, Stability, kept, stability
from tests.bench.stability import rows as stable_rows
from tests.bench.static import fastest, static_seconds
from tests.bench.table import BUILD, Row
from tests.bench.worlds import Judge, World, begun, cpu, graph_of, quality, undone

BATCHES = 20
_STEP = 5  # chunks in and as many out: about a thousand pairs
_WINDOW_DAYS = 14
_KEEP = 2_000  # documents of the window of the counts


def run() -> list[Row]:
    """All figures of the area."""
    stories = reuters()
    rows = counts_alone(stories)
    rows += small_batches()
    rows += harsh()
    rows += large(next(row.value for row in rows if row.name == _AT_A_MILLION))
    return rows + replay(stories)


_AT_A_MILLION = "1M edges: a batch of a thousand, all levels"


def counts_alone(stories: Prepared) -> list[Row]:
    """Prepared stories into the counts, in batches of fifty: growing, then with a full window."""
    counts, pairs, rows = Counts(), 0, []
    few = range(0, 8_000, 50)
    spent = 0.0
    for at in few:
        seconds, delta = cpu(lambda at=at: _taken(counts, stories, at, at))
        spent, pairs = spent + seconds, pairs + len(delta.u)
    rows.append(Row("counts alone, Reuters", 8_000 / spent, "documents/CPU-s", ">= 3000"))
    rows.append(Row("a pair of a delta", spent / pairs * 1e6, "us", "<= 1"))
    full = Counts()
    _taken(full, stories, 0, 0, _KEEP)
    times = [
        cpu(lambda at=at: _taken(full, stories, at, at - _KEEP))[0]
        for at in range(_KEEP, 8_000, 50)
    ]
    rate = len(times) * 50 / sum(times)
    rows.append(Row(f"the same, a window of {_KEEP:,} full", rate, "documents/CPU-s"))
    rows.append(
        Row(
            "memory, the window turned over",
            full.nbytes / full.edge_count,
            "bytes an edge",
            "<= 40",
        )
    )
    return rows


def _taken(counts: Counts, stories: Prepared, at: int, end: int, count: int = 50) -> Delta:
    """Let ``count`` stories in from ``at`` on, and those before ``end`` out where it is less."""
    fresh = [chunk for story in range(at, at + count) for chunk in stories.chunks(story)]
    gone = [
        chunk
        for story in range(end, end + count if end < at else end)
        for chunk in stories.chunks(story)
    ]
    delta = chunk_delta(fresh, gone)
    counts.apply(delta)
    return delta


def small_batches() -> list[Row]:
    """A tenth of a percent of a million edges a batch."""
    world = World(1.0)
    counts = world.counts()
    runs = static_seconds(graph_of(counts)[1])
    name = fastest(runs)
    live = begun(counts)
    steps = list(_steps(live, world, BATCHES))
    took = statistics.median(seconds for seconds, _, _, _ in steps)
    told = [
        Row(f"1M edges: {library}, build and one level (Q {value:.3f})", seconds, "s")
        for library, (seconds, value) in runs.items()
    ]
    scans = [work.scanned / max(work.frontier_degree, 1) for _, work, _, _ in steps]
    return [
        *told,
        Row(_AT_A_MILLION, took * 1e3, "ms"),
        Row(f"1M edges: {name} / dynamic", runs[name][0] / took, "times", ">= 100"),
        Row("edges scanned, of the frontier's degrees", statistics.median(scans), "times", "<= 8"),
        *stable_rows("1M edges", [seen for _, _, seen, _ in steps]),
        *_levels("1M edges", live),
    ]


def harsh() -> list[Row]:
    """Two percent of the edges a batch, half of the new chunks about topics never seen."""
    world = World(1.0)
    counts = world.counts()
    live = begun(counts)
    half = round(0.005 * len(world.living))
    steps = list(_steps(live, world, 10, half, half))
    runs = static_seconds(graph_of(counts)[1])
    name = fastest(runs)
    took = statistics.median(seconds for seconds, _, _, _ in steps)
    pairs = statistics.median(pairs for _, _, _, pairs in steps)
    return [
        Row("harsh: pairs a batch, of the edges", 100 * pairs / counts.edge_count, "percent"),
        Row("harsh: a batch, all levels", took * 1e3, "ms"),
        Row(f"harsh: {name} / dynamic", runs[name][0] / took, "times", ">= 20"),
        *stable_rows("harsh", [seen for _, _, seen, _ in steps]),
        *_levels("harsh", live),
    ]


def large(small_ms: float) -> list[Row]:
    """Ten million edges and a million concepts."""
    process = psutil.Process()
    world = World(10.0)
    gc.collect()
    before = process.memory_info().rss
    counted, counts = cpu(world.counts)
    runs = static_seconds(graph_of(counts)[1])
    name = fastest(runs)
    live = begun(counts)
    gc.collect()
    steps = list(_steps(live, world, BATCHES))
    held = process.memory_info().rss - before
    took = statistics.median(seconds for seconds, _, _, _ in steps)
    again, _ = cpu(lambda: _restarted(live))
    BUILD.mkdir(parents=True, exist_ok=True)
    file = BUILD / "core.graph"
    written, _ = cpu(lambda: write_arrays(file, {}, counts.saved() | live.saved()))
    read, _ = cpu(lambda: _resumed(live, read_arrays(file)))
    file.unlink()
    return [
        Row(f"10M edges: {name}, build and one level", runs[name][0], "s"),
        Row("10M edges: a batch of a thousand, all levels", took * 1e3, "ms"),
        Row(f"10M edges: {name} / dynamic", runs[name][0] / took, "times", ">= 1000"),
        Row("10M / 1M edges, the same batch", took * 1e3 / small_ms, "times", "<= 2"),
        Row("10M edges: memory, hierarchy included", held / 1e9, "GB", "<= 1.5"),
        Row("10M edges: counted and settled anew, from chunks", counted + again, "CPU-s", "<= 60"),
        Row("10M edges: both arrays from a checkpoint", read, "CPU-s", "<= 5"),
        Row("10M edges: the checkpoint written", written, "CPU-s"),
    ]


def _resumed(live: DynamicCommunities, found: dict[str, np.ndarray]) -> DynamicCommunities:
    """What a start does with a checkpoint."""
    counts, next_id = Counts.restored(found), live._ledger.next_id
    return DynamicCommunities(counts, live.hierarchy, live._epoch, next_id, kept=found)


def _restarted(live: DynamicCommunities) -> None:
    """What a start does once the chunks are read: no state but counts, membership and epoch."""
    anew = DynamicCommunities(
        live._counts, live.hierarchy, live._epoch, live._ledger.next_id, queue_all=True
    )
    while anew.settle()[1].carried:
        pass


def replay(stories: Prepared) -> list[Row]:
    """Reuters in its own order, a window of two weeks, a step a day.

    Full runs are made as the product makes them: due by what has changed, adopted where clearly
    better. Each day is judged twice, at once and when its full run, if any, is in force.
    """
    live = LiveCommunities(Counts(), Hierarchy.empty(0), None, 1, DynamicSettings())
    live.counts.reserve(stories.concept_count)
    days = np.unique(stories.days)
    low = int(days[0])
    live.apply(chunk_delta(_between(stories, low, int(days[_WINDOW_DAYS])), []))
    _full_run(live)
    at_once, later, stayed, adopted, grouped = [], [], [], 0, live.changed
    for day in days[_WINDOW_DAYS:].tolist():
        gone = _between(stories, low, max(low, day - _WINDOW_DAYS))
        low = max(low, day - _WINDOW_DAYS)
        delta = chunk_delta(_between(stories, day, day + 1), gone)
        before = live.hierarchy
        live.apply(delta)
        placed = np.flatnonzero(before.leaf != Hierarchy.NONE)
        quiet = np.setdiff1d(placed, delta.concepts)
        stayed.append(kept(before, live.hierarchy, quiet).leaf)
        at_once += quality(live._dynamic)
        later.append(at_once[-1])
        if live.changed - grouped >= GroupingSettings().drift * live.counts.W:
            grouped = live.changed
            if _full_run(live):
                adopted += 1
                later[-1:] = quality(live._dynamic)
    of = "of the worst of 5 static"
    return [
        Row(f"Reuters, {len(later)} days: C0, {of}, worst day", min(later), "ratio", ">= 0.99"),
        Row("Reuters: the same, median day", statistics.median(later), "ratio", ">= 0.99"),
        Row("Reuters: the same before the day's full run, worst", min(at_once), "ratio"),
        Row("Reuters: the same, median day", statistics.median(at_once), "ratio", ">= 0.99"),
        Row("Reuters: days whose full run was clearly better", adopted, "days"),
        Row(
            "Reuters: kept their leaf over a day, median",
            100 * statistics.median(stayed),
            "percent",
        ),
    ]


def _full_run(live: LiveCommunities) -> bool:
    """Make a full run and put it in force where the product would; whether it did."""
    settings = GroupingSettings()
    found = full_run(live.begin_run(settings.pruning), settings)
    if live.epoch is not None and not found.clearly_better(settings):
        live.end_run()
        return False
    live.take_over(found)
    return True


def _between(stories: Prepared, first: int, end: int) -> list[Int32Array]:
    """The chunks of the stories of some days."""
    low, high = np.searchsorted(stories.days, [first, end]).tolist()
    return [chunk for story in range(low, high) for chunk in stories.chunks(story)]


def _steps(
    live: DynamicCommunities, world: World, batches: int, known: int = _STEP, unseen: int = 0
) -> Iterator[tuple[float, Work, Stability, int]]:
    """Seconds, work, stability and pairs of each batch, after two to warm up."""
    for batch in range(batches + 2):
        fresh = world.chunks(known) + world.unseen(unseen)
        delta = chunk_delta(*world.turn(fresh))
        before = Before.of(live)
        seconds, (_, work) = cpu(lambda delta=delta: live.apply(delta))
        if batch > 1:
            yield seconds, work, stability(before, live, delta), len(delta.u)


def _levels(name: str, live: DynamicCommunities) -> list[Row]:
    judge, levels = Judge.of(live, levels=4), tuple(map(live.hierarchy.at_level, range(4)))
    of = "of the worst of 5 static"
    told = [
        Row(f"{name}: modularity of C{k}, {of}", judge.ratio(levels, k), "ratio", ">= 0.99")
        for k in range(4)
    ]
    told += [
        Row(
            f"{name}: C{k}, communities beyond the range of 5 static",
            100 * judge.beyond(levels, k),
            "percent",
            "<= 15",
        )
        for k in range(4)
    ]
    # Communities that shrank below the size limit stay split for a while, so that they do not
    # flap; static runs know no before. What that costs is told apart from how well they are found.
    whole = judge.ratio(undone(live.hierarchy, levels), 3)
    return [
        *told,
        Row(f"{name}: C3, splits that outlived their size undone", whole, "ratio", ">= 0.99"),
    ]
