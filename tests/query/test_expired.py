"""What is due to expire but still there: hidden from searches, lists, news and trends."""

from datetime import timedelta

import pytest

from index.change_log import ChangesAsked
from index.types import Millis
from index.writer import Writer
from query.changes import shown
from query.filters import condition, row_mask
from query.graph import SearchGraph
from query.news import Newsroom
from query.plan import rows_of_name
from query.record import missing
from query.types import Filters, Outcome
from tests.index.simple import FINGERPRINT, START, Feed, commit

DAY = Millis(24 * 3600 * 1000)
ALWAYS = Millis(-(1 << 62))
LATER = Millis(1 << 62)


@pytest.fixture(params=[False, True], ids=["due", "drained"])
def view(request, tmp_path):
    """Three old documents and a new one, before and after the old ones were taken out."""
    writer = Writer.open(tmp_path, fingerprint=FINGERPRINT, window=DAY)
    feed = Feed()
    moments = [START + timedelta(days=day) for day in (0, 0.1, 0.2, 5)]
    texts = ["Opec oil", "Opec oil", "Opec tide", "Lloyds tide"]
    for number, (moment, text) in enumerate(zip(moments, texts, strict=True)):
        if number == len(texts) - 1:
            arrival = feed.upsert("new", text, published_at=moment, observed_at=moment)
        else:
            arrival = feed.upsert(f"old{number}", text, published_at=moment, observed_at=moment)
        commit(writer, [arrival])
    while request.param and writer.expire() is not None:
        continue
    with writer.pin() as pinned:
        assert pinned.snapshot.head.totals.due == (0 if request.param else 1)
        yield pinned
    writer.close()


def test_a_search_ranks_none_of_them(view):
    rows = row_mask(view, Filters())
    held = view.snapshot.documents[view.snapshot.chunk_document[rows]]
    assert [document.id for document in view.documents(held.tolist()).values()] == ["new"]
    assert len(rows_of_name("oil", view, SearchGraph(view.snapshot))) == 0


def test_a_question_that_names_them_is_told_that_they_expired(view):
    graph = SearchGraph(view.snapshot)
    absent = missing("What did Opec decide?", view, graph, row_mask(view, Filters()))
    assert absent.outcome(0) is Outcome.EXPIRED
    absent = missing("What did Nasa decide?", view, graph, row_mask(view, Filters()))
    assert absent.outcome(0) is Outcome.NEVER_SEEN


def test_a_vector_index_is_not_asked_for_them(view):
    horizon = view.snapshot.head.horizon
    assert condition(Filters(), horizon).event_at == (horizon, None)
    assert condition(Filters(since=Millis(horizon + 5)), horizon).event_at == (horizon + 5, None)


def test_news_and_counts_leave_them_out_and_tell_how_many_went(view):
    found = Newsroom().new(view, since=ALWAYS, until=LATER)
    assert (found.changes, found.expired) == (1, 3 - view.snapshot.head.totals.due)
    told = [brief.document_id for story in found.stories for brief in story.documents]
    assert told == ["new"]
    assert sum(story.withdrawals for story in found.stories) == 0
    changes = shown(view.change_columns(ChangesAsked()), view.snapshot.head.horizon)
    assert [changes.name(row) for row in range(len(changes))] == ["new"]


def test_a_document_is_gone_with_a_reason(view):
    assert view.document("old2") is None
    assert view.has_expired("old2")
    assert not view.has_expired("new")
