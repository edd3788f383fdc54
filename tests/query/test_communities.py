"""Affinity of chunks to communities, and the groups that the search walks over."""

import numpy as np
import pytest

from query.broad import rank_broad
from query.communities import group, homes, main_home
from query.graph import SearchGraph
from query.lazy import ROOT
from query.plan import subqueries
from query.settings import LazySettings
from tests.query.small import HARBOUR, LANGUAGE, SKY, document, stories


def naive_affinity(view, graph, row, level):
    """Summed idf of the concepts shared with each community, counted one by one."""
    member = view.snapshot.hierarchy.at_level(level)
    shared = {}
    for concept in graph.concepts_of(row):
        if member[concept] >= 0:
            shared[member[concept]] = shared.get(member[concept], 0) + graph.idf[concept]
    return shared


@pytest.mark.parametrize("level", [0, 1])
def test_a_chunk_counts_in_its_communities_of_the_highest_affinity(level):
    view = stories()
    graph = SearchGraph(view.snapshot)
    rows = np.arange(view.snapshot.rows)
    table = homes(graph, rows, level, 2)
    for row in rows:
        shared = naive_affinity(view, graph, row, level)
        wanted = sorted(shared, key=lambda c: (-shared[c], c))[:2]
        assert [c for c in table[row].tolist() if c != -1] == wanted


def test_the_home_of_all_rows_agrees_with_that_of_single_ones():
    view = stories()
    graph = SearchGraph(view.snapshot)
    rows = np.arange(view.snapshot.rows)
    assert graph.home(0).tolist() == main_home(graph, rows, 0).tolist()


def test_groups_hold_ranked_chunks_best_first_at_every_level():
    view = stories()
    graph = SearchGraph(view.snapshot)
    ranked = np.array([5, 0, 3, 1, 2, 4, 6])
    groups = group(graph, ranked, LazySettings())
    place = {slot: n for n, slot in enumerate(groups.ranked)}
    for held in groups.chunks.values():
        assert [place[slot] for slot in held] == sorted(place[slot] for slot in held)
    assert set(groups.first) == {1, 2}
    assert list(groups.children[1]) == [3, 4]
    assert groups.order[2] < groups.order[1]


def test_communities_come_by_the_reciprocal_ranks_of_their_best_chunks():
    view = stories()
    graph = SearchGraph(view.snapshot)
    ranked = np.array([5, 0, 3, 1, 2, 4, 6])
    settings = LazySettings(best_of=2, homes=1)
    groups = group(graph, ranked, settings)
    held, worth = {}, {}
    for level in (0, 1):
        for place, (home,) in enumerate(homes(graph, ranked, level, 1).tolist()):
            held.setdefault(home, []).append(place)
    held.pop(-1, None)
    for community, places in held.items():
        worth[community] = sum(1 / (1 + place) for place in places[:2])
        assert groups.chunks[community] == [groups.ranked[place] for place in places]
    by_worth = sorted(worth, key=lambda community: (-worth[community], community))
    assert [c for c in groups.order if c != ROOT] == by_worth


def test_chunks_of_no_community_form_the_group_of_level_minus_one():
    view = stories((document("x", "", "nothing known here"),))
    groups = group(SearchGraph(view.snapshot), np.array([0]), LazySettings())
    assert groups.chunks == {ROOT: [0]}
    assert (groups.level[ROOT], groups.first) == (-1, [ROOT])


def test_a_broad_question_is_ranked_by_breadth_the_largest_community_first():
    view = stories()
    graph = SearchGraph(view.snapshot)
    subquery = subqueries(["what are the main themes?"], graph, LANGUAGE)[0]
    assert subquery.broad
    ranking, groups = rank_broad(graph, subquery, view.snapshot.alive)
    assert groups.first[0] == 1
    tops = graph.home(0)[ranking.rows[:2]].tolist()
    assert tops == [1, 2]


def test_a_broad_question_without_communities_still_ranks():
    view = stories((document("x", "", "nothing known here"),))
    graph = SearchGraph(view.snapshot)
    subquery = subqueries(["what are the main themes?"], graph, LANGUAGE)[0]
    ranking, _ = rank_broad(graph, subquery, view.snapshot.alive)
    assert ranking.rows.tolist() == [0]


def test_the_small_index_is_what_these_tests_take_it_for():
    view = stories()
    for key in (*HARBOUR, *SKY):
        assert view.vocabulary.number(key) is not None, key
