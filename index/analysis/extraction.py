"""Concepts of many texts at once: the seam between languages."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from index.analysis.concepts import phrase_mentions
from index.analysis.identifiers import identifier_spans
from index.analysis.phrases import Phrase, PhraseFinder
from index.analysis.plain import plain_writing
from index.analysis.scripts import is_unspaced
from index.analysis.tagging import TaggedText, Tagger
from index.analysis.unspaced import unspaced_mentions
from index.types import ConceptKey, ConceptKind, Mention

_PHRASES_KEPT = 100_000


class ConceptExtractor(Protocol):
    """Finds the concepts of texts; what it finds in one depends on that text alone."""

    def mentions(self, texts: Sequence[str]) -> list[list[Mention]]:
        """For each text its concepts in order of appearance, repetitions included."""
        ...


class EnglishExtractor:
    """Phrase patterns over the tags of spaCy's tagger, or the noun chunks of its parser."""

    def __init__(self, tagger: Tagger) -> None:
        self._tagger = tagger
        self._finder = PhraseFinder(tagger.labels)
        self._known: dict[tuple[str, str, int, bool], tuple[Mention, ...]] = {}

    def mentions(self, texts: Sequence[str]) -> list[list[Mention]]:
        """For each text its concepts in order of appearance, repetitions included."""
        tagged = self._tagger.tag(texts)
        return [self._of(text, tokens) for text, tokens in zip(texts, tagged, strict=True)]

    def _of(self, text: str, tokens: TaggedText) -> list[Mention]:
        identifiers = identifier_spans(text)
        codes = self._finder.codes(text, tokens, identifiers)
        found = [identifier(text[start:end]) for start, end in identifiers]
        if tokens.noun_chunks is None:
            phrases: Iterable[Phrase] = self._finder.phrases(codes)
        else:
            phrases = self._finder.phrases_within(codes, tokens.noun_chunks)
        if len(self._known) > _PHRASES_KEPT:
            self._known.clear()
        for phrase in phrases:
            found.extend(self._concepts(text, tokens, codes, phrase))
        return found

    def _concepts(
        self, text: str, tokens: TaggedText, codes: str, phrase: Phrase
    ) -> tuple[Mention, ...]:
        first, middle, end, after_title = phrase
        starts, ends = tokens.starts, tokens.ends
        names = middle - first
        key = (text[starts[first] : ends[end - 1]], codes[first:end], names, after_title)
        known = self._known.get(key)
        if known is None:
            parts = [text[starts[i] : ends[i]] for i in range(first, end)]
            known = phrase_mentions(parts, key[1], names, after_title=after_title)
            self._known[key] = known
        return known


class PlainExtractor:
    """What the writing of a language tells, where no tagger reads it."""

    def __init__(self, lang: str) -> None:
        self._lang = lang

    def mentions(self, texts: Sequence[str]) -> list[list[Mention]]:
        """For each text its concepts in order of appearance, repetitions included."""
        found: list[list[Mention]] = []
        for text in texts:
            identifiers = [identifier(text[start:end]) for start, end in identifier_spans(text)]
            found.append([*identifiers, *self._of(text)])
        return found

    def _of(self, text: str) -> list[Mention]:
        if is_unspaced(self._lang):
            return unspaced_mentions(text, self._lang)
        return plain_writing(self._lang).mentions(text)


def identifier(written: str) -> Mention:
    """The concept of an identifier: its key is what is written."""
    return Mention(ConceptKey(written), written, ConceptKind.IDENTIFIER)


def distinct(mentions: Iterable[Mention], limit: int) -> tuple[Mention, ...]:
    """The first ``limit`` distinct concepts, sorted by key; of two kinds the telling one stays."""
    by_key: dict[ConceptKey, Mention] = {}
    for mention in mentions:
        known = by_key.get(mention.key)
        if known is None:
            if len(by_key) < limit:
                by_key[mention.key] = mention
        elif known.kind is ConceptKind.OTHER and mention.kind is not ConceptKind.OTHER:
            by_key[mention.key] = mention
    return tuple(by_key[key] for key in sorted(by_key))
