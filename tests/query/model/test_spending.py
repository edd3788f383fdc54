"""Ceilings, prices and the day's book."""

import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from query.assessor import OfflineAssessor
from query.model.calls import ModelError, Prompt, Reply, Role
from query.model.daybook import FILE, DayBook
from query.model.refine import Refinement
from query.model.spending import Ceilings, Cost, Member, Models, Price, Purse, Spent, worst
from query.search import Engine
from query.types import Outcome, Question
from tests.query.memory import MemorySource
from tests.query.model.server import good, model
from tests.query.small import LANGUAGE, stories

ASKED = "What wages did the dockers accept after the strike?"
PRICE = Price(prompt=1.0, completion=4.0)
PROMPT = Prompt("s" * 100, "u" * 100, Refinement, 500)
WORST = worst(PROMPT, PRICE)


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


class Scripted:
    """A model that counts what it is asked."""

    def __init__(self, reply=None):
        self.reply = reply or Reply("yes", 10, 5)
        self.asked, self.closed = [], False

    def ask(self, prompts):
        self.asked += prompts
        return [self.reply] * len(prompts)

    def for_question(self, payer=""):
        return self

    def close(self):
        self.closed = True


def models(*, price=PRICE, question=None, day=None, reply=None, before=(0, 0.0)):
    """Models over two scripted ones, and what they spent."""
    spent = []
    members = {role: Member(Scripted(reply), f"m-{role}", price) for role in Role}
    purse = Purse("a day", day or Ceilings(), lambda: before)
    found = Models(members, question or Ceilings(), purse, spent.append)
    return found.for_question(), spent


def test_the_worst_case_is_never_below_what_was_said():
    assert WORST.prompt_tokens >= 100
    assert WORST.completion_tokens == 500
    assert WORST.money == pytest.approx((WORST.prompt_tokens + 4 * 500) / 1e6)
    assert worst(PROMPT, None).money is None


def test_a_call_is_priced_by_what_the_server_counted():
    found, spent = models()
    assert found.ask([PROMPT]) == [Reply("yes", 10, 5)]
    assert spent == [Spent(Role.ANSWERS, "m-answers", Cost(10, 5, pytest.approx(30e-6)))]


def test_what_a_server_does_not_count_is_spent_in_full():
    found, spent = models(reply=Reply("yes"))
    found.ask([PROMPT])
    assert spent[0].cost == WORST


def test_each_role_has_its_model():
    found, _ = models()
    tests = Prompt("", "", Refinement, 10, Role.TESTS)
    found.ask([PROMPT, tests, PROMPT])
    assert found.members[Role.TESTS].model.asked == [tests]
    assert found.members[Role.ANSWERS].model.asked == [PROMPT, PROMPT]


@pytest.mark.parametrize(
    ("ceilings", "price", "words"),
    [
        (Ceilings(tokens=0), PRICE, "ceiling of 0 tokens"),
        (Ceilings(tokens=WORST.tokens - 1), PRICE, "tokens for a {} is reached"),
        (Ceilings(money=0.0), PRICE, "ceiling of 0 for a {}"),
        (Ceilings(money=1000.0), None, "its price is not known"),
    ],
)
@pytest.mark.parametrize("what", ["question", "day"])
def test_a_ceiling_refuses_a_call_before_it_is_made(what, ceilings, price, words):
    found, spent = models(price=price, **{what: ceilings})
    (error,) = found.ask([PROMPT])
    assert words.format(what) in str(error)
    assert (found.members[Role.ANSWERS].model.asked, spent) == ([], [])


def test_what_fits_under_a_ceiling_is_asked():
    found, _ = models(question=Ceilings(WORST.tokens, WORST.money))
    assert found.ask([PROMPT]) == [Reply("yes", 10, 5)]
    assert isinstance(found.ask([PROMPT])[0], ModelError)
    assert found.for_question().ask([PROMPT]) == [Reply("yes", 10, 5)]


def test_a_reserve_is_given_back():
    found, _ = models(question=Ceilings(tokens=WORST.tokens + 100))
    for _ in range(5):
        assert found.ask([PROMPT]) == [Reply("yes", 10, 5)]


def test_a_call_in_vain_is_not_counted():
    found, spent = models(question=Ceilings(tokens=WORST.tokens), reply=ModelError("away"))
    for _ in range(3):
        assert str(found.ask([PROMPT])[0]) == "away"
    assert spent == []


def test_what_others_spent_today_counts():
    found, _ = models(day=Ceilings(tokens=5000), before=(4999, 0.0))
    assert "for a day" in str(found.ask([PROMPT])[0])


def test_calls_at_the_same_time_do_not_overspend():
    purse = Purse("a day", Ceilings(tokens=1000))
    granted = []

    def reserve():
        granted.extend(1 for _ in range(50) if purse.reserve(Cost(10)) is None)

    threads = [threading.Thread(target=reserve) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == 100


def test_closing_closes_each_model():
    found, _ = models()
    found.close()
    assert all(member.model.closed for member in found.members.values())


def test_the_book_keeps_a_day_over_restarts_and_begins_a_new_one(tmp_path):
    now = [datetime(2026, 11, 30, 23, 59, tzinfo=UTC)]
    spent = Spent(Role.TESTS, "m", Cost(10, 5, 0.25))
    for _ in range(2):
        with closing(DayBook(tmp_path, lambda: now[0])) as book:
            book.add(spent)
            book.add(Spent(Role.ANSWERS, "m", Cost(1, 1, None)))
    with closing(DayBook(tmp_path, lambda: now[0])) as book:
        assert book.today() == (34, 0.5)
        now[0] += timedelta(minutes=1)
        assert book.today() == (0, 0.0)


def test_two_processes_add_to_one_book(tmp_path):
    spent = Spent(Role.TESTS, "m", Cost(10, 5, 0.25))
    with closing(DayBook(tmp_path)) as one, closing(DayBook(tmp_path)) as other:
        one.add(spent)
        other.add(spent)
        assert one.today() == other.today() == (30, 0.5)


def test_nothing_is_spent_that_cannot_be_noted(tmp_path):
    (tmp_path / FILE).write_bytes(b"this is no database" * 100)
    book = DayBook(tmp_path)
    member = Member(Scripted(), "m", PRICE)
    day = Purse("a day", Ceilings(tokens=10_000), book.today)
    found = Models(dict.fromkeys(Role, member), Ceilings(), day, book.add)
    (error,) = found.ask([PROMPT])
    assert "cannot be noted" in str(error)
    assert member.model.asked == []


def test_at_a_ceiling_the_answer_says_what_is_missing():
    with model(good) as (client, calls):
        members = dict.fromkeys(Role, Member(client, "m"))
        # Enough for the refinement and some tests.
        found = Models(members, Ceilings(tokens=2_000), Purse("a day", Ceilings()), lambda _: None)
        engine = Engine(MemorySource(stories()), LANGUAGE, OfflineAssessor(), model=found)
        answer = engine.answer(Question(ASKED, 40))
    assert calls
    assert answer.outcome is Outcome.ANSWERED
    assert answer.degraded == ("model",)
    assert "the ceiling of 2,000 tokens for a question is reached" in answer.text
    assert "the rest was done without it" in answer.text
