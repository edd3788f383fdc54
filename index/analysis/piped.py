"""Concepts by an installed spaCy pipeline: names and nouns with their adjectives, by lemma."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import spacy

from index.analysis.identifiers import identifier_spans
from index.analysis.normalise import fold, join, name_key
from index.analysis.pipelines import Pipeline
from index.analysis.rules import rules_of
from index.types import ConceptKey, ConceptKind, Mention

_UNUSED = ("ner", "parser", "senter")
_BATCH = 32
_STRINGS_KEPT = 300_000
_CODES = {"PROPN": "P", "NOUN": "n", "ADJ": "a"}
_PHRASE = re.compile(r"(?P<name>P{1,6})|a{0,2}n{1,3}a{0,1}")
_LONGEST_WORD = 40
_SHORTEST = 2
_LETTERS = re.compile(r"^[^\W_]")


class PipedExtractor:
    """What a pipeline's parts of speech tell; loads it with the first text."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._stops = rules_of(pipeline.lang).stops
        self._nlp: Any = None
        self._most_strings = 0

    def mentions(self, texts: Sequence[str]) -> list[list[Mention]]:
        """For each text its concepts in order of appearance, repetitions included."""
        if self._nlp is None or len(self._nlp.vocab.strings) > self._most_strings:
            self._nlp = spacy.load(self._pipeline.name, exclude=list(_UNUSED))
            self._most_strings = len(self._nlp.vocab.strings) + _STRINGS_KEPT
        docs = self._nlp.pipe(texts, batch_size=_BATCH)
        return [list(self._of(text, doc)) for text, doc in zip(texts, docs, strict=True)]

    def _of(self, text: str, doc: Any) -> Iterator[Mention]:
        for start, end in identifier_spans(text):
            written = text[start:end]
            yield Mention(ConceptKey(written), written, ConceptKind.IDENTIFIER)
        codes = "".join(self._code(token) for token in doc)
        for match in _PHRASE.finditer(codes):
            tokens = doc[match.start() : match.end()]
            if match["name"]:
                yield from _mention(name_key([t.text for t in tokens]), tokens)
                continue
            nouns = [t for t in tokens if t.pos_ == "NOUN"]
            yield from _mention(fold(nouns[-1].lemma_), nouns[-1:])
            if len(tokens) > 1:
                yield from _mention(join([fold(t.lemma_) for t in tokens]), tokens)

    def _code(self, token: Any) -> str:
        said = token.text.casefold() in self._stops or not _LETTERS.match(token.text)
        return "." if said or len(token.text) > _LONGEST_WORD else _CODES.get(token.pos_, ".")


def _mention(key: str, tokens: Any) -> Iterator[Mention]:
    if len(key) >= _SHORTEST:
        form = " ".join(token.text for token in tokens)
        yield Mention(ConceptKey(key), form, ConceptKind.OTHER)
