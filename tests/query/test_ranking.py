"""Filters, the walk, the bridge through titles and the chunk ranking over a small index."""

from dataclasses import replace

import numpy as np
import pytest

from query.errors import BadFilterError
from query.filters import document_mask, row_mask, searched
from query.graph import GraphCache, SearchGraph
from query.plan import named_concepts, subqueries
from query.ranking import rank
from query.settings import RankSettings, WalkSettings, WalkStart
from query.types import Filters, Mode, TimeAxis
from query.walk import best, bridge, walk
from tests.query.small import DAY, LANGUAGE, STORIES, stories


def ranked(view, text, mode=Mode.LAZY, filters=None, settings=None, count=20):
    graph = SearchGraph(view.snapshot)
    subquery = subqueries([text], graph, LANGUAGE)[0]
    rows = row_mask(view, filters or Filters())
    ranking = rank(
        view, graph, subquery, rows, mode=mode, settings=settings or RankSettings(), count=count
    )
    documents = view.snapshot.chunk_document[ranking.rows]
    return [view.stored[int(number)].id for number in documents], ranking


@pytest.mark.parametrize(
    ("filters", "allowed"),
    [
        (Filters(), {"d1", "d2", "d3", "d4", "d5", "d6"}),
        (Filters(since=2 * DAY, until=4 * DAY), {"d2", "d3"}),
        (Filters(since=5 * DAY, time=TimeAxis.OBSERVED), {"d5", "d6"}),
        (Filters(source=("north", "sky")), {"d1", "d4", "d5"}),
        (Filters(lang=("fr",)), {"d5"}),
        (Filters(where={"desk": "people"}), {"d2"}),
        (Filters(source=("nobody",)), set()),
    ],
)
def test_each_filter_leaves_what_it_says(filters, allowed):
    mask = document_mask(stories(), filters)
    assert {STORIES[row].id for row in np.flatnonzero(mask)} == allowed


def test_a_window_turned_round_is_refused():
    with pytest.raises(BadFilterError):
        document_mask(stories(), Filters(since=5, until=5))


def test_what_was_searched_is_told_with_its_period():
    view = stories()
    found = searched(view, row_mask(view, Filters(source=("north",))), Filters())
    assert (found.documents, found.chunks, found.since, found.newest_arrival) == (
        2, 3, 1 * DAY, 4 * DAY,
    )  # fmt: skip


@pytest.mark.parametrize("mode", [Mode.LAZY, Mode.HYBRID, Mode.VECTOR, Mode.BM25])
def test_nothing_outside_the_filter_is_ranked(mode):
    found, _ = ranked(stories(), "dockers strike wages", mode, Filters(source=("south", "sky")))
    assert set(found) <= {"d3", "d5"}
    assert found[0] == "d3"


@pytest.mark.parametrize("mode", [Mode.LAZY, Mode.HYBRID, Mode.VECTOR, Mode.BM25])
def test_retracted_chunks_are_never_ranked(mode):
    found, _ = ranked(stories(retracted=[0, 1]), "dockers strike wages", mode)
    assert "d1" not in found
    assert found


def test_the_walk_finds_what_no_word_of_the_question_names():
    """Where the leader of the strike was born stands where neither strike nor dock is named."""
    documents = [d for d in STORIES if d.id not in {"d3", "d6"}]
    view = stories(documents)
    text = "Where does the leader of the harbour strike come from?"
    without, _ = ranked(view, text, settings=replace(RankSettings(), walk=False), count=2)
    found, _ = ranked(view, text, count=3)
    assert "d2" not in without
    assert "d2" in found


def test_scores_come_best_first_and_rows_once():
    _, ranking = ranked(stories(), "comet above the desert")
    assert (np.diff(ranking.scores) <= 0).all()
    assert len(set(ranking.rows.tolist())) == len(ranking.rows)


def test_an_empty_index_ranks_nothing():
    found, _ = ranked(stories(()), "anything at all")
    assert found == []


def test_best_keeps_ties_in_order_and_leaves_out_zeros():
    scores = np.array([0, 2, 1, 2, 1, 1, 0], np.float32)
    assert best(scores, 4).tolist() == [1, 3, 2, 4]
    assert best(scores, 99).tolist() == [1, 3, 2, 4, 5]
    assert best(np.zeros(0, np.float32), 3).tolist() == []


