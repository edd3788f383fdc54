"""When a batch is closed."""

from hypothesis import given
from hypothesis import strategies as st

from stream.batching import Batcher, BatchLimits

LIMITS = BatchLimits(records=3, bytes=100, age=1.0)


def test_an_empty_batch_is_never_due():
    assert not Batcher(LIMITS).due(1e9)


def test_a_batch_is_due_by_count():
    batch = Batcher(LIMITS)
    for n in range(3):
        assert not batch.due(0.0)
        batch.add(n, 1, 0.0)
    assert batch.due(0.0)


def test_a_batch_is_due_by_bytes():
    batch = Batcher(LIMITS)
    batch.add("a", 99, 0.0)
    assert not batch.due(0.0)
    batch.add("b", 1, 0.0)
    assert batch.due(0.0)


def test_a_batch_is_due_by_the_age_of_its_first_item():
    batch = Batcher(LIMITS)
    batch.add("a", 1, 10.0)
    batch.add("b", 1, 10.9)
    assert not batch.due(10.99)
    assert batch.due(11.0)


@given(st.lists(st.integers(0, 150)))
def test_all_items_come_out_in_order_in_batches_within_their_limits(sizes):
    batch, taken = Batcher(LIMITS), []
    for number, size in enumerate(sizes):
        batch.add((number, size), size, 0.0)
        if batch.due(0.0):
            taken.append(batch.take())
    taken.append(batch.take())
    assert [number for one in taken for number, _ in one] == list(range(len(sizes)))
    for one in taken:
        assert len(one) <= 3
        assert sum(size for _, size in one[:-1]) < 100
