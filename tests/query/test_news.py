"""Stories, counts over time, communities and concepts of the small index."""

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from index.types import Millis, to_millis
from index.view import DocumentChange
from query.errors import BadFilterError, UnknownCommunityError, UnknownConceptError
from query.news import Newsroom
from query.types_news import Order
from tests.query.small import DAY, STORIES, stories

ALWAYS = {"since": Millis(0), "until": Millis(100 * DAY)}
ROOM = Newsroom()


def change(view, kind, document_id, at, keys, source="wire"):
    numbers = np.array(sorted(view.vocabulary.number(key) for key in keys), np.int32)
    return DocumentChange(2, document_id, kind, Millis(at), Millis(at), source, numbers)


def test_arrivals_are_told_as_stories_the_most_recent_first():
    news = ROOM.new(stories(), **ALWAYS)
    told = {story.community: {d.document_id for d in story.documents} for story in news.stories}
    assert {"d4", "d5"} <= told[2]
    assert news.stories[0].newest_at == 6 * DAY
    assert news.changes == len(STORIES)
    assert sum(story.document_count for story in news.stories) == len(STORIES)


def test_a_story_knows_who_had_it_first_and_who_followed():
    news = ROOM.new(stories(), about="Port Alder", **ALWAYS)
    (story,) = [story for story in news.stories if story.document_count > 1]
    assert (story.first.document_id, story.first.source) == ("d3", "south")
    assert story.other_sources == ("copy",)
    assert [d.document_id for d in story.documents] == ["d6", "d3"]
    assert "Port Alder" in story.quote.quote
    text = next(d.text for d in STORIES if d.id == story.quote.document_id)
    assert text[story.quote.start : story.quote.end] == story.quote.quote


def test_the_window_is_half_open_and_by_arrival():
    news = ROOM.new(stories(), since=Millis(2 * DAY), until=Millis(4 * DAY))
    assert {d.document_id for s in news.stories for d in s.documents} == {"d2", "d3"}


def test_edits_and_withdrawals_are_counted_and_a_document_gone_has_no_title():
    view = stories()
    view.recorded += [
        change(view, "edit", "d4", 7 * DAY, ["comet", "telmar"]),
        change(view, "delete", "gone", 8 * DAY, ["comet", "telmar"], source="sky"),
    ]
    story = ROOM.new(view, about="comet", **ALWAYS).stories[0]
    assert (story.inserts, story.edits, story.withdrawals) == (2, 1, 1)
    assert (story.documents[0].document_id, story.documents[0].title) == ("gone", "")
    assert story.documents[0].change == "delete"


def test_an_unknown_name_matches_nothing_and_says_so():
    news = ROOM.new(stories(), about="Zorblat", **ALWAYS)
    assert (news.matched, news.stories, news.changes) == ((), (), 0)


def test_part_of_a_name_finds_the_name_and_the_beginning_of_a_word_does_not():
    assert ROOM.new(stories(), about="voss", **ALWAYS).matched == ("Mara Voss",)
    assert ROOM.new(stories(), about="vos", **ALWAYS).matched == ()


def test_counts_over_time_have_a_row_for_each_interval():
    view = stories()
    view.recorded.append(change(view, "delete", "d3", 3 * DAY + 5, ["strike"]))
    rows = ROOM.timeseries(
        view, concept="Strike", interval=Millis(DAY), since=Millis(1 * DAY), until=Millis(5 * DAY)
    )
    assert [row.start[:10] for row in rows] == [f"1970-01-0{n}" for n in (2, 3, 4, 5)]
    assert [row.documents for row in rows] == [1, 0, 1, 0]
    assert [row.withdrawals for row in rows] == [0, 0, 1, 0]
    assert rows[0].start == "1970-01-02T00:00:00Z"


def test_the_first_interval_begins_no_earlier_than_the_calendar():
    first = to_millis(datetime(1, 1, 2, tzinfo=UTC))
    rows = ROOM.timeseries(
        stories(), concept="Strike", interval=Millis(500 * DAY), since=first, until=Millis(5 * DAY)
    )
    assert rows[0].start == "0001-01-01T00:00:00Z"
    assert rows[1].start > rows[0].start
    assert sum(row.documents for row in rows) > 0


def test_counts_of_an_unknown_concept_are_refused():
    with pytest.raises(UnknownConceptError):
        ROOM.timeseries(stories(), concept="Zorblat", interval=Millis(DAY), **ALWAYS)


def test_an_empty_window_or_interval_is_refused():
    with pytest.raises(BadFilterError):
        ROOM.new(stories(), since=Millis(5), until=Millis(5))
    with pytest.raises(BadFilterError):
        ROOM.timeseries(stories(), concept="strike", interval=Millis(0), **ALWAYS)


def test_the_largest_community_leads_and_recent_arrivals_make_one_grow():
    found = ROOM.communities(stories(), level=0, since=Millis(4 * DAY))
    growing = ROOM.communities(stories(), level=0, order=Order.GROWTH, since=Millis(4 * DAY))
    assert [brief.id for brief in found.communities] == [1, 2]
    assert [brief.id for brief in growing.communities] == [2]
    largest = found.communities[0]
    assert (largest.documents, largest.recent, found.levels) == (4, 1, 2)
    assert largest.samples[0].document_id == "d6"
    # Three of six documents are recent: two of the community's four were to be expected.
    assert largest.growth == pytest.approx(1 / 2)


def test_an_unknown_level_is_refused_and_an_index_without_communities_has_level_zero():
    with pytest.raises(UnknownCommunityError):
        ROOM.communities(stories(), level=2, since=Millis(0))
    view = stories()
    view.snapshot = replace(view.snapshot, hierarchy=type(view.snapshot.hierarchy).empty(99))
    assert ROOM.communities(view, level=0, since=Millis(0)).communities == ()
    assert ROOM.new(view, **ALWAYS).stories[0].community == 0


def test_a_community_is_told_with_its_children():
    card = ROOM.community(stories(), 1, since=Millis(0))
    assert [child.id for child in card.children] == [3, 4]
    assert "strike" in card.keys
    with pytest.raises(UnknownCommunityError):
        ROOM.community(stories(), 99, since=Millis(0))


def test_a_concept_is_told_with_its_neighbours_counted_from_its_chunks():
    view = stories()
    card = ROOM.concept(view, "Port Alder")
    assert (card.key, card.display, card.frequency) == ("port alder", "Port Alder", 3)
    assert card.document_count == 3
    assert card.communities == (1, 3)
    together = {neighbour.key: neighbour.together for neighbour in card.neighbours}
    assert together["strike"] == 3
    assert together["monday"] == 1
    assert "port alder" not in together
    assert [d.document_id for d in card.documents] == ["d6", "d3", "d1"]


def test_a_neighbours_weight_is_pointwise_mutual_information_times_its_share():
    view = stories()
    card = ROOM.concept(view, "Port Alder")
    sums, f = view.snapshot.head.totals, view.snapshot.frequency
    other = next(n for n in card.neighbours if n.key == "strike")
    pair = other.together / sums.weight_sum
    own, theirs = (f[view.vocabulary.number(k)] / sums.frequency_sum for k in (card.key, other.key))
    assert other.weight == pytest.approx(pair * np.log2(pair / (own * theirs)))


def test_a_concept_that_no_living_chunk_names_is_unknown():
    with pytest.raises(UnknownConceptError):
        ROOM.concept(stories(retracted=[4, 5]), "telmar")
