"""The models that settings name: roles, prices, ceilings."""

from contextlib import closing

import pytest
from prometheus_client.parser import text_string_to_metric_families

from deploy.assembly.models import models, price
from deploy.assembly.serving import search_settings
from deploy.configuration import load
from deploy.errors import SettingsError
from deploy.telemetry.metrics import Metrics
from deploy.telemetry.observe import Telemetry
from index.store.pins import PIN_SECONDS
from query.model.calls import Role
from query.model.spending import Cost, Price, Spent
from query.settings import SearchSettings


def settings(tmp_path, **more):
    return load({"data": tmp_path, "model": "plain", **more}).settings


def test_without_a_model_there_is_none(tmp_path):
    assert models(settings(tmp_path, model=""), lambda _: None) is None
    assert list(tmp_path.iterdir()) == []


def test_a_search_is_over_early_enough_for_a_last_call_within_the_life_of_its_view(tmp_path):
    def deadline(**more):
        return search_settings(settings(tmp_path, **more)).deadline

    assert deadline() + 30 <= PIN_SECONDS
    assert deadline(model_timeout=600) > 0
    assert deadline(model="", model_timeout=600) == SearchSettings().deadline


def test_the_walk_can_be_switched_off(tmp_path):
    assert search_settings(settings(tmp_path)).rank.walk
    assert not search_settings(settings(tmp_path, walk=False)).rank.walk


def test_one_model_serves_both_roles_by_one_client(tmp_path):
    with closing(models(settings(tmp_path), lambda _: None)) as found:
        tests, answers = (found.members[role] for role in Role)
    assert tests.name == answers.name == "plain"
    assert tests.model is answers.model


def test_each_role_may_have_its_own(tmp_path):
    chosen = settings(tmp_path, model_tests="cheap", model_answers="strong")
    with closing(models(chosen, lambda _: None)) as found:
        assert {role: member.name for role, member in found.members.items()} == {
            Role.TESTS: "cheap",
            Role.ANSWERS: "strong",
        }


def test_a_price_belongs_to_its_model_alone(tmp_path):
    chosen = settings(tmp_path, model_answers="strong", model_price="0.15, 0.6")
    assert price(chosen, Role.TESTS) == Price(0.15, 0.6)
    assert price(chosen, Role.ANSWERS) is None
    named = settings(tmp_path, model_answers="strong", model_answers_price="3,15")
    assert price(named, Role.ANSWERS) == Price(3, 15)
    assert price(named, Role.TESTS) is None


@pytest.mark.parametrize("text", ["free", "1", "-1,2", "1,2,3"])
def test_a_price_that_is_none_is_refused(tmp_path, text):
    with pytest.raises(SettingsError, match="model_price"):
        settings(tmp_path, model_price=text)


def test_what_was_spent_is_kept_for_the_day_and_told(tmp_path):
    told = []
    call = Spent(Role.TESTS, "plain", Cost(900, 100, 0.5))
    with closing(models(settings(tmp_path, day_tokens_max=1000), told.append)) as found:
        found.spent(call)
        assert found.day.reserve(Cost(1)) == "the ceiling of 1,000 tokens for a day is reached"
    assert told == [call]


def test_spending_is_a_metric_by_role():
    telemetry = Telemetry(Metrics())
    telemetry.observe(Spent(Role.TESTS, "plain", Cost(900, 100, 0.5)))
    telemetry.observe(Spent(Role.ANSWERS, "plain", Cost(10, 5, None)))
    families = text_string_to_metric_families(telemetry.metrics.exposition().decode())
    found = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in families
        for sample in family.samples
    }
    assert found["tidegraph_model_tokens_total", "prompt", "tests"] == 900
    assert found["tidegraph_model_money_total", "tests"] == 0.5
    assert found["tidegraph_model_calls_total", "answers", "unknown"] == 1
