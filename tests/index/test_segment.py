"""Segments lose what is dead: memory is in proportion to what lives, whatever came and went."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index import segment as segments
from index.segment import Segment, living, merge, merge_small


def made(first, documents):
    """A segment of documents with so many chunks each; all that it says follows from the slot."""
    of = np.repeat(np.arange(len(documents)), documents)
    slots = first + np.arange(len(of))
    numbers = first + np.arange(len(documents))
    return Segment(
        slots=slots.astype(np.int64),
        chunk_document=of.astype(np.int32),
        concept_offsets=np.cumsum([0, *(slots % 3)], dtype=np.int64),
        concepts=np.repeat(slots, slots % 3).astype(np.int32),
        vectors=np.repeat(slots[:, None], 2, axis=1).astype(np.float32),
        documents=numbers.astype(np.int64),
        event_at=(numbers * 7).astype(np.int64),
        observed_at=(numbers * 11).astype(np.int64),
        source=(numbers % 5).astype(np.int32),
        lang=(numbers % 2).astype(np.int32),
        title_offsets=np.cumsum([0, *(numbers % 4)], dtype=np.int64),
        title_concepts=np.repeat(numbers, numbers % 4).astype(np.int32),
    )


def told(segment, alive):
    """What is known of each living chunk and its document, by slot."""
    of = segment.chunk_document
    return {
        int(segment.slots[row]): (
            segment.concepts[slice(*segment.concept_offsets[row : row + 2])].tolist(),
            segment.vectors[row].tolist(),
            *(
                int(getattr(segment, name)[of[row]])
                for name in ("documents", "event_at", "observed_at", "source", "lang")
            ),
            segment.title_concepts[slice(*segment.title_offsets[of[row] : of[row] + 2])].tolist(),
        )
        for row in np.flatnonzero(alive)
    }


@given(st.lists(st.integers(1, 4), min_size=1, max_size=12), st.data())
def test_the_living_rows_say_what_they_said(documents, data):
    one = made(5, documents)
    alive = np.array(data.draw(st.lists(st.booleans(), min_size=one.rows, max_size=one.rows)))
    kept = living(one, alive)
    assert kept.slots.tolist() == one.slots[alive].tolist()
    assert told(kept, np.ones(kept.rows, np.bool_)) == told(one, alive)
    assert set(kept.chunk_document.tolist()) == set(range(len(kept.documents)))


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(segments, "MERGE_LIMIT", 64)
    monkeypatch.setattr(segments, "WASTE", 8)


@pytest.mark.usefixtures("small")
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 0.5, 0.9, 0.98]))
def test_rows_and_segments_are_bounded_by_what_lives(seed, share):
    """Random arrivals and deaths, the old ones more often spared: compared with a plain set."""
    dice = np.random.default_rng(seed)
    kept, alive, lives, following = (), (), {}, 0
    for _ in range(120):
        new = made(following, dice.integers(1, 3, dice.integers(1, 7)).tolist())
        following += new.rows
        gone = [s for s in lives if s % 50 and dice.random() < share / 4]
        for slot in gone:
            del lives[slot]
        alive = tuple(a & ~np.isin(s.slots, gone) for s, a in zip(kept, alive, strict=True))
        lives |= told(new, np.ones(new.rows, np.bool_))
        kept, alive = merge_small((*kept, new), (*alive, np.ones(new.rows, np.bool_)))
    found = {}
    for one, living_rows in zip(kept, alive, strict=True):
        found |= told(one, living_rows)
    assert found == lives
    slots = np.concatenate([one.slots for one in kept])
    assert (np.diff(slots) > 0).all()
    rows = sum(one.rows for one in kept)
    assert rows <= 2 * len(lives) + 8 * len(kept) + 64
    assert len(kept) <= 4 * rows / 64 + 8


def test_what_is_whole_is_not_copied():
    one = made(0, [2, 3])
    assert living(one, np.ones(5, np.bool_)) is one
    assert merge([one, made(5, [1])]).slots.tolist() == list(range(6))
