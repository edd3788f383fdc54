"""``evaluate --judge``: ways of answering and another system, compared by a scripted model."""

import json
import sys

import pytest

from deploy.assembly.evaluating import modes_of
from deploy.assembly.judging import System, Way, answers_of, check, systems_of, ways_of
from deploy.cli.judging import Wanted, run
from deploy.configuration import load
from deploy.errors import UsageError
from query.model.judge import CRITERIA
from query.types import Mode
from tests.query.model.server import good, served

DOCUMENTS = [
    {"id": f"d{n}", "title": f"Strike {n}", "text": f"The strike in port {n} ended on day {n}."}
    for n in range(6)
]
OTHER = """
import argparse, json, os
given = argparse.ArgumentParser()
for name in ("--documents", "--queries", "--answers", "--say"):
    given.add_argument(name)
given = given.parse_args()
assert os.environ["TIDEGRAPH_MODEL"] == "scripted"
assert len(open(given.documents).readlines()) == 6
with open(given.answers, "w") as out:
    for line in open(given.queries):
        asked = json.loads(line)
        print(json.dumps({"id": asked["id"], "answer": given.say or asked["query"]}), file=out)
"""


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def other(tmp_path):
    path = tmp_path / "other.py"
    path.write_text(OTHER)
    return f"{sys.executable} {path} --say 'It is not known [1].'"


@pytest.fixture
def documents(tmp_path):
    path = tmp_path / "documents.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in DOCUMENTS))
    return path


def settings(tmp_path, **more):
    return load({"data": tmp_path / "data", **more}).settings


def script(call):
    """Likes whatever says that they accepted; makes questions on strikes."""
    if call.stage == "judge":
        first, second = ("accepted" in answer["text"] for answer in call.quoted)
        better = "tie" if first == second else "first" if first else "second"
        return dict.fromkeys(CRITERIA, better)
    if call.stage == "make":
        return {"question": f"When did the strike end: {call.quoted[0]['text'][-9:]}?"}
    return good(call)


def test_ways_and_another_system_are_compared_on_questions_that_the_model_made(
    tmp_path, documents, other, capsys
):
    modes = modes_of("lazy,vector")
    wanted = Wanted(modes, (5,), "8000,64000", (f"other={other}",), trials=1, synthetic=2)
    with served(script) as (url, _):
        given = settings(tmp_path, model="scripted", model_url=url, workers=0)
        run(given, documents, None, wanted, lambda *_: None, as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert set(found["answers"]) == {"lazy 5", "vector 8k", "vector 64k", "other"}
    pairs = {(row["ours"], row["theirs"]) for row in found["comparisons"]}
    assert pairs == {("lazy 5", "vector 8k"), ("lazy 5", "vector 64k"), ("lazy 5", "other")}
    rates = {row["theirs"]: row["win_rate"] for row in found["comparisons"]}
    assert (rates["other"], rates["vector 8k"]) == (1.0, 0.5)
    local = [q for q in found["questions"] if q["evidence_doc_ids"]]
    assert len(local) == 2 < len(found["questions"])
    assert set(found["comparisons"][0]) >= {"criterion", "interval", "p", "won", "lost", "unjudged"}


def test_a_way_is_named_by_what_it_spends():
    ways = ways_of((Mode.LAZY, Mode.VECTOR), (100, 500), (8_000, 64_000))
    assert [way.name for way in ways] == ["lazy 100", "lazy 500", "vector 8k", "vector 64k"]


@pytest.mark.parametrize(
    ("command", "says"),
    [("/nowhere/at/all", "nowhere"), ("false", "ended with 1"), ("true", "no answer to 2 of 2")],
)
def test_a_system_that_does_not_answer_is_a_clear_error(tmp_path, documents, command, says):
    given = settings(tmp_path)
    with pytest.raises(UsageError, match=says):
        answers_of(given, System("other", (command,)), documents, ["One?", "Two?"])


def test_what_cannot_be_judged_is_refused_before_the_work(tmp_path):
    lazy = [Way(Mode.LAZY, 100)]
    with pytest.raises(UsageError, match="set model"):
        check(settings(tmp_path), [*lazy, Way(Mode.BM25, 100)], [])
    with_model = settings(tmp_path, model="m", model_url="http://127.0.0.1:9/v1")
    with pytest.raises(UsageError, match="name another"):
        check(with_model, lazy, [])
    with pytest.raises(UsageError, match="same name"):
        check(with_model, lazy, systems_of(["lazy 100=true"]))
    with pytest.raises(UsageError, match="NAME=COMMAND"):
        systems_of(["graphrag"])
