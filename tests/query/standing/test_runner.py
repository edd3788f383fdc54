"""Standing questions over an index that grows: what wakes them, what is tested, what is told."""

from contextlib import closing
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from query.search import Engine
from query.settings import ClaimSettings, LazySettings, SearchSettings
from query.standing.difference import applied, key, told
from query.standing.runner import Runner
from query.standing.store import StandingStore
from query.standing.types import StandingSettings, Terms
from query.types import Question
from tests.query.small import LANGUAGE, document
from tests.query.standing.growing import GrowingIndex, WordAssessor

ASKED = "What about the strike?"
DAY = 24 * 3600 * 1000
BROAD = SearchSettings(
    lazy=LazySettings(patience=1000), claims=ClaimSettings(most=100, words=100_000, same=0.95)
)
"""Nothing is cut off: claims follow from what is relevant alone."""


class Desk:
    """A runner with a clock that the test sets, over a store in a directory."""

    judge = "one"

    def __init__(self, folder, index, assessor=None, *, search=BROAD, **bounds):
        self.index = index
        self.assessor = assessor or WordAssessor("strike")
        self.engine = Engine(index, LANGUAGE, self.assessor, search)
        self.folder, self.bounds, self.now = folder, bounds, 10 * DAY
        self.open()

    def open(self):
        self.store = StandingStore(self.folder, StandingSettings(every=0, **self.bounds))
        self.runner = Runner(
            self.store, self.index, self.engine, LANGUAGE, clock=lambda: self.now, judge=self.judge
        )

    def restart(self):
        self.store.close()
        self.open()

    def close(self):
        self.store.close()

    def ask(self, text=ASKED, name="q", **terms):
        self.store.create(name, Terms(text, 100, **terms), "secret", self.now)
        return self.run()

    def run(self):
        """The reports until nothing is due."""
        reports = []
        while (report := self.runner.step()) is not None:
            reports.append(report)
            self.now += 1
            assert len(reports) < 50
        return reports

    def updates(self, name="q"):
        return self.store.updates(name)

    def texts(self, name="q"):
        return sorted(claim.text for claim in self.store.get(name).state.claims)


@pytest.fixture
def desk(tmp_path):
    index = GrowingIndex(
        document("a", "Harbour", "The strike began in Port Alder on Monday."),
        document("b", "Sky", "The comet Telmar fades over the desert."),
    )
    made = Desk(tmp_path, index)
    with closing(made):
        yield made


def test_the_first_update_tells_all_claims_as_added(desk):
    (report,) = desk.ask()
    (update,) = desk.updates()
    assert (report.number, update.number, update.generation) == (1, 1, 1)
    assert [claim.text for claim in update.changes.added] == [
        "The strike began in Port Alder on Monday."
    ]
    assert update.changes.added == update.claims
    assert update.claims[0].sources[0].document_id == "a"


def test_a_generation_that_touches_it_wakes_it_and_only_new_chunks_are_tested(desk):
    desk.ask()
    desk.assessor.asked.clear()
    desk.index.put("c", "The strike spread to the grain terminal.")
    (report,) = desk.run()
    assert desk.assessor.asked == ["The strike spread to the grain terminal."]
    assert (report.tests, report.added, report.withdrawn) == (1, 1, 0)
    assert report.remembered >= 1


def test_what_another_model_judged_is_tested_anew(desk):
    desk.ask()
    desk.assessor.asked.clear()
    desk.judge = "another"
    desk.restart()
    desk.index.put("c", "The strike spread to the grain terminal.")
    (report,) = desk.run()
    assert "The strike began in Port Alder on Monday." in desk.assessor.asked
    assert report.remembered == 0


def test_a_generation_about_something_else_wakes_nobody(desk):
    desk.ask()
    desk.index.put("c", "Astronomers photographed Saturn yesterday.")
    assert desk.run() == []


