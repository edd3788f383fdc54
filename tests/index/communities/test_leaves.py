"""Leaves laid out late are those that were laid out step by step."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from index.communities.leaves import NONE, Leaves


@given(st.integers(0, 10_000))
def test_many_steps_laid_out_late_equal_the_same_steps_one_by_one(seed):
    rng = np.random.default_rng(seed)
    naive = rng.integers(0, 9, 5)
    leaves, kept = Leaves(naive.copy()), []
    for _ in range(150):
        if rng.random() < 0.1:
            more = int(rng.integers(1, 4))
            naive = np.append(naive, np.full(more, NONE))
            leaves = leaves.resized(len(naive))
        concepts = rng.permutation(len(naive))[: rng.integers(0, 4)].astype(np.int32)
        places = rng.integers(NONE, 9, len(concepts))
        naive = naive.copy()
        naive[concepts] = places
        leaves = leaves.moved(concepts, places)
        kept.append((leaves, naive))
    for laid, expected in kept:
        assert laid.row.tolist() == expected.tolist()
        assert len(laid) == len(expected)


def test_fewer_concepts_are_the_first_of_all():
    moved = Leaves(np.array([3, 3, 4])).moved(np.array([0, 2], np.int32), np.array([5, 6]))
    assert moved.resized(2).row.tolist() == [5, 3]
    assert moved.row.tolist() == [5, 3, 6]
