"""The engine over a small index, end to end and offline."""

from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest

from query.assessor import OfflineAssessor, Verdict
from query.errors import (
    BadBudgetError,
    BadFilterError,
    EmptyQuestionError,
    QuestionTooLongError,
)
from query.search import Engine
from query.settings import LazySettings, SearchSettings
from query.types import EventKind, Filters, Mode, Outcome, Question, Stopped
from tests.query.memory import MemorySource, MemoryView
from tests.query.small import DAY, DIMENSIONS, LANGUAGE, STORIES, document, stories

ASKED = "What wages did the dockers accept after the strike?"


class Ticks:
    """A clock that moves on a second whenever it is looked at."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 1
        return self.now


class Scripted:
    """An assessor that finds relevant what has a word in it."""

    name = "scripted"

    def __init__(self, word):
        self.word = word
        self.seen = []

    def assess(self, subquery, candidates):
        self.seen += [candidate.slot for candidate in candidates]
        return [
            Verdict(c.slot, 0.9 if self.word in c.text else 0.1, self.word in c.text, (0,))
            for c in candidates
        ]


def engine(view=None, assessor=None, **more):
    source = MemorySource(view or stories())
    return Engine(source, LANGUAGE, assessor or OfflineAssessor(), clock=Ticks(), **more)


def ask(text=ASKED, budget=20, mode=Mode.LAZY, filters=None, **more):
    return engine(**more).answer(Question(text, budget, mode, filters or Filters()))


def test_an_answer_quotes_the_documents_and_says_that_no_model_was_used():
    answer = ask()
    assert answer.outcome is Outcome.ANSWERED
    assert "No language model was used" in answer.text
    assert any("accepted wages" in claim.text for claim in answer.claims)
    assert (answer.assessor, answer.generation) == ("offline", 1)


@pytest.mark.parametrize("mode", list(Mode))
def test_every_quote_is_the_text_that_it_cites(mode):
    answer = ask(mode=mode)
    texts = {d.id: d.text for d in STORIES}
    assert answer.citations
    for citation in answer.citations:
        assert citation.quote == texts[citation.document_id][citation.start : citation.end]
    cited = [number for claim in answer.claims for number in claim.citations]
    assert cited == list(range(1, len(answer.citations) + 1))
    assert all(f"[{number}]" in answer.text for number in cited)


def test_near_identical_sentences_are_one_claim_with_all_their_sources():
    answer = ask()
    claim = next(claim for claim in answer.claims if "accepted wages" in claim.text)
    sources = {answer.citations[number - 1].source for number in claim.citations}
    assert sources == {"south", "copy"}


def test_a_name_that_the_index_does_not_hold_gets_no_record_and_no_neighbour():
    answer = ask("What did Zorblat say about the strike in Port Alder?")
    assert answer.outcome is Outcome.NEVER_SEEN
    assert (answer.claims, answer.citations) == ((), ())
    assert 'No record of "Zorblat"' in answer.text
    assert "6 documents from 1970-01-02" in answer.text


def test_a_model_is_not_paid_for_a_name_that_the_index_does_not_hold():
    assessor = Scripted("strike")
    answer = ask("What did Zorblat say about the strike?", assessor=assessor)
    assert answer.outcome is Outcome.NEVER_SEEN
    assert assessor.seen == []


def test_a_name_outside_the_filter_is_told_as_such():
    answer = ask("Who is Mara Voss?", filters=Filters(source=("sky",)))
    assert answer.outcome is Outcome.OUTSIDE_FILTER


def test_a_name_that_was_withdrawn_is_told_as_expired():
    answer = ask("Where is Telmar?", view=stories(retracted=[4, 5]))
    assert answer.outcome is Outcome.EXPIRED


def test_while_records_wait_no_record_may_mean_not_yet():
    answer = ask("What did Zorblat say?", backlog=lambda: 3)
    assert answer.outcome is Outcome.NOT_YET_INDEXED


def test_nothing_that_supports_an_answer_is_no_record():
    answer = ask("how do bees make honey in winter")
    assert answer.outcome is Outcome.NEVER_SEEN
    assert "No record that answers the question" in answer.text


def test_an_empty_index_has_no_record_yet():
    answer = ask("how do bees make honey", view=stories(()))
    assert answer.outcome is Outcome.NOT_YET_INDEXED
    assert answer.text.endswith("Searched: no documents.")


def test_a_year_ahead_of_the_stream_is_not_answered_by_another():
    answer = ask("What did Mara Voss do in 2031?")
    assert answer.outcome is Outcome.NEVER_SEEN
    assert '"2031"' in answer.text


@pytest.mark.parametrize("mode", list(Mode))
def test_no_test_and_no_quote_is_spent_outside_the_filter(mode):
    filters = Filters(since=2 * DAY, until=4 * DAY)
    answer = ask("the strike of the dockers", mode=mode, filters=filters)
    assert {found.document_id for found in answer.ranking} <= {"d2", "d3"}
    assert {citation.document_id for citation in answer.citations} <= {"d2", "d3"}


@pytest.mark.parametrize("budget", [1, 2, 5])
def test_the_ledger_counts_the_tests_and_never_more_than_the_budget(budget):
    assessor = Scripted("strike")
    answer = ask(budget=budget, assessor=assessor)
    assert answer.ledger["test"].relevance_tests == len(assessor.seen) <= budget
    assert len(assessor.seen) == len(set(assessor.seen))
    assert answer.stopped is Stopped.BUDGET_SPENT


def test_a_larger_budget_tests_a_superset():
    small, large = Scripted("strike"), Scripted("strike")
    ask(budget=3, assessor=small)
    ask(budget=6, assessor=large)
    assert set(small.seen) <= set(large.seen)


def scattered(seed):
    """Documents over sixteen communities of one word each; a document names two of them."""
    random = Random(seed)
    words = [f"harbour{letter}" for letter in "abcdefghijklmnop"]
    texts = (
        f"The strike of {' and '.join(random.sample(words, 2))} on day {n}." for n in range(90)
    )
    view = MemoryView([document(f"n{n}", "", text) for n, text in enumerate(texts)], DIMENSIONS)
    return view.grouped({number: (0, 0, [word]) for number, word in enumerate(words, 1)})


def test_a_larger_budget_tests_a_superset_though_it_ranks_more_chunks():
    lazy = replace(LazySettings(), root_k=0)
    settings = replace(SearchSettings(), lazy=lazy, candidates=10)
    seen = []
    for budget in (4, 8, 20, 40):
        assessor = Scripted("day 1")
        asked = {"view": scattered(11), "assessor": assessor, "settings": settings}
        ask("the strike of harboura", budget=budget, **asked)
        seen.append(set(assessor.seen))
    assert all(small <= large for small, large in pairwise(seen))


@pytest.mark.parametrize("mode", [Mode.HYBRID, Mode.VECTOR, Mode.BM25])
def test_baselines_spend_no_test(mode):
    answer = ask(mode=mode)
    assert "test" not in answer.ledger
    assert not any(found.tested for found in answer.ranking)
    assert answer.ranking[0].document_id in {"d3", "d6", "d1"}


def test_a_question_about_the_whole_is_answered_from_several_communities():
    answer = ask("What are the main themes in the news?")
    assert answer.outcome is Outcome.ANSWERED
    assert {claim.community for claim in answer.claims} >= {2, 3}


def test_mode_global_visits_every_community():
    assessor = Scripted("strike")
    ask(mode=Mode.GLOBAL, budget=4, assessor=assessor)
    assert len(assessor.seen) == 4
    assert {4, 5} & set(assessor.seen)


def test_events_unfold_in_order_and_the_last_carries_the_answer():
    events = list(engine().search(Question(ASKED, 20)))
    kinds = [event.kind for event in events]
    assert kinds[:2] == [EventKind.STARTED, EventKind.RANKED]
    assert EventKind.TESTED in kinds
    assert kinds[-1] is EventKind.ANSWER
    assert [event.answer is not None for event in events] == [False] * (len(events) - 1) + [True]
    assert kinds.count(EventKind.CLAIM) == len(events[-1].answer.claims)


def test_closing_a_search_gives_its_view_back():
    source = MemorySource(stories())
    with closing(Engine(source, LANGUAGE, OfflineAssessor()).search(Question(ASKED, 20))) as steps:
        next(steps)
        assert source.pins == 1
    assert source.pins == 0


def test_a_search_past_its_deadline_answers_with_what_it_has():
    answer = ask(settings=replace(SearchSettings(), deadline=0.0))
    assert answer.stopped is Stopped.DEADLINE


def test_neighbours_of_relevant_chunks_are_of_the_same_document():
    text = "\n\n".join(f"Paragraph {n} on the strike in Port Alder." for n in range(4))
    view = stories((document("x", "", text), document("y", "", "Other strike in Port Alder.")))
    assessor = Scripted("Paragraph 1")
    answer = ask("the strike in Port Alder", view=view, assessor=assessor, budget=10)
    assert set(assessor.seen) == {0, 1, 2, 3, 4}
    assert [found.document_id for found in answer.ranking if found.relevant] == ["x"]


@pytest.mark.parametrize(
    ("question", "error"),
    [
        (Question("", 10), EmptyQuestionError),
        (Question("  ?!", 10), EmptyQuestionError),
        (Question("\ud800", 10), EmptyQuestionError),
        (Question("x" * 2_001, 10), QuestionTooLongError),
        (Question("strike", 0), BadBudgetError),
        (Question("strike", -1), BadBudgetError),
        (Question("strike", 10**9), BadBudgetError),
        (Question("strike", 10, filters=Filters(since=9, until=1)), BadFilterError),
    ],
)
def test_a_question_that_cannot_be_is_refused_at_once(question, error):
    with pytest.raises(error):
        engine().search(question)


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "who is it",
        "どこで雨が降る",
        '<b>strike</b> " OR 1 NEAR(',
        "strike\ud800 Port\0Alder",
        "*" * 5 + "x",
    ],
)
def test_any_words_are_answered_one_way_or_another(text):
    assert ask(text).outcome in set(Outcome)


def test_equal_questions_get_equal_answers():
    left, right = ask(), ask()
    assert (left.text, left.citations, left.ranking) == (right.text, right.citations, right.ranking)


def test_the_ranking_lists_untested_documents_too():
    answer = ask(budget=1)
    assert len(answer.ranking) > 1
    assert sum(found.tested for found in answer.ranking) == 1
