"""Questions that list several things."""

import pytest

from query.enumeration import listed, mostly_found

ASKED = "What happened to the cracked bridge, the lost ship and the hospital's records?"
TEXTS = ("The bridge has cracked.", "A ship is lost.", "Records were kept; the hospital closed.")


def test_a_list_of_three_is_taken_apart():
    assert [sorted(thing) for thing in listed(ASKED)] == [
        ["bridg", "crack"],
        ["lost", "ship"],
        ["hospital", "record"],
    ]


@pytest.mark.parametrize("text", ["Who owns the ship?", "Where are the ship and the bridge?", ""])
def test_a_question_about_one_or_two_things_lists_none(text):
    assert listed(text) == ()


def test_half_of_the_things_are_enough_and_each_must_stand_whole_in_one_text():
    things = listed(ASKED)
    assert mostly_found(things, TEXTS[:2])
    assert not mostly_found(things, TEXTS[:1])
    assert not mostly_found(things, ("The bridge is lost.", "A cracked ship."))


def test_nothing_listed_is_not_found():
    assert not mostly_found((), TEXTS)
