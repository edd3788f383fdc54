"""Verdicts remembered: asking again calls the model for what is new alone."""

import json
import sqlite3
from collections import Counter

import pytest

from query.assessor import Candidate, OfflineAssessor, Verdict
from query.memory import Memory, normalised
from query.model.calls import Reply
from query.model.refine import Refined
from query.search import Engine
from query.types import Preset, Question
from tests.query.memory import MemorySource
from tests.query.model.server import Call, good
from tests.query.small import LANGUAGE, STORIES, document, stories

ASKED = "What wages did the dockers accept after the strike?"


class Scripted:
    """A model in this process that understands; it counts its calls and chunks by stage."""

    def __init__(self):
        self.calls = Counter()
        self.chunks = 0
        self.roles = Counter()

    def for_question(self, payer=""):
        return self

    def close(self):
        pass

    def ask(self, prompts):
        return [self._said(prompt) for prompt in prompts]

    def _said(self, prompt):
        body = {"messages": [{"content": prompt.system}, {"content": prompt.user}]}
        call = Call(body)
        self.calls[call.stage] += 1
        self.roles[prompt.role.value] += 1
        if call.stage == "test":
            self.chunks += len(call.quoted)
        return Reply(json.dumps(good(call)), 10, 3)


def asked(tmp_path, model, *, view=None, text=ASKED, tests="cheap", **more):
    memory = Memory(tmp_path, tests=tests, answers="strong", **more)
    engine = Engine(
        MemorySource(view or stories()), LANGUAGE, OfflineAssessor(), model=model, memory=memory
    )
    try:
        return engine.answer(Question(text, 20))
    finally:
        engine.close()


def test_the_second_asking_makes_no_call_for_tests_or_refinement(tmp_path):
    first = asked(tmp_path, Scripted())
    model = Scripted()
    second = asked(tmp_path, model)
    assert model.calls == {"answer": 1}
    assert (second.text, second.claims) == (first.text, first.claims)
    cost, before = second.ledger["test"], first.ledger["test"]
    assert cost.remembered == cost.relevance_tests == before.relevance_tests > 0
    assert (cost.calls, before.remembered) == (0, 0)
    assert second.assessor == "model"


def test_a_question_that_differs_in_case_and_space_alone_is_the_same(tmp_path):
    asked(tmp_path, Scripted())
    model = Scripted()
    asked(tmp_path, model, text="  what wages did the  dockers accept after the strike ")
    assert model.calls["test"] == 0
    assert normalised("Who is\u00a0Mara  VOSS?!") == normalised("who is mara voss")
    assert normalised("Who is Mara Voss?") != normalised("Who was Mara Voss?")


def test_a_chunk_that_changed_and_one_that_is_new_are_tested_and_no_other(tmp_path):
    asked(tmp_path, Scripted())
    changed = document("d3", "Harbour strike ends", "The strike of the dockers ended in Lindow.")
    added = document("d7", "Strike again", "A second strike of the dockers began.")
    rest = [story for story in STORIES if story.id != "d3"]
    model = Scripted()
    answer = asked(tmp_path, model, view=stories([*rest, changed, added]))
    cost = answer.ledger["test"]
    assert cost.relevance_tests - cost.remembered == model.chunks > 0
    assert model.chunks <= 2 * len(answer.subqueries)


def test_another_assessor_starts_anew(tmp_path):
    asked(tmp_path, Scripted())
    model = Scripted()
    answer = asked(tmp_path, model, tests="another")
    assert model.calls["test"] > 0
    assert answer.ledger["test"].remembered == 0


def chunk(slot, text="A strike ended.", title="Strike"):
    return Candidate(slot, title, text, ((0, len(text)),), 0.0, 0.0, 0.0, 0.0)


def verdict(slot):
    return Verdict(slot, 0.9, True, (0,))


def test_the_store_is_bounded_and_the_oldest_leave_first(tmp_path):
    memory = Memory(tmp_path, tests="m", answers="m", most=3)
    chunks = [chunk(n, f"Text {n}.") for n in range(5)]
    for each in chunks:
        memory.keep("q", [each], {each.slot: verdict(each.slot)})
    assert set(memory.verdicts("q", chunks)) == {2, 3, 4}
    memory.close()
    again = Memory(tmp_path, tests="m", answers="m", most=3)
    assert again.verdicts("Q?", chunks)[4] == verdict(4)
    again.close()


def test_a_chunk_is_known_by_what_is_shown_of_it_not_by_its_slot(tmp_path):
    memory = Memory(tmp_path, tests="m", answers="m")
    memory.keep("q", [chunk(1)], {1: verdict(1)})
    assert memory.verdicts("q", [chunk(9)]) == {9: verdict(9)}
    assert memory.verdicts("q", [chunk(9, title="Other")]) == {}
    assert memory.verdicts("q", [chunk(9, "A strike began.")]) == {}
    assert memory.verdicts("another", [chunk(1)]) == {}
    memory.close()


def test_refinements_belong_to_who_made_them(tmp_path):
    memory = Memory(tmp_path, tests="cheap", answers="strong")
    refined = Refined(("a?", "b?", "c?"), "a, b and c?")
    memory.keep_refinement(ASKED, refined)
    assert memory.refinement(ASKED) == refined
    assert memory.refinement(ASKED, lite=True) is None
    memory.close()


def test_a_store_that_cannot_be_used_is_told_and_costs_no_answer(tmp_path):
    (tmp_path / "questions.db").write_bytes(b"no database" * 1000)
    model = Scripted()
    answer = asked(tmp_path, model)
    assert answer.claims
    assert model.calls["test"] > 0
    assert answer.degraded == ("memory",)
    with pytest.raises(sqlite3.DatabaseError):
        sqlite3.connect(tmp_path / "questions.db").execute("SELECT * FROM verdicts")


def test_the_light_preset_has_the_testing_model_do_everything(tmp_path):
    for preset, roles in ((Preset.Z100_LITE, {"tests"}), (Preset.Z500, {"tests", "answers"})):
        model = Scripted()
        engine = Engine(MemorySource(stories()), LANGUAGE, OfflineAssessor(), model=model)
        answer = engine.answer(Question(ASKED, 20, preset=preset))
        assert set(model.roles) == roles
        assert answer.preset is preset
