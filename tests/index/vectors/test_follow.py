"""The follower and the merged search, over a real store and every vector index."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from index.errors import VectorIndexError
from index.store.follower import Follower
from index.types import Millis, to_millis
from index.vectors.breaker import Backoff, Breaker
from index.vectors.compare import compare
from index.vectors.follower import FollowSettings, VectorFollower
from index.vectors.protocol import Condition, VectorIndex, wanted_tokens
from index.vectors.similarity import ExactSimilarity, IndexedSimilarity
from index.view import mask_rows
from tests.index.simple import START, Feed, commit, open_writer
from tests.index.vectors.indexes import make, points

GRACE = 130_000

FILTERED = [
    (Condition(source=("post",)), lambda d: d.source == "post"),
    (Condition(lang=("de", "fr")), lambda d: d.lang in {"de", "fr"}),
    (Condition(where=wanted_tokens({"n": 1})), lambda d: d.metadata.get("n") == 1),
    (
        Condition(observed_at=(Millis(to_millis(START) + 120_000), None)),
        lambda d: d.observed_at >= to_millis(START) + 120_000,
    ),
    (
        Condition(event_at=(None, Millis(to_millis(START))), source=("wire",)),
        lambda _: False,
    ),
]


class Clock:
    """Seconds that a test moves; milliseconds since 1970 from the writer's clock on."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@dataclass
class World:
    """A store, an index that follows it, and the search over both."""

    directory: Path
    index: VectorIndex
    clock: Clock = field(default_factory=Clock)
    later: int = 0
    page: int = 4

    def __post_init__(self) -> None:
        self.writer = open_writer(self.directory)
        self.feed = Feed()
        self.breaker = Breaker(self.clock, Backoff())
        self.follower = self.following()
        self.similar = IndexedSimilarity(self.index, self.breaker, 0, self.clock)

    def following(self, owner: str = "me") -> VectorFollower:
        return VectorFollower(
            self.index,
            self.directory,
            owner,
            FollowSettings(page=self.page, grace=GRACE, audit=60.0),
            clock=self.clock,
            now=lambda: self.writer.latest().head.committed_at + self.later,
        )

    def add(self, *keys: str, text: str = "alpha {0}\nbeta {0}", **more) -> None:
        commit(self.writer, [self.feed.upsert(k, text.format(k), **more) for k in keys])

    def remove(self, *keys: str) -> None:
        commit(self.writer, [self.feed.delete(key) for key in keys])

    def follow(self) -> list:
        self.clock.seconds += 2  # what was read of the mark is old
        return self.follower.catch_up()

    def ids(self) -> set[int]:
        return {one for page in self.index.ids() for one in page}

    def alive(self) -> set[int]:
        snapshot = self.writer.latest()
        return set(snapshot.slots[snapshot.alive].tolist())

    def same(self, depth: int = 3, condition: Condition | None = None, documents=None) -> bool:
        """Whether the merged search finds what the exact one finds, by the index."""
        self.clock.seconds += 2
        with self.writer.pin() as view:
            return same(view, self.similar, depth, condition or Condition(), documents)


def same(view, similar, depth, condition=None, documents=None) -> bool:
    snapshot = view.snapshot
    if documents is None:
        documents = np.ones(len(snapshot.documents), np.bool_)
    rows = mask_rows(snapshot, documents)
    condition = condition or Condition()
    lookup = similar.over(view, rows, condition)
    exact = ExactSimilarity().over(view, rows, condition)
    for row in range(0, snapshot.rows, 3):
        vector = snapshot.segments[0].vectors[row % snapshot.segments[0].rows]
        merged, true = lookup.best(vector, depth), exact.best(vector, depth)
        best = np.sort(true[rows])[::-1][:depth]
        assert np.allclose(np.sort(merged[rows])[::-1][:depth], best, atol=1e-6)
        assert not merged[~rows].any()
        some = np.arange(min(3, snapshot.rows))
        assert np.allclose(lookup.at(vector, some), exact.at(vector, some), atol=1e-6)
    return not lookup.degraded


def worlds(kind: str, directory: Path) -> Iterator[World]:
    for reopen in make(kind, directory):
        made = World(directory / "data", reopen())
        yield made
        made.writer.close()


@pytest.fixture(params=["memory", "server"])
def world(request, tmp_path):
    yield from worlds(request.param, tmp_path)


@pytest.fixture(params=["memory", "server", "edge"])
def every_world(request, tmp_path):
    """For the tests that must hold in the engine too, whose folder takes a second to make."""
    yield from worlds(request.param, tmp_path)


@pytest.fixture
def local(tmp_path):
    yield from worlds("memory", tmp_path)


