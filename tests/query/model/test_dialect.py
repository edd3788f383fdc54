"""Servers that speak a part of the protocol, and bodies that are none of it."""

import json
import time
from contextlib import closing

import pytest

from query.model import refine
from query.model.calls import ModelError, read
from query.model.client import ModelClient, ModelSettings
from query.model.dialect import Dialect, Form, request
from query.model.refine import Refinement
from query.model.wire import LARGEST_BODY, reply_of, whole
from tests.query.model.server import Endless, StatusError, completion, good, model

ASKED = refine.question("Who leads the dockers?")
SAID = {"subqueries": ["a", "b", "c"], "expanded": "all"}


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def refusing(*fields, words="{field} is not supported"):
    """A server that knows all but some fields, or some values of ``response_format``."""

    def script(call):
        for field in fields:
            if field in call.body or field == call.form:
                raise StatusError(400, words.format(field=field))
        return good(call)

    return script


@pytest.mark.parametrize(
    ("refused", "form"),
    [
        ((), "json_schema"),
        (("json_schema",), "json_object"),
        (("json_schema", "json_object"), "plain"),
        (("response_format",), "plain"),
    ],
)
def test_a_server_without_structured_output_is_asked_for_less_and_that_is_remembered(refused, form):
    with model(refusing(*refused)) as (client, calls):
        first = client.ask([ASKED])
        before = len(calls)
        second = client.ask([ASKED])
    assert first == second
    assert refine.refined(first[0].text) is not None
    assert [call.form for call in calls[before:]] == [form]


def test_without_a_schema_field_the_rules_hold_the_schema():
    with model(refusing("json_schema")) as (client, calls):
        client.ask([ASKED])
    assert '"subqueries"' in calls[-1].system.split("JSON schema:")[1]


def test_a_server_that_counts_no_streamed_tokens_is_asked_for_none():
    with model(refusing("stream_options")) as (client, calls):
        (reply,) = client.ask([ASKED])
    assert (reply.prompt_tokens, reply.completion_tokens) == (0, 0)
    assert calls[-1].form == "json_schema"


def test_a_model_that_knows_another_bound_gets_it():
    words = "'{field}' is not supported with this model. Use 'max_completion_tokens' instead."
    with model(refusing("max_tokens", words=words)) as (client, calls):
        client.ask([ASKED])
    assert calls[-1].body["max_completion_tokens"] == ASKED.most
    assert "max_tokens" not in calls[-1].body


def test_a_server_that_refuses_everything_is_asked_each_form_once():
    def script(call):
        raise StatusError(400, "context too long")

    with model(script) as (client, calls):
        (error,) = client.ask([ASKED])
    assert str(error) == "its server says HTTP 400"
    assert [call.form for call in calls] == ["json_schema", "json_object", "plain", "plain"]
    assert client.dialect == Dialect()


def test_the_lesser_dialects_come_to_an_end():
    dialect, seen = Dialect(), []
    while dialect is not None:
        seen.append(dialect)
        dialect = dialect.lesser("max_tokens stream_options max_completion_tokens")
    assert len(set(seen)) == len(seen) == 5
    assert seen[-1].form is Form.PLAIN


def test_a_thinking_model_is_granted_more_than_its_reply():
    assert request(ASKED, "m", Dialect(), 500)["max_tokens"] == ASKED.most + 500


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(SAID),
        f"Sure! Here it is:\n```json\n{json.dumps(SAID)}\n```\nAnything else?",
        f'<think>{{"subqueries": []}} hm</think>{json.dumps(SAID)}',
        f"{{not json}} {json.dumps(SAID)}",
    ],
)
def test_the_object_in_a_reply_is_found(text):
    assert read(text, Refinement) == Refinement(**SAID)


@pytest.mark.parametrize("text", ["", "{", "{" * 100_000, "[1]", '{"subqueries": ["a"]}', "null"])
def test_a_reply_without_the_object_is_none(text):
    assert read(text, Refinement) is None


STREAM = b'data: {"choices": [{"delta": {"content": "a"}}]}\r\n\r\n: ping\n\n'


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (json.dumps(completion("hello")).encode(), "hello"),
        (json.dumps({"choices": []}).encode(), ""),
        (json.dumps({"choices": [None, 7]}).encode(), ""),
        (b'{"choices": [{"message": {"content": null, "refusal": "no"}}]}', ""),
        (b'{"choices": [{"message": {"content": [1]}}], "usage": {"prompt_tokens": "x"}}', ""),
        (STREAM * 2 + b"data: [DONE]\n\n", "aa"),
        (STREAM, "a"),
    ],
)
def test_what_a_body_says(body, text):
    assert reply_of(body).text == text


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"{", b"[]", b'{"models": []}', b"data: nonsense\n\n", b"data: 5\n\n",
     b'data: {"error": {"message": "sesame"}}\n\n', b"\xff\xfe\x00"],
)  # fmt: skip
def test_a_body_that_is_no_reply_is_an_error(body):
    with pytest.raises(ModelError) as raised:
        reply_of(body)
    assert "sesame" not in str(raised.value)


def test_a_body_that_does_not_end_is_cut_off():
    def endless():
        while True:
            yield b"x" * 65536

    with pytest.raises(ModelError, match="does not end"):
        whole(endless(), 1.0, clock=lambda: 0.0)
    moments = iter(range(10))
    with pytest.raises(ModelError, match="in time"):
        whole(endless(), 3.0, clock=lambda: next(moments))
    assert len(whole([b"x" * LARGEST_BODY], 1.0, clock=lambda: 0.0)) == LARGEST_BODY


TOKEN = b'data: {"choices": [{"delta": {"content": "and "}}]}\n\n'


@pytest.mark.parametrize(
    "endless", [Endless(TOKEN * 2000), Endless(TOKEN, 0.01), Endless(b": ping\n\n", 0.01)]
)
def test_an_endless_stream_is_left_in_time(endless):
    with model(lambda _: endless, timeout=0.5) as (client, _):
        started = time.monotonic()
        (error,) = client.ask([ASKED])
        assert time.monotonic() - started < 2
    assert isinstance(error, ModelError)


def test_who_waits_for_a_model_that_is_shut_down_waits_no_longer():
    import threading

    with model(lambda _: Endless(b": ping\n\n", 0.01), timeout=20.0) as (client, calls):
        replies = []
        waiting = threading.Thread(target=lambda: replies.extend(client.ask([ASKED] * 9)))
        waiting.start()
        while not calls:
            time.sleep(0.005)
        client.close()
        waiting.join(2)
        assert not waiting.is_alive()
        assert {str(reply) for reply in replies} == {"it is shut down"}
        assert isinstance(client.ask([ASKED])[0], ModelError)


@pytest.mark.parametrize("key", ["sesame", "sesame\n", "sésame", "sesame\x00"])
@pytest.mark.parametrize("status", [401, 403, 429, 500])
def test_no_error_shows_the_key(key, status):
    def echoing(call):
        raise StatusError(status, f"bad key {key}")

    with model(echoing) as (client, _):
        settings = ModelSettings("m", str(client._client.base_url), key, retries=0)
        with closing(ModelClient(settings)) as other:
            (error,) = other.ask([ASKED])
    assert isinstance(error, ModelError)
    assert "same" not in str(error)