@pytest.mark.parametrize("length", [1, 7, 40, 1000])
def test_best_agrees_with_a_full_sort_ties_and_all(length):
    random = np.random.default_rng(length)
    for count in (1, 3, 10, 200):
        scores = random.integers(-2, length // 3 + 2, length).astype(np.float32)
        wanted = [n for n in np.argsort(-scores, kind="stable").tolist() if scores[n] > 0]
        assert best(scores, count).tolist() == wanted[:count]


def slow_walk(graph, rows, seeds, concepts, start, settings):
    """One walk by dense products, over all concepts, as its definition reads."""
    titles = graph.titles.toarray()[graph.snapshot.chunk_document] * settings.title
    ties = (graph.chunks.toarray() + titles) * graph.snapshot.alive[:, None]
    weight = ties @ graph.idf
    out = np.divide(rows, weight, out=np.zeros(len(rows)), where=weight > 0)
    degree = ties.sum(axis=0)
    passed = np.divide(1, degree, out=np.zeros(len(degree)), where=degree > 0) ** start.hub
    passed[degree == 0] = 0
    again = start.concept_restart if concepts.any() else 0
    below = concepts / max(concepts.sum(), 1e-9)
    at = seeds
    for _ in range(settings.steps):
        reached = (1 - again) * graph.idf * (ties.T @ (at * out)) + again * below
        back = ties @ (reached * passed)
        at = (1 - start.chunk_restart) * rows * back + start.chunk_restart * seeds
    return at


@pytest.mark.parametrize("walks", [1, 2, 3])
@pytest.mark.parametrize("named", [(), ("mara voss",), ("mara voss", "harbour", "comet", "telmar")])
def test_walks_agree_with_their_definition(walks, named):
    view = stories(retracted=[4])
    graph = SearchGraph(view.snapshot)
    rows = view.snapshot.alive.copy()
    rows[2] = False
    fused = np.where(rows, [1, 0.5, 9, 0.25, 9, 0, 0], 0).astype(np.float32)
    concepts = np.zeros(len(graph.idf), np.float32)
    numbers = [number for key in named if (number := graph.held(key)) is not None]
    concepts[numbers] = graph.idf[numbers]
    starts = (
        WalkStart(2, 1.0, 0.3, 0.3, 0.5),
        WalkStart(5, 3.0, 0.5, 0.5, 1.0),
        WalkStart(1, 1.0, 0.2, 0.1, 0.0),
    )[:walks]
    settings = WalkSettings(starts=starts)
    found = walk(graph, rows, fused, concepts, settings)
    assert found.shape == (len(rows), walks)
    for column, start in zip(found.T, starts, strict=True):
        seeds = np.where(fused >= np.sort(fused)[-start.seeds], fused / fused.max(), 0)
        seeds = seeds**start.sharpness / (seeds**start.sharpness).sum()
        slow = slow_walk(graph, rows, seeds, concepts, start, settings)
        assert column == pytest.approx(slow, rel=1e-4, abs=1e-7)


def test_the_walk_stays_inside_the_mask_and_loses_no_more_than_it_restarts():
    view = stories()
    graph = SearchGraph(view.snapshot)
    rows = view.snapshot.alive.copy()
    rows[2] = False
    fused = np.array([1, 0, 0, 0, 0, 0, 0], np.float32)
    shares = walk(graph, rows, fused, np.zeros(len(graph.idf), np.float32), RankSettings().walks)
    assert (shares >= 0).all()
    assert (shares[2] == 0).all()
    assert (shares[0] > 0).all()


def test_the_bridge_leads_to_documents_whose_title_a_good_chunk_names():
    view = stories()
    graph = SearchGraph(view.snapshot)
    fused = np.zeros(view.snapshot.rows, np.float32)
    fused[0] = 1
    strength = bridge(graph, fused, 1, 20)
    rows = np.flatnonzero(view.snapshot.chunk_document == 1)
    assert strength[rows].tolist() == pytest.approx([1.0])
    assert (strength[view.snapshot.chunk_document == 3] == 0).all()


def test_a_concept_in_many_titles_leads_nowhere():
    view = stories()
    fused = np.zeros(view.snapshot.rows, np.float32)
    fused[0] = 1
    assert not bridge(SearchGraph(view.snapshot), fused, 1, 0).any()


def test_names_in_a_question_are_matched_in_any_case():
    view = stories()
    graph = SearchGraph(view.snapshot)
    numbers = named_concepts("who is mara voss of port alder?", graph, LANGUAGE)
    keys = set(view.snapshot.vocabulary.keys(numbers.tolist()))
    assert {"mara voss", "port alder"} <= keys


def test_graphs_are_made_once_a_snapshot():
    cache, view = GraphCache(keep=1), stories()
    assert cache.of(view.snapshot) is cache.of(view.snapshot)
    assert cache.of(stories().snapshot) is not cache.of(view.snapshot)
