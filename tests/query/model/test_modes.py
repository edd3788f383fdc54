"""What a model does in the modes beside lazy: it answers from a context, or reads every group."""

import pytest

from query.assessor import OfflineAssessor
from query.errors import BadModeError
from query.lazy import ROOT
from query.model.calls import Role
from query.model.estimate import estimate, total
from query.model.spending import Ceilings, Member, Models, Price, Purse
from query.search import Engine
from query.types import BASELINES, Mode, Outcome, Question, Stopped
from tests.query.memory import MemorySource
from tests.query.model.server import StatusError, good, model
from tests.query.small import LANGUAGE, STORIES, document, stories

ASKED = "What wages did the dockers accept after the strike?"
TEXTS = {story.id: story.text for story in STORIES}
ALL = sorted(BASELINES)


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def ask(client, mode, *, budget=20, view=None, text=ASKED, **more):
    engine = Engine(MemorySource(view or stories()), LANGUAGE, OfflineAssessor(), model=client)
    return engine.answer(Question(text, budget, mode, **more))


def answering(sentences):
    return lambda call: {"sentences": sentences} if call.stage == "answer" else good(call)


def many(count=60):
    """Documents of which only some fit into the shortest context."""
    text = "The strike in Port Alder went on, the dockers said, and wages stayed as they were. "
    return stories(tuple(document(f"m{n}", "Strike", text * 3 + f"Day {n}.") for n in range(count)))


@pytest.mark.parametrize("mode", ALL)
def test_a_baseline_answers_in_one_call_from_its_first_chunks(mode):
    said = [{"text": "Dockers walked out.", "claims": [1]}, {"text": "It ended.", "claims": [2]}]
    with model(answering(said)) as (client, calls):
        answer = ask(client, mode)
    (call,) = calls
    numbers = [int(n) for chunk in call.quoted for n in chunk["sentences"]]
    assert numbers == list(range(1, len(numbers) + 1))
    assert (answer.outcome, answer.assessor) == (Outcome.ANSWERED, "model")
    assert answer.text == "Dockers walked out. [1] It ended. [2]"
    shown = {n: text for chunk in call.quoted for n, text in chunk["sentences"].items()}
    assert [c.quote for c in answer.citations] == [shown["1"].strip(), shown["2"].strip()]
    assert all(c.quote == TEXTS[c.document_id][c.start : c.end] for c in answer.citations)
    assert "test" not in answer.ledger
    assert answer.ranking == ask(None, mode).ranking


def test_what_a_baseline_cites_and_was_not_shown_is_removed_and_told():
    said = [
        {"text": "It ended [7].", "claims": [1, 900]},
        {"text": "The moon is cheese.", "claims": [901]},
    ]
    with model(answering(said)) as (client, _):
        answer = ask(client, Mode.VECTOR)
    first, *notes = answer.text.split("\n\n")
    assert (first, len(answer.citations)) == ("It ended. [1]", 1)
    assert notes == [
        "Citations of claims that do not exist were removed: 2.",
        "Sentences without a source were left out: 1.",
    ]


def test_a_larger_context_shows_more_and_never_more_than_it_holds():
    sizes = {}
    for context in (500, 2_000, 64_000):
        with model(answering([{"text": "So.", "claims": [1]}])) as (client, calls):
            ask(client, Mode.VECTOR, view=many(), context=context)
        sizes[context] = len(calls[0].quoted)
        assert len(calls[0].user.encode()) <= 4 * context + 200
    assert sizes[500] < sizes[2_000] < sizes[64_000] == 60


def test_a_context_that_says_nothing_is_no_record():
    with model(answering([])) as (client, _):
        answer = ask(client, Mode.BM25)
    assert (answer.outcome, answer.claims) == (Outcome.NEVER_SEEN, ())
    assert answer.text.startswith("No record")


def failing(call):
    raise StatusError(500)


@pytest.mark.parametrize(
    "script", [failing, lambda _: "prose", answering([{"text": "a", "claims": []}])]
)
@pytest.mark.parametrize("mode", ALL)
def test_a_baseline_whose_model_gives_no_answer_quotes_as_without_one(mode, script):
    with model(script) as (client, _):
        answer = ask(client, mode)
    assert answer.claims == ask(None, mode).claims
    assert "could not be used" in answer.text


