"""The window encoder beside thinc's own layers."""

import numpy as np
import pytest

from index.analysis.encoder import Layer, WindowEncoder
from index.analysis.tagging import Tagger, load_pipeline

TEXTS = [
    "Crude oil rose 1.5 pct.",
    "",
    "The Bank of Japan said on Friday that it would sell dollars; nobody believed it.",
    "Rain",
]


@pytest.fixture(scope="module")
def nlp():
    return load_pipeline("en_core_web_sm", parser=False)


def test_rows_equal_those_of_thinc_to_the_last_bit(nlp):
    model = nlp.get_pipe("tok2vec").model
    rows = model.get_ref("embed").predict([nlp.make_doc(text) for text in TEXTS])
    theirs = model.get_ref("encode").predict(rows)
    encoder = WindowEncoder.of(model.get_ref("encode"))
    ours = encoder.encode(np.concatenate(rows), [len(own) for own in rows])
    assert np.array_equal(ours, np.concatenate(theirs))


def test_a_text_has_the_same_rows_alone_after_a_larger_batch(nlp):
    model = nlp.get_pipe("tok2vec").model
    rows = model.get_ref("embed").predict([nlp.make_doc(text) for text in TEXTS])
    encoder = WindowEncoder.of(model.get_ref("encode"))
    together = encoder.encode(np.concatenate(rows), [len(own) for own in rows])
    alone = encoder.encode(rows[0], [len(rows[0])])
    assert np.array_equal(alone, together[: len(rows[0])])


def test_the_mix_of_features_equals_that_of_thinc(nlp):
    model = nlp.get_pipe("tok2vec").model.get_ref("embed").layers[3].layers[0]
    layer = Layer.of(model)
    inputs = np.random.default_rng(3).normal(size=(37, 576)).astype(np.float32)
    ours = np.zeros((37, layer.width), np.float32)
    layer.add(inputs, ours, np.empty((37, 4 * layer.width), np.float32))
    assert np.array_equal(ours, model.predict(inputs))


def test_a_model_that_is_built_otherwise_is_refused(nlp):
    model = nlp.get_pipe("tok2vec").model
    assert WindowEncoder.of(model.get_ref("embed")) is None
    assert Layer.of(model.get_ref("encode").layers[0]) is None


def test_tags_are_those_of_the_pipeline(nlp):
    tagger = Tagger("en_core_web_sm", parser=False)
    ours = [[tagger.labels[tag] for tag in text.tags] for text in tagger.tag(TEXTS)]
    assert ours == [[token.tag_ for token in doc] for doc in nlp.pipe(TEXTS)]