def test_an_index_catches_up_page_by_page(every_world):
    world = every_world
    world.add("a", "b", "c", "d", "e")
    reports = world.follow()
    assert [report.upserted for report in reports] == [4, 4, 2]
    assert (reports[0].reset, reports[-1].behind, reports[-1].points) == ("it was not there", 0, 10)
    assert world.ids() == world.alive()
    assert world.same()
    assert world.follow()[-1].upserted == 0


def test_payloads_hold_what_filters_need(world):
    world.add("a", source="post", lang="de", metadata={"desk": "city", "n": 2})
    world.follow()
    payload = world.index.read([0])[0][1]
    assert payload["document"] == "a"
    assert (payload["source"], payload["lang"], payload["slot"]) == ("post", "de", 0)
    assert payload["where"] == ['desk="city"', "n=2"]
    assert payload["published_at"] == payload["event_at"] == to_millis(START)
    assert payload["observed_at"] == to_millis(START + timedelta(minutes=1))
    with world.writer.pin() as view:
        assert payload["chunk"].replace("-", "") == view.chunks([0])[0].id


def test_chunks_beyond_the_mark_are_searched_exactly(world):
    world.add("a", "b", "c")
    world.follow()
    world.add("d", "e")
    assert world.ids() < world.alive()
    assert world.same(depth=5)


def test_a_half_built_index_already_helps(world):
    world.add(*"abcdefgh")
    assert world.follower.step().behind
    assert world.same()


def test_retracted_chunks_are_never_found_and_swept_after_the_grace(every_world):
    world = every_world
    world.add("a", "b", "c", "d")
    world.follow()
    world.remove("b")
    world.add("c", text="gamma {0}")
    world.follow()
    assert world.ids() > world.alive()
    assert world.same(depth=4)
    world.later = GRACE
    assert sum(report.deleted for report in world.follow()) == 4
    assert world.ids() == world.alive()
    assert world.same(depth=4)


def test_an_older_snapshot_still_finds_what_it_holds(world):
    world.add("a", "b", "c", "d")
    world.follow()
    with world.writer.pin() as view:
        world.remove("b", "d")
        world.add("a", text="other words {0}")
        world.add("x", "y")
        world.follow()
        assert same(view, world.similar, 4)
        world.clock.seconds += 2
        world.later = GRACE
        world.add("z")
        world.follow()
        assert same(view, world.similar, 4)  # swept: the snapshot alone answers


def test_what_came_and_went_between_two_steps_is_not_missed(world):
    world.add("a", "b")
    world.follow()
    world.add("c", "d")
    with world.writer.pin() as view:
        world.remove("c")
        world.follow()
        world.clock.seconds += 2
        assert same(view, world.similar, 4)
    assert world.same(depth=4)


def test_the_same_text_withdrawn_and_brought_back_is_found(world):
    world.add("a", "b")
    world.follow()
    world.remove("a")
    world.add("a")
    world.follow()
    assert world.same(depth=4)
    world.later = GRACE
    world.follow()
    assert world.ids() == world.alive()
    assert world.same(depth=4)


def test_filters_mean_the_same_to_index_and_snapshot(every_world):
    world = every_world
    world.add("a", "bb", source="post", metadata={"n": 1})
    world.add("c", "dd", lang="de", metadata={"n": True})
    world.add("e", "ff", lang="fr", source="post", metadata={"n": "1"})
    world.follow()
    world.add("gg", lang="de", source="post", metadata={"n": 1.0})
    with world.writer.pin() as view:
        numbers = view.snapshot.documents.tolist()
        found = view.documents(numbers)
    for condition, chosen in FILTERED:
        documents = np.array([chosen(found[number]) for number in numbers])
        assert world.same(depth=4, condition=condition, documents=documents), condition


def test_a_lost_index_is_made_anew(world):
    world.add("a", "b", "c")
    world.follow()
    world.index.reset(8)
    reports = world.follow()
    assert reports[0].reset
    assert world.ids() == world.alive()
    assert world.same()


def test_lost_points_come_back_and_strangers_go(every_world):
    world = every_world
    world.add("a", "b", "c")
    world.follow()
    world.index.delete([1, 2])
    world.index.upsert(points([77, 78, 79]))
    world.clock.seconds += 61
    report = world.follower.step()
    assert (report.upserted, report.deleted) == (2, 3)
    assert world.ids() == world.alive()
    assert world.same()


def test_comparing_tells_what_lacks_what_is_too_much_and_what_differs(every_world):
    world = every_world
    world.add("a", "b", "c")
    world.follow()
    assert all(check.ok for check in compare(world.index, world.directory, "me"))
    world.index.delete([1])
    world.index.upsert(points([77]))
    world.index.upsert(points([2], source=lambda _: "forged"))
    found = {check.name: check for check in compare(world.index, world.directory, "me")}
    assert not any(found[name].ok for name in ("points that lack", "points too many"))
    assert not found["vectors and payloads"].ok