@pytest.mark.parametrize(("wanted", "groups"), [(0, 2), (1, 3), (9, 3)])
def test_global_reads_every_community_of_its_level_in_calls_of_their_own(wanted, groups):
    with model(good) as (client, calls):
        answer = ask(client, Mode.GLOBAL, level=wanted)
    maps = [call for call in calls if call.stage == "map"]
    assert len(maps) == groups
    assert answer.ledger["map"].relevance_tests == sum(len(call.quoted) for call in maps)
    assert sum(len(call.quoted) for call in maps) == len(stories().stored_chunks)
    assert [call.stage for call in calls].count("answer") == 1
    assert answer.stopped is Stopped.NOTHING_LEFT


def test_points_become_claims_that_cite_their_sentences_best_first():
    def script(call):
        if call.stage != "map":
            return good(call)
        return {
            "points": [
                {"text": "Low.", "score": 0.2, "sentences": [1]},
                {"text": "High.", "score": 0.8, "sentences": [1, 99]},
                {"text": "From nothing.", "score": 1.0, "sentences": [98]},
                {"text": "Off the scale.", "score": 3.0, "sentences": [1]},
            ]
        }

    with model(script) as (client, _):
        answer = ask(client, Mode.GLOBAL, level=0)
    assert [claim.text for claim in answer.claims] == ["High.", "High.", "Low.", "Low."]
    assert {claim.community for claim in answer.claims} <= {ROOT, 1, 2}
    assert all(c.quote == TEXTS[c.document_id][c.start : c.end] for c in answer.citations)
    assert answer.text.endswith("were removed from points: 4.")
    assert answer.text.startswith("They accepted. [1]")


@pytest.mark.parametrize("with_model", [True, False])
def test_global_reads_no_more_than_its_budget_and_a_larger_one_reads_a_superset(with_model):
    read = []
    for budget in (2, 4):
        with model(lambda call: good(call, "")) as (client, _):
            answer = ask(client if with_model else None, Mode.GLOBAL, budget=budget, level=1)
        tests = answer.ledger["map" if with_model else "test"].relevance_tests
        assert (tests, answer.stopped) == (budget, Stopped.BUDGET_SPENT)
        read.append({found.document_id for found in answer.ranking if found.tested})
    assert read[0] <= read[1]


def test_an_unusable_point_list_is_asked_for_once_more_then_untested():
    def script(call):
        return "prose" if call.stage == "map" else good(call)

    with model(script) as (client, calls):
        answer = ask(client, Mode.GLOBAL, level=0)
    users = [call.user for call in calls if call.stage == "map"]
    assert all(users.count(user) == 2 for user in users)
    assert answer.ledger["map"].untested == answer.ledger["map"].relevance_tests
    assert answer.outcome is not Outcome.ANSWERED


def test_a_model_lost_while_it_reads_leaves_the_rest_to_the_offline_assessor():
    with model(failing) as (client, calls):
        answer = ask(client, Mode.GLOBAL, level=0)
    assert len(calls) <= 2
    assert answer.degraded == ("model",)
    assert answer.claims == ask(None, Mode.GLOBAL, level=0).claims != ()


@pytest.mark.parametrize("more", [{"context": 0}, {"context": 10**9}, {"level": -1}])
def test_a_context_or_level_that_cannot_be_is_refused(more):
    with pytest.raises(BadModeError):
        ask(None, Mode.VECTOR, **more)


@pytest.mark.parametrize("mode", [*ALL, Mode.GLOBAL])
def test_a_ceiling_of_the_estimate_is_never_reached_in_any_mode(mode):
    prices = dict.fromkeys(Role, Price(1.0, 4.0))
    worst = total(estimate(ASKED, 30, prices=prices, mode=mode, context=2_000))
    with model(good) as (client, calls):
        members = {role: Member(client, "m", price) for role, price in prices.items()}
        day = Purse("a day", Ceilings())
        models = Models(members, Ceilings(worst.tokens, worst.money), day, lambda _: None)
        answer = ask(models, mode, budget=30, view=many(), context=2_000)
    assert calls
    assert answer.degraded == ()
