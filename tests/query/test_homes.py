"""Where documents are at home, against loops that anybody can follow."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from index.communities.hierarchy import Hierarchy
from index.communities.leaves import Leaves
from query.graph import SearchGraph
from query.homes import Branches, Lists, deepest_homes, homes
from tests.query.small import stories

CONCEPTS = 12

lists_of_concepts = st.lists(
    st.lists(st.integers(0, CONCEPTS - 1), unique=True, max_size=6), max_size=8
)


def naive(named, row, weight):
    """The community of the highest sum, the smallest id first; -1 where nothing weighs."""
    sums = {}
    for concept in named:
        if row[concept] >= 0:
            sums[row[concept]] = sums.get(row[concept], 0.0) + float(weight[concept])
    best = min(sums, key=lambda community: (-sums[community], community), default=-1)
    return best if sums.get(best, 0) > 0 else -1


@given(
    lists_of_concepts,
    st.lists(st.sampled_from([-1, 3, 5, 900]), min_size=CONCEPTS, max_size=CONCEPTS),
    st.lists(st.sampled_from([0.0, 0.5, 1.0, 4.0]), min_size=CONCEPTS, max_size=CONCEPTS),
)
def test_each_list_is_at_home_where_most_of_its_weight_is(lists, row, weight):
    row, weight = np.array(row, np.int64), np.array(weight, np.float32)
    named = Lists.of([np.array(x, np.int32) for x in lists])
    found, strength = homes(named, Branches.of(hierarchy(row)), 0, weight)
    assert found.tolist() == [naive(named, row, weight) for named in lists]
    assert (strength > 0).tolist() == (found >= 0).tolist()


def hierarchy(leaf, parents=None):
    """Communities 3, 5 and 900 of level 0, and those of ``parents`` inside them."""
    parents = dict.fromkeys((3, 5, 900), 0) | (parents or {})
    ids = np.array(sorted(parents), np.int64)
    parent = np.array([parents[c] for c in ids.tolist()], np.int64)
    level = (parent != 0).astype(np.int16)
    return Hierarchy(
        1, ids, level, parent, np.zeros(len(ids), np.int32), Leaves(np.array(leaf, np.int64))
    )


@given(
    lists_of_concepts,
    st.lists(st.sampled_from([-1, 3, 5, 7, 8, 901]), min_size=CONCEPTS, max_size=CONCEPTS),
    st.lists(st.sampled_from([0.0, 0.5, 1.0, 4.0]), min_size=CONCEPTS, max_size=CONCEPTS),
    st.sampled_from([0.0, 0.2, 0.6]),
)
def test_a_list_is_told_of_the_deepest_level_that_has_enough_of_it(lists, leaf, weight, share):
    parents = {7: 3, 8: 3, 901: 900}
    branches = Branches.of(hierarchy(leaf, parents))
    named = Lists.of([np.array(x, np.int32) for x in lists])
    weight = np.array(weight, np.float32)
    upper = [parents.get(c, c) for c in leaf]
    lower = [c if c in parents else -1 for c in leaf]
    expected = []
    for concepts in lists:
        inner = naive(concepts, lower, weight)
        inside = sum(float(weight[c]) for c in concepts if lower[c] == inner and inner >= 0)
        enough = inner >= 0 and inside >= share * sum(float(weight[c]) for c in concepts)
        expected.append(inner if enough else max(naive(concepts, upper, weight), 0))
    assert deepest_homes(named, branches, weight, share).tolist() == expected


def test_a_level_places_living_documents_by_the_homes_of_their_chunks():
    view = stories(retracted=[4])
    graph, snapshot = SearchGraph(view.snapshot), view.snapshot
    for level in range(snapshot.hierarchy.depth):
        placed = graph.placed(level)
        expected = {
            (community, document)
            for community, document, alive in zip(
                graph.home(level).tolist(),
                snapshot.chunk_document.tolist(),
                snapshot.alive.tolist(),
                strict=True,
            )
            if alive and community
        }
        pairs = list(zip(placed.community.tolist(), placed.document.tolist(), strict=True))
        assert pairs == sorted(expected)
        for at, community in enumerate(placed.ids.tolist()):
            first, last = placed.bounds[at : at + 2]
            assert placed.document[first:last].tolist() == [d for c, d in pairs if c == community]
