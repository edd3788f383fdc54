"""Lasting ids from the moves of one batch."""

import numpy as np

from index.communities.naming import Moves, name


def moves(before, now, slots, ids, held, size):
    return Moves(
        np.array(before, np.int32),
        np.array(now, np.int32),
        np.array(slots, np.int32),
        np.array(ids, np.int64),
        np.array(held, np.int64),
        np.array(size, np.int64),
    )


def told(names):
    return [(e.kind.value, e.community, e.related, e.shared) for e in names.lineage]


def test_a_community_that_stays_keeps_its_id():
    names = name(moves([], [], [3], [7], [4], [4]), 20)
    assert (names.ids.tolist(), names.deaths, told(names), names.next_id) == ([7], (), [], 20)


def test_of_a_split_the_larger_part_keeps_the_id_even_in_another_slot():
    """Three of four went to slot 5: there the id goes on, slot 3 gets a fresh one."""
    names = name(moves([3, 3, 3], [5, 5, 5], [3, 5], [7, 0], [4, 0], [1, 3]), 20)
    assert names.ids.tolist() == [20, 7]
    assert told(names) == [("split", 20, 7, 1)]


def test_of_a_merge_the_larger_one_keeps_its_id_even_if_it_moved():
    """The three of id 8 moved into the slot of id 7, which held two."""
    names = name(moves([4, 4, 4], [3, 3, 3], [3, 4], [7, 8], [2, 3], [5, 0]), 20)
    assert names.ids.tolist() == [8, 0]
    assert names.deaths == (7,)
    assert told(names) == [("merge", 7, 8, 2)]


def test_a_community_of_new_concepts_is_born():
    names = name(moves([-1, -1], [6, 6], [6], [0], [0], [2]), 20)
    assert (names.ids.tolist(), told(names), names.next_id) == ([20], [("birth", 20, 0, 2)], 21)


def test_a_community_whose_concepts_vanish_dies():
    names = name(moves([3, 3], [-1, -1], [3], [7], [2], [0]), 20)
    assert (names.ids.tolist(), names.deaths) == ([0], (7,))
    assert told(names) == [("death", 7, 0, 2)]
