"""The rules of the search, each with scripted verdicts: no model, no store, no clock."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from query.lazy import ROOT, Descent, Groups, RelevanceTest, explore, search, shares
from query.settings import LazySettings
from query.types import Stopped

PURE = LazySettings(k=3, z=2, root_k=0, patience=1_000)


def tree(chunks, children=None, levels=None, ranked=None) -> Groups:
    """Groups from chunk lists by community, best communities in the order given."""
    children = children or {}
    below = {child for inside in children.values() for child in inside}
    everything = ranked or sorted({slot for held in chunks.values() for slot in held})
    return Groups(
        ranked=everything,
        chunks=chunks,
        order={community: place for place, community in enumerate(chunks)},
        children=children,
        level=levels or {c: (1 if c in below else 0) for c in chunks},
        first=[community for community in chunks if community not in below],
    )


def run(groups, relevant, budget=1_000, settings=PURE, neighbours=lambda _: ()):
    """Explore with scripted verdicts; what was asked for, and the end."""
    steps, gen = [], explore(0, groups, budget, neighbours, settings)
    reply = None
    while True:
        try:
            step = gen.send(reply)
        except StopIteration as end:
            return steps, end.value
        steps.append(step)
        reply = None
        if isinstance(step, RelevanceTest):
            reply = [None if relevant is None else slot in relevant for slot in step.slots]


def asked_of(steps):
    return [(step.community, step.slots) for step in steps if isinstance(step, RelevanceTest)]


def test_k_untested_chunks_of_each_community_are_tested_best_first():
    groups = tree({7: [1, 2, 3, 4], 8: [3, 5, 6, 9]})
    steps, _ = run(groups, relevant={1, 5}, budget=6)
    assert asked_of(steps) == [(7, (1, 2, 3)), (8, (5, 6, 9))]


def test_no_chunk_is_tested_twice():
    groups = tree({1: [1, 2, 3], 2: [1, 2, 3, 4], 3: [4, 3, 5]}, {1: [3]})
    steps, explored = run(groups, relevant={1, 2, 3, 4, 5})
    asked = [slot for _, slots in asked_of(steps) for slot in slots]
    assert len(asked) == len(set(asked)) == 5
    assert set(explored.tested) == {1, 2, 3, 4, 5}


def test_z_barren_communities_in_a_row_lead_down_into_the_relevant_ones():
    groups = tree(
        {1: [1, 2, 3], 2: [4, 5, 6], 3: [7, 8, 9], 4: [10, 11, 12], 11: [13, 14], 12: [15]},
        {1: [11, 12]},
    )
    steps, _ = run(groups, relevant={1})
    visited = [community for community, _ in asked_of(steps)]
    assert visited[:5] == [1, 2, 3, 11, 12]
    descent = next(step for step in steps if isinstance(step, Descent))
    assert (descent.relevant, descent.entered) == ((1,), (11, 12))


def test_a_relevant_chunk_between_them_starts_the_count_of_barren_communities_anew():
    groups = tree({c: [10 * c + i for i in range(3)] for c in range(1, 6)})
    steps, _ = run(groups, relevant={10, 30, 50}, budget=15)
    assert [community for community, _ in asked_of(steps)] == [1, 2, 3, 4, 5]


def test_the_round_above_goes_on_after_a_descent():
    groups = tree({1: [1], 2: [2], 3: [3], 4: [4], 11: [5]}, {1: [11]})
    steps, _ = run(groups, relevant={1})
    assert [community for community, _ in asked_of(steps)] == [1, 2, 3, 11, 4]


def test_a_barren_community_is_never_entered_again_nor_are_its_children():
    groups = tree({1: [1], 2: [2, 20, 21, 22, 23], 3: [3], 11: [4], 21: [5, 6]}, {1: [11], 2: [21]})
    steps, _ = run(groups, relevant={1, 4}, settings=replace(PURE, z=1))
    visited = [community for community, _ in asked_of(steps)]
    assert visited.count(2) == 1
    assert 21 not in visited


def test_a_relevant_leaf_is_entered_again_for_its_next_chunks():
    groups = tree({1: [1, 2, 3, 4, 5, 6, 7]})
    steps, explored = run(groups, relevant={1, 4})
    assert asked_of(steps) == [(1, (1, 2, 3)), (1, (4, 5, 6)), (1, (7,))]
    assert explored.stopped is Stopped.NOTHING_LEFT


def test_chunks_without_a_community_are_reached_at_level_minus_one():
    groups = tree({1: [1], ROOT: [2, 3]}, levels={1: 0, ROOT: -1})
    steps, explored = run(groups, relevant={2})
    assert (ROOT, (2, 3)) in asked_of(steps)
    assert [s.level for s in steps if isinstance(s, RelevanceTest)] == [0, -1]
    assert set(explored.relevant) == {2}


def test_the_whole_corpus_is_read_before_each_community_and_after_the_rounds():
    groups = tree({1: [5, 6]}, ranked=[1, 2, 3, 4, 5, 6])
    steps, _ = run(groups, relevant={5}, settings=replace(PURE, root_k=2))
    assert asked_of(steps)[:3] == [(ROOT, (1, 2)), (1, (5, 6)), (ROOT, (3, 4))]


def test_a_community_whose_relevant_chunk_was_found_elsewhere_is_not_barren():
    groups = tree({1: [1, 2, 3, 4], 11: [4]}, {1: [11]}, ranked=[1, 2, 3, 4])
    steps, _ = run(groups, relevant={1}, settings=replace(PURE, root_k=1, k=1))
    assert 11 in [community for community, _ in asked_of(steps)] or any(
        isinstance(step, Descent) and step.entered == (11,) for step in steps
    )


def test_patience_ends_a_search_in_vain():
    groups = tree({c: [c] for c in range(1, 30)})
    steps, explored = run(groups, relevant=set(), settings=replace(PURE, patience=4))
    assert len(asked_of(steps)) == 4
    assert explored.stopped is Stopped.BARREN


def test_neighbours_of_relevant_chunks_are_tested_at_the_end_within_the_budget():
    groups = tree({1: [10, 20]})
    steps, explored = run(groups, {10, 20}, budget=5, neighbours=lambda s: (s - 1, s + 1))
    assert asked_of(steps) == [(1, (10, 20)), (None, (9, 11)), (None, (19,))]
    assert explored.stopped is Stopped.BUDGET_SPENT
    assert explored.tested == (10, 20, 9, 11, 19)


def test_a_chunk_without_a_verdict_makes_a_community_neither_relevant_nor_barren():
    groups = tree({1: [1], 2: [2], 3: [3]})
    steps, explored = run(groups, relevant=None)
    assert [community for community, _ in asked_of(steps)] == [1, 2, 3]
    assert explored.relevant == ()
    assert explored.stopped is Stopped.NOTHING_LEFT


def test_nothing_to_search_is_told():
    _, explored = run(tree({}), relevant=set())
    assert (explored.tested, explored.stopped) == ((), Stopped.NO_CANDIDATES)


def test_shares_add_up_and_differ_by_at_most_one():
    assert shares(10, 3) == [4, 3, 3]
    assert shares(2, 4) == [1, 1, 0, 0]


def drive(groups, budget, relevant, settings=PURE, neighbours=lambda _: ()):
    gen, reply, asked = search(groups, budget, neighbours, settings), None, []
    while True:
        try:
            step = gen.send(reply)
        except StopIteration as end:
            return asked, end.value
        reply = None
        if isinstance(step, RelevanceTest):
            asked += [(step.subquery, slot) for slot in step.slots]
            reply = [slot in relevant for slot in step.slots]


def test_what_a_subquery_leaves_goes_to_the_next():
    groups = [tree({1: [1]}), tree({1: [1, 2, 3, 4, 5, 6, 7, 8]})]
    asked, explored = drive(groups, 8, relevant=set(range(1, 9)))
    assert [part.tested for part in explored] == [(1,), (1, 2, 3, 4, 5, 6, 7)]
    assert len(asked) == 8


def test_a_reply_of_the_wrong_length_is_refused():
    gen = explore(0, tree({1: [1, 2]}), 5, lambda _: (), PURE)
    next(gen)
    with pytest.raises(ValueError, match="2 verdicts"):
        gen.send([True])


@st.composite
def forests(draw):
    """Two levels of communities over overlapping chunks, with scripted verdicts."""
    slots = list(range(draw(st.integers(1, 40))))
    chunks, children = {}, {}
    number = 1
    for _ in range(draw(st.integers(0, 6))):
        held = draw(st.lists(st.sampled_from(slots), unique=True, min_size=1, max_size=12))
        top, number = number, number + 1
        chunks[top] = sorted(held)
        for _ in range(draw(st.integers(0, 3))):
            inside = draw(st.lists(st.sampled_from(held), unique=True, min_size=1))
            chunks[number] = sorted(inside)
            children.setdefault(top, []).append(number)
            number += 1
    relevant = draw(st.sets(st.sampled_from(slots)))
    return tree(chunks, children, ranked=slots), relevant


limits = st.builds(
    LazySettings,
    k=st.integers(1, 4),
    z=st.integers(1, 3),
    root_k=st.integers(0, 4),
    patience=st.integers(1, 8),
)


@given(st.lists(forests(), min_size=1, max_size=3), st.integers(1, 60), st.integers(1, 60), limits)
@settings(max_examples=200, deadline=None)
def test_a_larger_budget_tests_a_superset_and_none_exceeds_its_budget(parts, budget, more, limit):
    groups = [part for part, _ in parts]
    relevant = set().union(*(yes for _, yes in parts))

    def near(slot):
        return [n for n in (slot - 1, slot + 1) if 0 <= n < 40]

    small, _ = drive(groups, budget, relevant, limit, near)
    large, _ = drive(groups, budget + more, relevant, limit, near)
    assert len(small) == len(set(small)) <= budget
    assert len(large) == len(set(large)) <= budget + more
    assert set(small) <= set(large)


@given(forests(), limits)
@settings(max_examples=100, deadline=None)
def test_with_endless_patience_and_the_whole_corpus_everything_is_reached(forest, limit):
    groups, relevant = forest
    everything = replace(limit, root_k=max(1, limit.root_k), patience=10_000)
    asked, explored = drive([groups], 10_000, relevant, everything)
    assert {slot for _, slot in asked} == set(groups.ranked)
    assert set(explored[0].relevant) == relevant & set(groups.ranked)
