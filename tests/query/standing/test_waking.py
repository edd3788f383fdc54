"""What a generation touches, and whom that wakes."""

import pytest

from query.standing.types import Interest
from query.standing.waking import Touched, interest_of, touched, wakes
from tests.query.small import LANGUAGE, STORIES, document, stories
from tests.query.standing.growing import GrowingIndex


def interest(text, *communities):
    return interest_of((text,), frozenset(communities), LANGUAGE)


def test_what_came_and_what_went_is_touched_with_its_title():
    index = GrowingIndex(document("a", "Comet seen", "The comet fades."))
    before = index.latest()
    index.next(put=[document("b", "Harbour", "Ships waited.")], delete=["a"])
    found = touched(before, index.latest())
    assert {"comet", "harbour", "ships"} <= found.keys


def test_nothing_is_touched_where_nothing_changed():
    index = GrowingIndex(*STORIES)
    before = index.latest()
    index.next()
    assert not touched(before, index.latest())


def test_communities_that_hold_what_changed_are_touched_on_all_levels():
    whole, less = stories(), stories(retracted=[2])
    assert touched(whole.snapshot, less.snapshot).communities == {1, 3}


@pytest.mark.parametrize(
    ("asked", "by", "woken"),
    [
        (interest("Who leads the dockers?"), Touched(frozenset({"docker"}), frozenset()), True),
        (interest("Who leads the dockers?"), Touched(frozenset({"comet"}), frozenset()), False),
        (interest("Who is Mara Voss?"), Touched(frozenset({"mara voss"}), frozenset()), True),
        (interest("Who?", 7), Touched(frozenset({"comet"}), frozenset({7, 9})), True),
        (interest("Who?", 7), Touched(frozenset({"comet"}), frozenset({9})), False),
        (interest("What are the main stories?"), Touched(frozenset({"x"}), frozenset()), True),
        (interest("What are the main stories?"), Touched(frozenset(), frozenset()), False),
        (Interest(), Touched(frozenset({"x"}), frozenset({1})), False),
    ],
)
def test_a_question_wakes_by_its_concepts_and_its_claims_communities(asked, by, woken):
    assert wakes(asked, by) is woken
