"""The protocol against a real model server: schema, streaming, errors, usage, a whole question.

The model is far too small to judge anything; what counts is that both sides understand each other.
"""

import os
import time
from contextlib import closing
from dataclasses import replace

import psutil
import pytest
from pydantic import Field

from query.assessor import OfflineAssessor
from query.model.calls import ModelError, Prompt, Shape, read
from query.model.client import ModelClient, ModelSettings
from query.model.dialect import Dialect
from query.search import Engine
from query.settings import SearchSettings
from query.types import Question
from tests.query.memory import MemorySource
from tests.query.model.small_server import KEY, missing, small_server
from tests.query.small import LANGUAGE, document, stories

pytestmark = pytest.mark.slow

MEMORY = 700e6
"""Bytes that the server may hold; 250 MB measured."""


class Number(Shape):
    number: int


class Numbers(Shape):
    numbers: list[int] = Field(min_length=100)


SHORT = Prompt('Reply in JSON: {"number": 7}.', "Which number?", Number, 40)


@pytest.fixture(autouse=True, scope="module")
def _no_proxy():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_PROXY", "127.0.0.1")
        yield


@pytest.fixture(scope="module")
def server():
    absent = missing()
    if absent and os.environ.get("CI"):
        pytest.fail(f"not installed: {', '.join(absent)}; deploy/setup.sh does it")
    if absent:
        pytest.skip(f"no real model: {', '.join(absent)} not installed; `make test` does it")
    with small_server() as served:
        yield served


@pytest.fixture
def client(server):
    with closing(_client(server[1])) as client:
        yield client


def _client(url, key=KEY, **more):
    settings = {"timeout": 50.0, "concurrency": 1, "retries": 0, **more}
    return ModelClient(ModelSettings("smollm2", url, key, **settings))


class Brief:
    """A model whose replies are cut short: it writes a few tokens a second."""

    def __init__(self, model, most):
        self.model, self.most = model, most

    def ask(self, prompts):
        return self.model.ask([replace(prompt, most=self.most) for prompt in prompts])

    def for_question(self, payer=""):
        return self

    def close(self):
        pass


def test_a_reply_has_the_shape_that_was_asked_for_and_its_tokens_are_counted(client):
    (reply,) = client.ask([SHORT])
    assert read(reply.text, Number) is not None
    assert client.dialect == Dialect()
    assert 10 < reply.prompt_tokens < 100
    assert 3 < reply.completion_tokens <= 40


def test_a_wrong_key_is_told_from_a_lost_server(server):
    with closing(_client(server[1], key="wrong")) as client:
        (error,) = client.ask([SHORT])
    assert str(error) == "its server refuses the key (HTTP 401)"


def test_a_prompt_that_is_too_long_is_an_error(client):
    (error,) = client.ask([replace(SHORT, user="word " * 3000)])
    assert str(error) == "its server says HTTP 400"


def test_a_reply_that_nobody_waits_for_is_not_written_on(server, client):
    # The schema holds it to a length that takes longer than the wait, on a fast machine too.
    long = replace(SHORT, system="Count up from one.", shape=Numbers, most=1500)
    with closing(_client(server[1], timeout=0.7)) as hasty:
        (error,) = hasty.ask([long])
    assert isinstance(error, ModelError)
    started = time.monotonic()
    (reply,) = client.ask([SHORT])
    assert isinstance(reply, ModelError) is False
    assert time.monotonic() - started < 25


def test_a_whole_question_goes_through_a_real_model(server, client):
    text = "The dockers ended their strike. They accepted a wage of nine pounds."
    view = stories((document("a", "Docks", text),))
    patient = SearchSettings(deadline=600.0)  # the model writes a few tokens a second
    model = Brief(client, 48)
    engine = Engine(MemorySource(view), LANGUAGE, OfflineAssessor(), patient, model=model)
    answer = engine.answer(Question("Which wage did the dockers accept?", 1))
    assert (answer.assessor, answer.degraded) == ("model", ())
    assert answer.ledger["test"].relevance_tests == 1
    for stage in ("refine", "test"):
        cost = answer.ledger[stage]
        assert cost.calls >= 1
        assert cost.prompt_tokens > 50 * cost.calls
        assert 1 <= cost.completion_tokens <= 48 * cost.calls
    assert psutil.Process(server[0].pid).memory_info().rss < MEMORY
