"""A full run on a copy, taken over with what came meanwhile: every invariant, against a recount."""

from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index.communities import live as live_module
from index.communities.dynamic import DynamicSettings
from index.communities.fullrun import GroupingSettings, full_run
from index.communities.hierarchy import Hierarchy
from index.communities.live import LiveCommunities
from index.communities.pruning import PruningSettings
from index.counts.delta import chunk_delta, summed
from index.counts.graph import Counts
from tests.index.communities.dynamics import validate
from tests.index.communities.test_dynamic import stream, validate_adoption

PRUNING = PruningSettings(remove_ego=True, weakest_percent=20.0)
GROUPING = GroupingSettings(max_size=8, pruning=PRUNING)
SEEDS = st.integers(0, 10_000)


def nothing():
    return LiveCommunities(Counts(), Hierarchy.empty(0), None, 1, DynamicSettings(max_size=8))


@settings(max_examples=12)
@given(SEEDS, st.lists(st.integers(0, 5), min_size=2, max_size=4), st.sampled_from([1, 1 << 20]))
def test_what_came_while_a_run_was_made_is_in_the_hierarchy_that_is_taken_over(
    seed, meanwhile, noted
):
    """Any number of batches, summed up or not, concepts born and gone; one run after another."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(live_module, "_NOTED", noted)
        runs_with_batches_meanwhile(seed, meanwhile)


def runs_with_batches_meanwhile(seed, meanwhile):
    batches, live, ever = stream(seed, 99), nothing(), set()
    live.apply(chunk_delta(*next(batches)))
    for count in meanwhile:
        asked = deepcopy(live.begin_run(PRUNING))
        for _ in range(count):
            live.apply(chunk_delta(*next(batches)))
            ever |= set(live.hierarchy.ids.tolist())
        found = full_run(asked, GROUPING)
        before = live.hierarchy
        for adoption in live.take_over(found).adoptions:
            validate_adoption(before, adoption, ever)
            before = adoption.hierarchy
            ever |= set(before.ids.tolist())
        validate(live._dynamic, 8)
        live.apply(chunk_delta(*next(batches)))
        validate(live._dynamic, 8)


def test_a_run_is_taken_over_once_and_only_where_what_came_since_is_known():
    live = nothing()
    live.apply(chunk_delta(*next(stream(1, 1))))
    found = full_run(live.begin_run(PRUNING), GROUPING)
    live.end_run()
    with pytest.raises(ValueError, match="not known"):
        live.take_over(found)
    live.take_over(full_run(live.begin_run(PRUNING), GROUPING))
    assert not live.awaits


@given(SEEDS)
def test_deltas_add_up_to_that_of_all_their_chunks(seed):
    steps = list(stream(seed, 6))
    parts = [chunk_delta(added, removed) for added, removed in steps]
    whole = chunk_delta(*([c for step in steps for c in step[i]] for i in range(2)))
    found = summed(parts)
    for name in ("concepts", "df", "u", "v", "dw"):
        assert np.array_equal(getattr(found, name), getattr(whole, name))
        assert getattr(found, name).dtype == getattr(whole, name).dtype
    assert len(summed([]).u) == 0
