"""The surface forms of concepts and how many chunks use each."""

from contextlib import closing

import pytest

from index.store.connection import open_writable
from index.store.forms import FormCounts


@pytest.fixture
def store(tmp_path):
    with closing(open_writable(tmp_path / "index.db")) as connection:
        yield connection


def counted(store):
    return {
        (concept, text): n
        for concept, text, n in store.execute("SELECT concept, text, n FROM forms")
    }


def test_forms_are_counted_from_batch_to_batch_each_under_one_number(store):
    forms = FormCounts(store)
    first = forms.use({(0, "Oil"): 2, (1, "Gas"): 1}, 0)
    forms.flush()
    second = forms.use({(0, "Oil"): 1, (0, "oil"): 4, (2, "Tin"): 1}, 2)
    forms.flush()
    assert second[0, "Oil"] == first[0, "Oil"]
    assert len({*first.values(), *second.values()}) == 4
    assert counted(store) == {(0, "Oil"): 3, (0, "oil"): 4, (1, "Gas"): 1, (2, "Tin"): 1}


def test_a_form_that_comes_and_goes_in_one_batch_stays_as_it_was(store):
    forms = FormCounts(store)
    numbers = forms.use({(0, "Oil"): 1}, 0)
    forms.flush()
    forms.withdraw(numbers.values())
    assert forms.use({(0, "Oil"): 1}, 1)[0, "Oil"] == numbers[0, "Oil"]
    forms.flush()
    assert counted(store) == {(0, "Oil"): 1}


def test_a_form_that_nobody_uses_any_more_is_forgotten(store):
    forms = FormCounts(store)
    numbers = forms.use({(0, "Oil"): 2, (0, "oil"): 1}, 0)
    forms.flush()
    forms.withdraw([numbers[0, "Oil"], numbers[0, "oil"]])
    forms.flush()
    assert counted(store) == {(0, "Oil"): 1}