def test_what_the_index_has_never_held_wakes_it_when_it_comes(desk):
    desk.ask("What is known about Zorblat?", name="z")
    assert desk.updates("z")[0].outcome == "never_seen"
    desk.assessor.word = "zorblat"
    desk.index.put("c", "Zorblat opened a bakery.")
    (report,) = desk.run()
    assert (report.outcome, report.added) == ("answered", 1)


def test_a_deleted_document_withdraws_its_claims(desk):
    desk.ask()
    desk.index.put("c", "The strike spread to the grain terminal.")
    desk.run()
    desk.index.delete("c")
    (report,) = desk.run()
    assert (report.added, report.withdrawn) == (0, 1)
    gone = desk.updates()[-1].changes.withdrawn[0]
    assert (gone.text, gone.sources[0].document_id) == (
        "The strike spread to the grain terminal.",
        "c",
    )


def test_an_edit_rewords_its_claim(desk):
    desk.ask()
    desk.index.put("a", "The strike began in Port Alder on Tuesday.", title="Harbour")
    (report,) = desk.run()
    (pair,) = desk.updates()[-1].changes.reworded
    assert (report.added, report.withdrawn, report.reworded) == (0, 0, 1)
    assert (pair.before.text[-7:], pair.after.text[-8:]) == ("Monday.", "Tuesday.")


def test_a_second_source_for_the_same_words_is_told_as_such(desk):
    desk.ask()
    desk.index.put("copy", "The strike began in Port Alder on Monday.")
    desk.run()
    (pair,) = desk.updates()[-1].changes.sourced
    assert len(pair.before.sources) == 1
    assert {source.document_id for source in pair.after.sources} == {"a", "copy"}


def test_what_changes_no_claim_is_no_update(desk):
    desk.ask()
    desk.assessor.word = "began"
    desk.index.put("c", "The strike goes on.")
    (report,) = desk.run()
    assert (report.tests, report.number) == (1, 0)
    assert len(desk.updates()) == 1


def test_the_days_tests_are_a_bound_and_the_next_day_makes_up_for_it(desk):
    desk.ask(tests_a_day=2)
    for number in range(4):
        desk.index.put(f"n{number}", f"The strike spread to terminal number {number}.")
        desk.run()
    state = desk.store.get("q").state
    assert (state.spent, state.owed) == (2, True)
    assert desk.run() == []
    desk.now += DAY
    desk.run()
    assert desk.store.get("q").state.spent == 2
    desk.now += 5 * DAY
    for _ in range(3):
        desk.run()
        desk.now += DAY
    assert len(desk.texts()) == 5
    assert not desk.store.get("q").state.owed


def test_a_deleted_document_withdraws_its_claims_when_the_days_tests_are_spent(desk):
    desk.ask(tests_a_day=2)
    desk.index.put("c", "The strike goes on.")
    desk.run()
    desk.index.delete("a")
    (report,) = desk.run()
    assert report.withdrawn == 1


def test_a_count_that_changed_is_an_update(desk):
    desk.ask("How many reports are there about the strike?", name="n")
    desk.index.put("c", "The strike spread to the grain terminal.")
    (report,) = desk.run()
    assert report.number == 2
    before, after = desk.updates("n")
    assert before.answer != after.answer
    assert "2" in after.answer


def test_paused_it_sleeps_and_resumed_it_is_asked_anew(desk):
    desk.ask()
    desk.store.pause("q", paused=True)
    desk.index.put("c", "The strike spread to the grain terminal.")
    assert desk.run() == []
    desk.store.pause("q", paused=False)
    (report,) = desk.run()
    assert report.added == 1


def test_it_survives_a_restart_and_misses_nothing(desk):
    desk.ask()
    desk.index.put("c", "The strike spread to the grain terminal.")
    desk.assessor.asked.clear()
    desk.restart()
    (report,) = desk.run()
    assert (report.number, report.added) == (2, 1)
    assert len(desk.assessor.asked) == 1