def test_another_directorys_index_is_left_alone(local):
    local.add("a", "b")
    local.follow()
    before = local.index.mark()
    with pytest.raises(VectorIndexError, match="another data directory"):
        local.following("somebody else").step()
    assert local.index.mark() == before


def test_a_collection_without_a_mark_that_holds_points_is_left_alone(local):
    local.add("a")
    local.index.reset(8)
    local.index.upsert(points([5]))
    with pytest.raises(VectorIndexError, match="not this index's"):
        local.follow()
    assert local.ids() == {5}


def test_a_store_of_another_history_is_followed_anew(local, tmp_path):
    local.add("a", "b")
    local.follow()
    other = World(tmp_path / "restored", local.index)
    other.add("x", "y")
    assert other.following().catch_up()[0].reset == "the store is another one than it followed"
    assert other.ids() == other.alive()
    with local.writer.pin() as view:  # its points are foreign now: the snapshot alone answers
        assert same(view, local.similar, 3)
    other.writer.close()


def test_a_follower_in_another_process_searches_by_the_same_index(local):
    local.add("a", "b", "c")
    local.follow()
    reader = Follower.open(local.directory)
    with reader.pin() as view:
        assert same(view, local.similar, 3)
    reader.close()


class Broken:
    """An index that can be told to fail or to lie; the rest is a real one's."""

    def __init__(self, index: VectorIndex) -> None:
        self._index = index
        self.name = index.name
        self.calls = 0
        self.lie = None

    def __getattr__(self, name: str):
        method = getattr(self._index, name)

        def called(*args):
            self.calls += 1
            if self.lie == "down":
                raise VectorIndexError("down")
            result = method(*args)
            return self._lie(result) if name == "search" and self.lie else result

        return called

    def _lie(self, hits):
        lies = {
            "empty": lambda: replace(hits, slots=hits.slots[:0], scores=hits.scores[:0]),
            "scores": lambda: replace(hits, scores=hits.scores * 0 + 0.123),
            "strangers": lambda: replace(hits, slots=hits.slots + 1_000_000),
            "again": lambda: replace(hits, slots=hits.slots * 0 + hits.slots[0]),
        }
        return lies[self.lie]()


@pytest.fixture
def broken(local):
    local.index = Broken(local.index)
    local.follower = local.following()
    local.similar = IndexedSimilarity(local.index, local.breaker, 0, local.clock)
    local.add("a", "b", "c")
    local.follow()
    return local


@pytest.mark.parametrize("lie", ["empty", "scores", "strangers", "again", "down"])
def test_whatever_an_index_answers_the_results_are_exact_and_degraded(broken, lie):
    assert broken.same()
    broken.index.lie = lie
    assert not broken.same()
    broken.index.lie = None
    broken.clock.seconds += 60
    assert broken.same()


def test_an_index_that_is_down_is_asked_less_and_less(broken):
    broken.index.lie = "down"
    broken.same()
    calls = broken.index.calls
    for _ in range(200):
        broken.clock.seconds -= 1.5  # ``same`` moves it by two
        broken.same()
    assert broken.index.calls - calls < 10
    broken.index.lie = None
    broken.clock.seconds += 31
    assert broken.same()


def test_a_small_store_is_searched_exactly_and_still_tells_of_a_failure(broken):
    broken.similar = IndexedSimilarity(broken.index, broken.breaker, 1_000, broken.clock)
    searched = broken.index.calls
    assert broken.same()
    assert broken.index.calls == searched + 1  # the mark
    broken.index.lie = "down"
    assert not broken.same()


def kinds(steps: Sequence[int]) -> list[str]:
    return [("add", "edit", "remove", "follow", "sweep")[step] for step in steps]


@pytest.mark.parametrize("seed", range(4))
def test_any_order_of_events_leaves_index_and_store_in_agreement(local, seed):
    random = np.random.default_rng(seed)
    living: list[str] = []
    local.add("seed")
    for number, kind in enumerate(kinds(random.integers(0, 5, 30))):
        if kind == "add":
            living.append(f"d{number}")
            local.add(living[-1])
        elif kind == "edit" and living:
            local.add(living[0], text=f"epsilon {number} {{0}}\nzeta {number}")
        elif kind == "remove" and living:
            local.remove(living.pop(int(random.integers(len(living)))))
        elif kind == "follow":
            local.follower.step()
        else:
            local.later = GRACE * int(random.integers(2))
        assert local.same(depth=4), f"seed {seed}, step {number}, {kind}"
    local.later = GRACE
    local.follow()
    assert local.ids() == local.alive()
