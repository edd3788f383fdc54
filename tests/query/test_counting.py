"""Counts and lists over documents, from the postings."""

import pytest

from index.types import ConceptKind
from query.assessor import OfflineAssessor
from query.counting import Wanted, wanted
from query.search import Engine
from query.types import EventKind, Filters, Outcome, Question
from tests.query.memory import MemorySource, MemoryView
from tests.query.small import DAY, DIMENSIONS, LANGUAGE, document

PERSON = ConceptKind.PERSON


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("How many reports from Mumbai?", Wanted(("Mumbai",))),
        ("How many documents are there?", Wanted()),
        ("how many documents mention Mumbai and Pune", Wanted(("Mumbai", "Pune"))),
        ("How many reports from Mumbai about floods?", Wanted(("Mumbai", "floods"))),
        ("How many articles mention Mumbai or Pune?", Wanted(("Mumbai", "Pune"), either=True)),
        ("Which reports mention both Mumbai and Anna Berg?", Wanted(("Mumbai", "Anna Berg"))),
        (
            "Which people are named in more than one case, and in which reports?",
            Wanted(concepts=True, kind=PERSON, least=2),
        ),
        ("Who is named in at least 3 reports?", Wanted(concepts=True, kind=PERSON, least=3)),
        (
            "How many people are named in documents about Mumbai?",
            Wanted(("Mumbai",), concepts=True, kind=PERSON),
        ),
        (
            "Which people appear in both SYN-REP-1 and SYN-REP-2?",
            Wanted(("SYN-REP-1", "SYN-REP-2"), apart=True, concepts=True, kind=PERSON),
        ),
        (
            "Which places are mentioned together with Anna Berg?",
            Wanted(("Anna Berg",), concepts=True, kind=ConceptKind.PLACE),
        ),
    ],
)
def test_what_asks_for_a_number_or_a_list_is_read(text, found):
    assert wanted(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "How many people died in Mumbai?", "How many documents does the IMF publish?",
        "How many reports from Mumbai say that the harbour is closed?", "Who is Anna Berg?",
        "Which reports did Anna Berg write?", "How many jobs did the strike affect?", "how many",
        "Which people were named to the board of Acme?", "", "?", "How many reports from ,,, and?",
        "How many cases of fraud did the judge hear in Pune?",
    ],
)  # fmt: skip
def test_any_other_question_is_left_to_the_search(text):
    assert wanted(text) is None


def test_a_hostile_length_is_read_in_no_time():
    assert wanted("how many documents " + "are there " * 20_000 + "x") is None
    assert wanted("how many documents mention " + "a and " * 20_000) is None


CASES = tuple(
    document(name, title, text, event_at=day * DAY, observed_at=day * DAY)
    for day, (name, title, text) in enumerate(
        (
            ("r1", "Case one", "Anna Berg met Carl Dorn in Mumbai. Rain fell."),
            ("r2", "Case two", "Carl Dorn left Mumbai.\n\nEva Falk stayed."),
            ("r3", "Case three", "Eva Falk wrote from Pune. Reports speak of rain."),
            ("r4", "Mumbai Police", "The Mumbai Police closed a bridge."),
        ),
        start=1,
    )
)
PEOPLE = {"anna berg", "carl dorn", "eva falk"}


def view():
    made = MemoryView(CASES, DIMENSIONS)
    kinds = made.vocabulary._kinds
    for number in range(len(made.vocabulary)):
        if made.vocabulary.key(number) in PEOPLE:
            kinds[number] = PERSON
    return made


def ask(text, filters=None):
    engine = Engine(MemorySource(view()), LANGUAGE, OfflineAssessor())
    return engine.answer(Question(text, 20, filters=filters or Filters()))


def listed(answer):
    return {d.document_id for d in answer.counted.documents}


def named(answer):
    return {c.name: set(c.document_ids) for c in answer.counted.concepts}


def test_reports_from_a_place_are_counted_exactly_with_their_list_and_sources():
    answer = ask("How many reports from Mumbai?")
    assert answer.outcome is Outcome.ANSWERED
    assert answer.counted.value == 3
    assert listed(answer) == {c.document_id for c in answer.citations} == {"r1", "r2", "r4"}
    assert '3 documents name "Mumbai"' in answer.text
    assert all("[" in line for line in answer.text.splitlines() if line.startswith("- "))
    assert all("Mumbai" in c.quote for c in answer.citations)
    assert "test" not in answer.ledger


def test_an_alias_counts_as_the_name():
    assert listed(ask("How many reports mention Bombay?")) == {"r1", "r2", "r4"}


def test_an_intersection_counts_documents_that_name_both_anywhere():
    assert listed(ask("Which documents mention Mumbai and Eva Falk?")) == {"r2"}
    assert ask("How many documents mention Pune or Anna Berg?").counted.value == 2


def test_nothing_in_common_is_told_with_the_number_of_each():
    answer = ask("How many documents mention Pune and Anna Berg?")
    assert (answer.outcome, answer.counted.value) == (Outcome.NEVER_SEEN, 0)
    assert '"Pune" in 1 document, "Anna Berg" in 1 document' in answer.text


def test_people_in_more_than_one_case_are_listed_with_their_reports():
    answer = ask("Which people are named in more than one case, and in which reports?")
    assert named(answer) == {"Carl Dorn": {"r1", "r2"}, "Eva Falk": {"r2", "r3"}}
    assert answer.counted.value == 2
    cited = {c.document_id for c in answer.citations}
    assert cited == {"r1", "r2", "r3"}


def test_people_beside_a_thing_and_in_both_of_two():
    assert set(named(ask("Who is mentioned in documents about Pune?"))) == {"Eva Falk"}
    assert set(named(ask("Who is named in both Mumbai and Pune?"))) == {"Eva Falk"}


def test_a_count_holds_within_the_filter_and_the_window_of_its_words():
    filters = Filters(since=2 * DAY)
    assert listed(ask("How many reports from Mumbai?", filters)) == {"r2", "r4"}
    answer = ask("How many documents since 3 January 1970?")
    assert listed(answer) == {"r2", "r3", "r4"}
    assert answer.window.from_words == "since 3 January 1970"


def test_a_name_that_the_index_does_not_hold_is_no_record():
    answer = ask("How many reports from Atlantis?")
    assert answer.outcome is Outcome.NEVER_SEEN
    assert 'No record of "Atlantis"' in answer.text


def test_the_claims_of_a_count_are_told_before_its_answer():
    engine = Engine(MemorySource(view()), LANGUAGE, OfflineAssessor())
    kinds = [event.kind for event in engine.search(Question("How many documents?", 5))]
    assert kinds == [EventKind.STARTED, *[EventKind.CLAIM] * len(CASES), EventKind.ANSWER]
