"""The worst case of a question, told before it is asked."""

import pytest

from query.assessor import OfflineAssessor
from query.model.calls import Role
from query.model.estimate import estimate, total
from query.model.spending import Ceilings, Member, Models, Price, Purse
from query.search import Engine
from query.types import Question
from tests.query.memory import MemorySource
from tests.query.model.server import good, model
from tests.query.small import LANGUAGE, stories

ASKED = "What wages did the dockers accept after the strike?"
PRICES = dict.fromkeys(Role, Price(1.0, 4.0))


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def test_a_larger_budget_costs_more_tests_alone():
    small, large = (estimate(ASKED, budget, prices=PRICES) for budget in (20, 100))
    assert [stage.calls for stage in small] == [1, 40, 1]
    assert large[1].cost.tokens == 5 * small[1].cost.tokens
    assert (large[0], large[2]) == (small[0], small[2])


def test_without_a_price_the_money_is_unknown():
    found = estimate(ASKED, 20, prices={**PRICES, Role.ANSWERS: None})
    assert found[1].cost.money is not None
    assert total(found).money is None


@pytest.mark.parametrize("budget", [1, 20, 40])
def test_a_ceiling_of_the_estimate_is_never_reached(budget):
    worst = total(estimate(ASKED, budget, prices=PRICES))
    with model(good) as (client, _):
        members = {role: Member(client, "m", price) for role, price in PRICES.items()}
        ceilings = Ceilings(worst.tokens, worst.money)
        models = Models(members, ceilings, Purse("a day", Ceilings()), lambda _: None)
        engine = Engine(MemorySource(stories()), LANGUAGE, OfflineAssessor(), model=models)
        assert engine.answer(Question(ASKED, budget)).degraded == ()
