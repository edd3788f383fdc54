"""Names of one and the same thing."""

import pytest

from index.analysis.lexicon import pairs
from query.aliases import concepts_named, listed_aliases, other_names, resolved
from query.assessor import OfflineAssessor
from query.graph import SearchGraph
from query.names import exactly, matching
from query.search import Engine
from query.types import Outcome, Question
from query.words import words
from tests.query.memory import MemorySource, MemoryView
from tests.query.small import DIMENSIONS, LANGUAGE, document


def view(*texts):
    return MemoryView([document(f"d{n}", "", text) for n, text in enumerate(texts)], DIMENSIONS)


def ask(text, *texts):
    engine = Engine(MemorySource(view(*texts)), LANGUAGE, OfflineAssessor())
    return engine.answer(Question(text, 20))


MUMBAI = "Dockers in Mumbai began a strike over wages."
DELHI = "Dockers in Delhi began a strike over wages."


def test_bombay_finds_mumbai_and_never_delhi():
    answer = ask("What strike began in Bombay?", MUMBAI, DELHI)
    assert answer.outcome is Outcome.ANSWERED
    assert {citation.document_id for citation in answer.citations[:1]} == {"d0"}
    answer = ask("What strike began in Bombay?", DELHI)
    assert answer.outcome is Outcome.NEVER_SEEN
    assert answer.citations == ()
    assert 'No record of "Bombay"' in answer.text


def test_peking_and_beijing_find_each_other():
    for asked, held in (("Peking", "Beijing"), ("Beijing", "Peking")):
        answer = ask(f"What did {asked} announce?", f"A reform was announced in {held} today.")
        assert answer.outcome is Outcome.ANSWERED


def test_a_name_borne_by_a_concept_is_kept_and_the_other_looked_up_beside_it():
    graph = SearchGraph(view(MUMBAI, "Bombay was its name.").snapshot)
    assert resolved("ships of Bombay", graph) == ("ships of Bombay", ("Mumbai",))
    graph = SearchGraph(view(MUMBAI).snapshot)
    assert resolved("ships of Bombay's port", graph) == ("ships of Mumbai's port", ())


def test_names_that_merely_contain_or_resemble_one_are_left_alone():
    assert other_names("Bombay Sapphire") == ()
    assert other_names("Delhi") == ()
    assert other_names("Mumbay") == ()


def test_the_common_noun_opec_is_not_mistaken_for_the_organisation():
    rare = document("d0", "", "The opec cartel met.")
    rest = [document(f"d{n}", "", "Prices fell as OPEC met in Vienna.") for n in range(1, 4)]
    held = MemoryView([rare, *rest], DIMENSIONS)
    graph = SearchGraph(held.snapshot)
    full = pairs("aliases")["opec"]
    if graph.held("opec") is None:
        pytest.fail("the small language should give both keys")
    for name in ("opec", "OPEC", full):
        assert held.vocabulary.key(exactly(graph, name)) == full
    found = held.vocabulary.keys(matching(graph, "OPEC").tolist())
    assert found[0] == full
    assert "opec" in found
    assert len(concepts_named(["OPEC"], graph)) == 2


def test_no_name_of_the_list_stands_for_two_things():
    seen = {}
    for names in set(listed_aliases().values()):
        for name in names:
            key = " ".join(words(name)).casefold().removeprefix("the ")
            assert seen.setdefault(key, names) == names, name
            assert len(names) > 1
