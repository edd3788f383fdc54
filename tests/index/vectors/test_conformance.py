"""What every vector index must do, whoever made it."""

import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.errors import VectorIndexError
from index.types import Millis
from index.vectors import qdrant
from index.vectors.protocol import Condition, Mark, Points, token, tokens, wanted_tokens
from tests.index.vectors.indexes import KINDS, make, mark, points

ANY = Condition()
FILTERED = [
    (Condition(event_at=(Millis(1004), None)), {4, 5, 6, 7, 8, 9}),
    (Condition(event_at=(None, Millis(1004))), {0, 1, 2, 3}),
    (Condition(observed_at=(Millis(2002), Millis(2005))), {2, 3, 4}),
    (Condition(source=("a", "b")), {0, 1, 4, 5, 8, 9}),
    (Condition(source=("nobody",)), set()),
    (Condition(lang=("de",), below=7), {0, 3, 6}),
    (Condition(where=wanted_tokens({"n": 1.0})), {1, 4, 7}),
    (Condition(where=wanted_tokens({"n": 1, 'odd"key': None})), set()),
    (Condition(source=("a",), lang=("de",), where=wanted_tokens({"n": 0})), {0}),
]
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3)
)


@pytest.fixture(params=KINDS)
def reopen(request, tmp_path):
    yield from make(request.param, tmp_path)


@pytest.fixture
def index(reopen):
    made = reopen()
    made.reset(8)
    return made


def found(index, vector, condition=ANY, limit=10) -> list[int]:
    return index.search(vector, limit, condition).slots.tolist()


def test_an_index_that_is_not_there_has_no_mark_and_no_points(reopen):
    index = reopen()
    assert (index.mark(), index.count()) == (None, 0)
    with pytest.raises(VectorIndexError):
        index.search(np.ones(8, np.float32), 1, Condition())


def test_a_mark_comes_back_and_is_no_point(index):
    index.put_mark(mark())
    assert (index.mark(), index.count(), list(index.ids())) == (mark(), 0, [[]])
    index.put_mark(mark(generation=8))
    assert index.mark() == mark(generation=8)
    assert found(index, np.ones(8, np.float32)) == []


def test_a_mark_of_another_release_is_none():
    assert Mark.of(mark().payload() | {"format": 2}) is None
    assert Mark.of(mark().payload() | {"next_slot": "9"}) is None
    assert Mark.of(mark().payload()) == mark()


def test_points_and_mark_are_there_after_opening_again(reopen):
    index = reopen()
    index.reset(8)
    index.upsert(points([1, 2]))
    index.put_mark(mark())
    again = reopen()
    assert (again.mark(), again.count()) == (mark(), 2)


def test_hits_come_best_first_with_their_cosine(index):
    made = points(range(20))
    index.put_mark(mark())
    index.upsert(made)
    hits = index.search(made.vectors[7], 5, Condition())
    expected = made.vectors @ made.vectors[7]
    assert hits.slots.tolist() == np.argsort(-expected)[:5].tolist()
    assert np.allclose(hits.scores, np.sort(expected)[::-1][:5], atol=1e-5)


def test_a_point_written_twice_is_one(index):
    index.upsert(points([1, 2]))
    made = points([2], seed=9, source=lambda _: "other")
    index.upsert(made)
    assert index.count() == 2
    vector, payload = index.read([2])[2]
    assert np.allclose(vector, made.vectors[0], atol=1e-6)
    assert payload["source"] == "other"


def test_a_deleted_point_is_found_no_more(index):
    made = points(range(5))
    index.upsert(made)
    index.delete([0, 3, 99])
    assert sorted(found(index, made.vectors[3])) == [1, 2, 4]
    assert index.read([3, 4]).keys() == {4}


def test_ids_give_every_point_once(index, monkeypatch):
    for module in (qdrant, sys.modules.get("index.vectors.edge")):
        if module is not None:
            monkeypatch.setattr(module, "_PAGE", 20)
    index.put_mark(mark())
    index.upsert(points(range(50)))
    ids = [one for page in index.ids() for one in page]
    assert sorted(ids) == list(range(50))


def test_every_filter_holds_before_the_limit(index):
    made = points(
        range(10),
        source=lambda slot: "ab"[slot % 4] if slot % 4 < 2 else "c",
        lang=lambda slot: "de" if slot % 3 == 0 else "en",
    )
    index.upsert(made)
    for condition, expected in FILTERED:
        assert set(found(index, made.vectors[0], condition, limit=10)) == expected, condition


def test_making_an_index_anew_empties_it_and_may_change_its_size(index):
    index.upsert(points([1]))
    index.put_mark(mark())
    index.reset(4)
    assert (index.mark(), index.count()) == (None, 0)
    made = points([3], dimensions=4)
    index.upsert(made)
    assert found(index, made.vectors[0]) == [3]


def test_points_of_another_size_are_refused(index):
    with pytest.raises(VectorIndexError):
        index.upsert(points([1], dimensions=5))


def test_searches_may_run_while_points_are_written(index):
    made = points(range(80))
    index.upsert(Points(made.slots[:50], made.vectors[:50], made.payloads[:50]))
    stop, wrong = threading.Event(), []

    def ask() -> None:
        while not stop.is_set():
            if 7 not in found(index, made.vectors[7], limit=3):
                wrong.append("lost")

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for start in range(50, 80, 10):
        part = slice(start, start + 10)
        index.upsert(Points(made.slots[part], made.vectors[part], made.payloads[part]))
    stop.set()
    for thread in threads:
        thread.join()
    assert (wrong, index.count()) == ([], 80)


def test_settling_changes_no_hit(index):
    made = points(range(50))
    index.upsert(made)
    before = found(index, made.vectors[0])
    index.settle()
    assert found(index, made.vectors[0]) == before


@given(st.dictionaries(st.text(max_size=3), SCALARS, max_size=3))
def test_values_have_one_token_where_they_are_equal(metadata):
    """As SQLite reads them: true is 1 is 1.0."""
    for name, value in metadata.items():
        assert token(name, value) in tokens(metadata)
        for other in (1, 1.0, True, "1", None, 0, "true"):
            numbers = isinstance(value, int | float) and isinstance(other, int | float)
            same = value == other and (numbers or type(value) is type(other))
            assert (token(name, value) == token(name, other)) is same