def test_one_process_runs_them_and_the_next_takes_over(desk):
    desk.ask()
    other = Desk(desk.folder, desk.index)
    desk.index.put("c", "The strike spread to the grain terminal.")
    assert other.run() == []
    desk.store.close()
    assert other.run()[0].added == 1
    other.store.close()


def test_a_model_that_is_lost_changes_no_claim(desk):
    desk.ask()
    answer = desk.engine.answer

    def degraded(question, recall):
        return replace(answer(question, recall), degraded=("model",), claims=())

    desk.engine.answer = degraded
    desk.index.delete("a")
    (report,) = desk.run()
    assert "model" in report.problem
    assert len(desk.texts()) == 1
    desk.engine.answer = answer
    assert desk.run() == []
    desk.now += 31_000
    (report,) = desk.run()
    assert report.withdrawn == 1


def test_one_that_cannot_be_asked_does_not_stop_the_others(desk):
    answer = desk.engine.answer

    def breaks(question, recall):
        if "comet" in question.text:
            raise RuntimeError("broken")
        return answer(question, recall)

    desk.engine.answer = breaks
    desk.store.create("bad", Terms("What about the comet?", 10), "secret", desk.now)
    reports = desk.ask()
    assert [report.problem for report in reports] == ["RuntimeError: broken", ""]
    assert desk.store.get("bad").state.problem == "RuntimeError: broken"
    assert len(desk.texts()) == 1


def test_history_and_verdicts_are_bounded(tmp_path):
    desk = Desk(tmp_path, GrowingIndex(document("a", "", "The strike.")), history=3, verdicts=2)
    with closing(desk):
        desk.ask()
        for number in range(6):
            desk.index.put(f"n{number}", f"The strike spread to terminal number {number}.")
            desk.run()
        assert [update.number for update in desk.updates()] == [5, 6, 7]
        assert len(desk.store.verdicts("q")) == 2


def test_a_question_removed_while_it_is_asked_stays_removed(desk):
    desk.store.create("q", Terms(ASKED, 10), "secret", desk.now)
    answer = desk.engine.answer

    def removed(question, recall):
        desk.store.remove("q")
        return answer(question, recall)

    desk.engine.answer = removed
    desk.run()
    assert desk.store.all() == []
    assert desk.updates() == []


SENTENCES = [
    "The strike began in Port Alder at the {} gate.",
    "Nobody ended the strike of the {} crews.",
    "Mara Voss spoke about {} wages.",
    "The comet Telmar passed {} observers.",
]
TEXTS = st.builds(
    lambda parts: "\n\n".join(SENTENCES[kind].format(word) for kind, word in parts),
    st.lists(
        st.tuples(
            st.integers(0, 3), st.sampled_from(["north", "eastern", "seventh", "copper", "old"])
        ),
        min_size=1,
        max_size=3,
        unique=True,
    ),
)
STEPS = st.lists(
    st.lists(
        st.tuples(st.sampled_from("abcde"), st.none() | TEXTS),
        min_size=1,
        max_size=3,
        unique_by=lambda change: change[0],
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=STEPS, asleep=st.sets(st.integers(0, 7)))
def test_all_updates_add_up_to_the_claims_of_asking_anew(tmp_path_factory, steps, asleep):
    """Whatever comes, goes and is edited; also where several generations pass between askings."""
    desk = Desk(
        tmp_path_factory.mktemp("sum"), GrowingIndex(document("x", "", "The strike is old."))
    )
    with closing(desk):
        desk.ask()
        for number, step in enumerate(steps):
            desk.index.next(
                put=[document(name, "", text) for name, text in step if text],
                delete=[name for name, text in step if not text],
            )
            if number not in asleep:
                desk.run()
        desk.run()
        held = []
        for update in desk.updates():
            held = applied(held, update.changes)
            assert {key(c) for c in held} == {key(c) for c in update.claims}
        anew = Engine(desk.index, LANGUAGE, WordAssessor("strike"), BROAD)
        expected = told(anew.answer(Question(ASKED, 100)))
        assert {key(claim) for claim in held} == {key(claim) for claim in expected}
