"""Lasting ids from the moves of one batch."""

import numpy as np

from index.communities.naming import Moves, name


def moves(before, now, slots, ids, held, size):
    """``before`` and ``now``: a slot for each concept, or its path."""
    return Moves(
        np.array(before, np.int32).reshape(len(before), -1 if before else 1),
        np.array(now, np.int32).reshape(len(now), -1 if now else 1),
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


def test_a_community_that_becomes_part_of_another_as_a_whole_keeps_its_id():
    """Slot 4 (id 8, its part in 5, id 9) went into slot 3: it is slot 6 there, its part 7."""
    before = [[4, 5, -1], [4, 5, -1], [4, -1, -1]]
    now = [[3, 6, 7], [3, 6, 7], [3, 6, -1]]
    slots, ids = [3, 4, 5, 6, 7], [2, 8, 9, 0, 0]
    names = name(moves(before, now, slots, ids, [10, 3, 2, 0, 0], [13, 0, 0, 3, 2]), 20)
    assert names.ids.tolist() == [2, 0, 0, 8, 9]
    assert (names.deaths, told(names), names.next_id) == ((), [], 20)


def test_a_community_whose_place_is_taken_by_nobody_new_is_merged_as_before():
    """Id 8 went from a slot of the first level into slot 5, which was there, on the second."""
    names = name(
        moves([[4, -1]] * 2, [[3, 5]] * 2, [3, 4, 5], [2, 8, 9], [9, 2, 4], [11, 0, 6]), 20
    )
    assert names.ids.tolist() == [2, 0, 9]
    assert told(names) == [("merge", 8, 2, 2)]
