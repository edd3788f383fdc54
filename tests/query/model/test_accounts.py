"""Ceilings of a day for each API key, beside those of a question and of the day."""

from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from starlette.testclient import TestClient

from query.assessor import OfflineAssessor
from query.errors import PayerCeilingError
from query.model.calls import Role
from query.model.daybook import FILE, DayBook
from query.model.spending import Accounts, Ceilings, Cost, Member, Models, Price, Purse, Spent
from query.search import Engine
from query.service.app import create_app
from query.service.edge import payer_of
from query.standing.store import StandingStore
from query.types import Outcome, Question
from tests.query.memory import MemorySource
from tests.query.model.test_spending import PROMPT
from tests.query.service.fakes import Desk
from tests.query.small import LANGUAGE, stories
from tests.query.test_memory import Scripted

ASKED = "What wages did the dockers accept after the strike?"
KEYS = ("first-key", "second-key")
SPENT = Spent(Role.TESTS, "m", Cost(10, 5, 0.25), "one")


def models(book, **ceilings):
    """Scripted models that note what each payer spends."""
    member = Member(Scripted(), "m", Price(1.0, 4.0))
    day = Purse("a day", Ceilings(), book.today)
    accounts = Accounts(Ceilings(**ceilings), book.today_of)
    return Models(dict.fromkeys(Role, member), Ceilings(), day, book.add, accounts)


def engine(found):
    return Engine(MemorySource(stories()), LANGUAGE, OfflineAssessor(), model=found)


def test_the_book_keeps_each_payer_apart_from_day_to_day(tmp_path):
    now = [datetime(2026, 11, 30, 23, 59, tzinfo=UTC)]
    with closing(DayBook(tmp_path, lambda: now[0])) as book:
        for spent in (SPENT, SPENT, replace(SPENT, payer="two"), replace(SPENT, payer="")):
            book.add(spent)
        assert book.today() == (60, 1.0)
        assert (book.today_of("one"), book.today_of("two")) == ((30, 0.5), (15, 0.25))
        now[0] += timedelta(minutes=1)
        assert book.today_of("one") == (0, 0.0)


def test_a_book_of_before_gets_its_table_of_payers(tmp_path):
    with closing(DayBook(tmp_path)) as book:
        book.add(SPENT)
        with book._opened() as connection:
            connection.execute("DROP TABLE spending_by_payer")
    with closing(DayBook(tmp_path)) as book:
        book.add(SPENT)
        assert (book.today(), book.today_of("one")) == ((30, 0.5), (15, 0.25))


@pytest.mark.parametrize("ceilings", [{"tokens": 0}, {"money": 0.0}])
def test_a_payer_that_may_spend_nothing_is_refused_and_others_are_not(tmp_path, ceilings):
    with closing(DayBook(tmp_path)) as book:
        found = engine(models(book, **ceilings))
        with pytest.raises(PayerCeilingError, match="for a day of this key is reached"):
            found.answer(Question(ASKED, 5, payer="one"))
        assert found.answer(Question(ASKED, 5)).degraded == ()


def test_a_ceiling_reached_in_the_middle_leaves_a_partial_answer_that_says_so(tmp_path):
    with closing(DayBook(tmp_path)) as book:
        answer = engine(models(book, tokens=1_700)).answer(Question(ASKED, 20, payer="one"))
        spent, _ = book.today_of("one")
    assert 0 < spent <= 1_700
    assert (answer.outcome, answer.degraded) == (Outcome.ANSWERED, ("model",))
    assert "the ceiling of 1,700 tokens for a day of this key is reached" in answer.text


def test_a_reserve_is_given_back_whichever_ceiling_refuses(tmp_path):
    with closing(DayBook(tmp_path)) as book:
        found = models(book, tokens=100_000)
        day = Purse("a day", Ceilings(tokens=0))
        for _ in range(300):  # a reserve that stayed would soon fill the account
            refused = replace(found, day=day).for_question("one")
            assert "for a day is reached" in str(refused.ask([PROMPT])[0])
        assert found.accounts.of("one").refused(Cost(100_000)) is None


def test_a_book_that_cannot_be_read_costs_the_model_not_the_answer(tmp_path):
    (tmp_path / FILE).write_bytes(b"this is no database" * 100)
    answer = engine(models(DayBook(tmp_path), tokens=10_000)).answer(
        Question(ASKED, 5, payer="one")
    )
    assert (answer.outcome, answer.degraded) == (Outcome.ANSWERED, ("model",))


@contextmanager
def service(book, **ceilings):
    desk = replace(Desk().service(), engine=engine(models(book, **ceilings)), keys=KEYS)
    with TestClient(create_app(desk)) as client:
        yield client


def asked(client, key, accept="application/json"):
    headers = {"X-API-Key": key, "Accept": accept}
    return client.post("/v1/search", json={"question": ASKED, "budget": 5}, headers=headers)


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
def test_a_key_that_has_spent_its_day_gets_429_until_midnight_and_the_other_goes_on(
    tmp_path, accept
):
    with closing(DayBook(tmp_path)) as book, service(book, tokens=50_000) as client:
        book.add(replace(SPENT, cost=Cost(49_000, 900, 0.0), payer=payer_of(KEYS[0])))
        refused = asked(client, KEYS[0], accept)
        assert refused.status_code == 429
        assert refused.json()["type"].endswith(":key_ceiling")
        assert "50,000 tokens" in refused.json()["detail"]
        assert 0 < int(refused.headers["Retry-After"]) <= 24 * 3600
        assert asked(client, KEYS[1], accept).status_code == 200
        assert book.today_of(payer_of(KEYS[1]))[0] > 0


def test_the_book_does_not_hold_the_key(tmp_path):
    with closing(DayBook(tmp_path)) as book, service(book) as client:
        asked(client, KEYS[0])
        assert book.today_of(payer_of(KEYS[0]))[0] > 0
    assert not any(KEYS[0].encode() in path.read_bytes() for path in tmp_path.iterdir())


def test_a_standing_question_is_asked_on_the_account_of_the_key_that_made_it(tmp_path):
    with closing(DayBook(tmp_path)) as book, closing(StandingStore(tmp_path)) as store:
        desk = replace(Desk().service(), engine=engine(models(book)), keys=KEYS, standing=store)
        with TestClient(create_app(desk)) as client:
            body, headers = {"question": ASKED}, {"X-API-Key": KEYS[1]}
            made = client.post("/v1/standing", json=body, headers=headers)
        assert made.status_code == 201
        assert "payer" not in made.json()
        assert store.get(made.json()["id"]).terms.payer == payer_of(KEYS[1])
