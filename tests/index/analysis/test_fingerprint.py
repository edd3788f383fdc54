"""What a store was built with."""

import json
from dataclasses import replace

import pytest

from index.analysis.fingerprint import Fingerprint
from index.analysis.settings import AnalyzerSettings

OURS = Fingerprint("en_core_web_sm", "3.8.0", "100 words, rules 1", 1, "wordllama-l2-256", 256)


def test_a_fingerprint_survives_its_json():
    assert Fingerprint.from_json(OURS.to_json()) == OURS


@pytest.mark.parametrize(
    "text",
    ["[]", "{}", "not json", json.dumps({**json.loads(OURS.to_json()), "dimensions": "256"})],
)
def test_what_is_no_fingerprint_is_refused(text):
    with pytest.raises(ValueError):  # noqa: PT011
        Fingerprint.from_json(text)


def test_differences_name_the_field_and_both_values():
    assert OURS.differences(OURS) == []
    [line] = OURS.differences(replace(OURS, chunking="50 words, rules 1"))
    assert line == "chunking: 100 words, rules 1 in the store, 50 words, rules 1 in the settings"


def test_only_a_new_embedder_leaves_the_concepts_alone():
    assert OURS.same_but_embedder(replace(OURS, embedder="other", dimensions=384))
    assert not OURS.same_but_embedder(replace(OURS, normalisation=2))


def test_impossible_sizes_are_refused():
    with pytest.raises(ValueError, match="chunk_words"):
        AnalyzerSettings(chunk_words=0)
