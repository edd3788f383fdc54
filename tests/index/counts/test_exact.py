"""The counts equal a naive recount, whatever the order and the batching."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.counts.delta import chunk_delta
from index.counts.graph import Counts
from index.errors import NegativeCountError
from index.types import Delta

CHUNKS = st.lists(
    st.frozensets(st.integers(0, 40), max_size=12).map(lambda s: np.array(sorted(s), np.int32)),
    max_size=12,
)


def naive(chunks):
    """Frequencies and pairs as plain dictionaries."""
    f, w = Counter(), Counter()
    for chunk in chunks:
        f.update(chunk.tolist())
        w.update(combinations(chunk.tolist(), 2))
    return f, w


def state(counts):
    """Frequencies and pairs of the counts as plain dictionaries."""
    u, v, w = (column.tolist() for column in counts.pairs())
    f = {x: int(n) for x, n in enumerate(counts.f.tolist()) if n}
    return f, dict(zip(zip(u, v, strict=True), w, strict=True))


def built(chunks, concept_count=50):
    offsets = np.zeros(len(chunks) + 1, np.int64)
    offsets[1:] = np.cumsum([len(chunk) for chunk in chunks])
    joined = np.concatenate([np.zeros(0, np.int32), *chunks])
    return Counts.build(offsets, joined.astype(np.int32), concept_count)


def validate(counts, chunks):
    """Everything that is public, against the naive recount."""
    f, w = naive(chunks)
    assert state(counts) == (dict(f), dict(w))
    assert (f.total(), w.total()) == (counts.F, counts.W)
    assert counts.edge_count == len(w)
    for x in range(counts.concept_count):
        neighbours, shared = counts.neighbours(x)
        expected = sorted((b if a == x else a, n) for (a, b), n in w.items() if x in (a, b))
        assert list(zip(neighbours.tolist(), shared.tolist(), strict=True)) == expected


@given(CHUNKS, st.lists(st.tuples(CHUNKS, st.integers(0, 8)), max_size=10))
def test_any_sequence_of_deltas_equals_a_fresh_build(first, batches):
    living, counts = list(first), built(first)
    for added, gone in batches:
        removed, living = living[:gone], living[gone:] + added
        counts.apply(chunk_delta(added, removed))
        validate(counts, living)
    assert state(counts) == state(built(living))


@given(CHUNKS, CHUNKS)
def test_a_delta_tells_what_its_pairs_held_before(first, added):
    counts, (_, w) = built(first), naive(first)
    delta = chunk_delta(added, first[:3])
    pairs = list(zip(delta.u.tolist(), delta.v.tolist(), strict=True))
    assert counts.held(delta.u, delta.v).tolist() == [w[pair] for pair in pairs]
    assert counts.apply(delta).tolist() == [w[pair] for pair in pairs]


@given(CHUNKS, CHUNKS)
def test_insert_then_delete_is_the_identity(kept, passing):
    counts = built(kept)
    before = state(counts), counts.F, counts.W
    counts.apply(chunk_delta(passing, []))
    counts.apply(chunk_delta([], passing))
    assert (state(counts), counts.F, counts.W) == before


@given(CHUNKS)
def test_what_is_added_and_removed_at_once_is_no_change(chunks):
    delta = chunk_delta(chunks, list(reversed(chunks)))
    assert not len(delta.concepts)
    assert not len(delta.u)


@given(CHUNKS, CHUNKS)
def test_a_delta_is_sorted_distinct_and_without_zeroes(added, removed):
    delta = chunk_delta(added, removed)
    assert (np.diff(delta.concepts) > 0).all()
    assert delta.df.all()
    assert delta.dw.all()
    assert (delta.u < delta.v).all()
    keys = delta.u.astype(np.int64) << 32 | delta.v
    assert (np.diff(keys) > 0).all()
    assert [part.dtype for part in (delta.concepts, delta.df, delta.u, delta.v, delta.dw)] == [
        np.int32
    ] * 5


@given(CHUNKS, CHUNKS)
def test_the_order_of_chunks_does_not_matter(first, second):
    one, other = Counts(), Counts()
    one.apply(chunk_delta(first + second, []))
    other.apply(chunk_delta(second, []))
    other.apply(chunk_delta(first, []))
    assert state(one) == state(other)


def test_a_negative_pair_is_refused_whole():
    """Frequencies would suffice, the pair would not; nothing changes, not even the first pair."""
    chunks = [np.array([0, 1], np.int32), np.array([2, 3], np.int32), np.array([1, 2], np.int32)]
    counts = built(chunks)
    one = np.array([-1], np.int32)
    delta = Delta(
        np.array([0, 1], np.int32),
        np.array([1, -1], np.int32),
        np.array([0, 1], np.int32),
        np.array([1, 3], np.int32),
        np.concatenate([-one, one]),
    )
    with pytest.raises(NegativeCountError, match=r"w\(1, 3\) is 0"):
        counts.apply(delta)
    validate(counts, chunks)


def test_a_negative_frequency_is_refused_whole():
    chunks = [np.array([0, 1], np.int32)]
    counts = built(chunks)
    with pytest.raises(NegativeCountError, match=r"f\(5\) is 0"):
        counts.apply(chunk_delta([np.array([0, 1], np.int32)], [np.array([5], np.int32)]))
    validate(counts, chunks)


def test_a_hub_and_a_turnover_stay_within_the_memory_promised():
    """A concept in every chunk, every chunk replaced ten times over: 40 bytes an edge at most."""
    rng = np.random.default_rng(5)

    def chunk():
        return np.unique(np.append(rng.integers(1, 3000, 16), 0)).astype(np.int32)

    living = [chunk() for _ in range(2000)]
    counts = built(living, 3000)
    for _ in range(40):
        added = [chunk() for _ in range(500)]
        counts.apply(chunk_delta(added, living[:500]))
        living = living[500:] + added
    assert state(counts) == state(built(living, 3000))
    assert counts.nbytes / counts.edge_count <= 40


def test_emptied_counts_hold_nothing_and_fill_again():
    chunks = [np.arange(30, dtype=np.int32)] * 3
    counts = built(chunks)
    counts.apply(chunk_delta([], chunks))
    validate(counts, [])
    counts.apply(chunk_delta(chunks, []))
    validate(counts, chunks)


def test_many_short_rows_and_one_that_grows_make_room_and_go_on():
    """Rows of one neighbour are mostly slack; a full pool of them was once copied for ever."""
    pairs = [np.array([2 * i, 2 * i + 1], np.int32) for i in range(1, 3_000)]
    counts = Counts()
    counts.apply(chunk_delta(pairs, []))
    hub = [np.array([0, x], np.int32) for x in range(1, 6_000)]
    counts.apply(chunk_delta(hub, []))
    assert counts.edge_count == len(pairs) + len(hub)
    assert counts.neighbours(0)[0].tolist() == list(range(1, 6_000))
