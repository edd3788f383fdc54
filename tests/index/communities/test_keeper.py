"""Full runs beside the writer: when they are made, what is adopted, and that the stream goes on."""

import pytest

from index.communities.fullrun import GroupingSettings
from index.communities.keeper import CommunityKeeper, due
from index.communities.pruning import PruningSettings
from index.store.follower import Follower
from index.verify import verify
from tests.index.simple import commit
from tests.index.test_live import STORIES, failing_commit, started

WHOLE = PruningSettings(remove_ego=False, weakest_percent=10.0)


def grouping(**more):
    return GroupingSettings(interval=0.0, max_size=4, pruning=WHOLE, **more)


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ({"changed": 0.0, "fallen": 0.0}, False),
        ({"changed": 0.09, "fallen": 0.0}, False),
        ({"changed": 0.09, "fallen": 0.06}, True),
        ({"changed": 0.11, "fallen": 0.0}, True),
        ({"changed": 0.11, "fallen": 0.0, "since_last": 1.0}, False),
        ({"changed": 0.11, "fallen": 0.0, "idle": False}, True),
        ({"changed": 0.11, "fallen": 0.0, "idle": False, "last_took": 10.0}, False),
    ],
)
def test_a_run_is_due_when_enough_changed_and_there_is_time(state, expected):
    usual = {"idle": True, "since_last": 3.0, "last_took": 0.1, "settings": GroupingSettings()}
    assert due(**usual | state) == expected


def test_a_run_that_is_no_better_is_refused_and_told(tmp_path):
    writer, feed = started(tmp_path)
    commit(writer, [feed.upsert(f"e{i}", text) for i, text in enumerate(STORIES)])
    before = writer.latest().hierarchy
    keeper = CommunityKeeper(writer, grouping(drift=0.01))
    assert list(keeper.finish()) == []
    kept = keeper.keep_up()
    keeper.close()
    assert (kept.refused, kept.adopted, kept.epoch, kept.changed) == (1, 0, 1, 0.0)
    assert kept.quality is not None
    assert kept.quality > 0
    assert writer.latest().hierarchy is before
    writer.close()


def test_a_better_run_is_adopted_with_what_came_meanwhile(tmp_path):
    writer, feed = started(tmp_path)
    follower = Follower.open(tmp_path)
    topics = ["sun moon star", "cat dog bird", "red green blue"]
    many = [f"{t}\n{t} {STORIES[i % 4]}" for i, t in enumerate(topics * 2)]
    commit(writer, [feed.upsert(f"m{i}", text) for i, text in enumerate(many)])
    keeper = CommunityKeeper(writer, grouping(drift=0.1, margin=-1.0))
    keeper.step(idle=True)
    assert keeper.keep_up().running
    commit(writer, [feed.upsert("late", "\n".join(["oil comet sun comet"] * 5)), feed.delete("m0")])
    before = writer.latest().hierarchy
    report = next(keeper.finish())
    keeper.close()
    assert report.concepts_moved > 0
    grouped, comet = writer.latest().hierarchy, writer.latest().concept("comet")
    assert grouped.epoch == 2
    assert grouped.leaf[comet] >= 0, "what came while the run was made is grouped too"
    assert set(grouped.ids.tolist()) & set(before.ids.tolist()), "ids are taken over"
    follower.refresh()
    assert follower.latest().hierarchy.leaf.tolist() == grouped.leaf.tolist()
    assert verify(tmp_path).ok
    follower.close()
    writer.close()


def test_a_run_is_dropped_where_a_transaction_failed_meanwhile(tmp_path):
    """What came since it began is not known then; the next one is made from the counts anew."""
    writer, feed = started(tmp_path)
    commit(writer, [feed.upsert(f"e{i}", text) for i, text in enumerate(STORIES)])
    keeper = CommunityKeeper(writer, grouping(drift=0.1, margin=-1.0))
    keeper.step(idle=True)
    failing_commit(writer, feed)
    commit(writer, [feed.upsert("late", "oil comet sun comet\noil comet")])
    reports = list(keeper.finish())
    keeper.close()
    assert len(reports) == keeper.keep_up().adopted == 1
    assert verify(tmp_path).ok
    writer.close()


def test_an_epoch_that_was_outgrown_is_renewed(tmp_path):
    """Weights are rounded against the moment when the epoch began; tenfold growth starves them."""
    writer, feed = started(tmp_path)
    keeper = CommunityKeeper(writer, grouping(drift=1e9))
    keeper.step(idle=True)
    commit(writer, [feed.upsert("d4", STORIES[0])])
    keeper.step(idle=True)
    assert keeper.keep_up().quality > 0.1
    many = [f"sun moon star {i}\n{STORIES[i % 4]}" for i in range(36)]
    commit(writer, [feed.upsert(f"m{i}", text) for i, text in enumerate(many)])
    keeper.step(idle=True)
    assert keeper.keep_up().running, "the quality fell, however little is said to have changed"
    keeper.close()
    writer.close()
