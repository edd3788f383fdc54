"""Phrase patterns over fine tags: a token is one character, a phrase one regular match.

Codes: P proper noun, n noun, s plural noun, a adjective, v participle, - hyphen, ' possessive,
o "of" between names, & "&" or "and" between names, t title, B a name that holds its possessive,
. anything else. A phrase is found in the string of codes and cut from the text.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from index.analysis.lexicon import pairs, words
from index.analysis.normalise import fold
from index.analysis.tagging import TaggedText

_BY_TAG = {
    "NN": "n",
    "NNS": "s",
    "NNP": "P",
    "NNPS": "P",
    "JJ": "a",
    "JJR": "a",
    "JJS": "a",
    "FW": "n",
    "VBN": "v",
    "VBG": "v",
    "HYPH": "-",
    "POS": "'",
    "CC": "&",
    "IN": "o",
    "DT": "d",
    "CD": ".",
}
_NOUNS = frozenset("nsPa")
_BREAKS = words("breaks")
_TITLES = words("titles")
_DEMONYM_WORDS = frozenset(pairs("demonyms"))
_BRANDS = words("joined_possessives")
_CLASSES_KEPT = 200_000
_LONGEST_WORD = 40

_NO_WORD = re.compile(r"[@()\[\]{}<>|=*\\]|://|^www\.|^.[0-9/]")
_TITLE_BEFORE_NAME = re.compile("T(?=[PTB])")
_OWNED_BRAND = re.compile("B'(?=P)|B'")
_NAME = r"P+(?:-P+|oP+|&P+)*"
_TAIL = r"(?:[ans](?:-[ansv])*)*[ns](?:-[ns])*"
PHRASE = re.compile(rf"(?P<name>{_NAME})(?P<tail>{_TAIL})?|(?<!-)(?P<common>{_TAIL})")


class Phrase(NamedTuple):
    """A match as token intervals; ``name`` or ``tail`` may be empty (start equals end)."""

    start: int
    middle: int
    end: int
    after_title: bool


class PhraseFinder:
    """Finds phrases in tagged texts; remembers what each word is, as words repeat."""

    def __init__(self, labels: Sequence[str]) -> None:
        self._tag_codes = [_BY_TAG.get(label, ".") for label in labels]
        self._all_codes = frozenset(self._tag_codes)
        self._classes: dict[int, tuple[str, ...]] = {}

    def codes(self, text: str, tagged: TaggedText, masked: Sequence[tuple[int, int]] = ()) -> str:
        """The string of codes of a text; tokens that touch a ``masked`` span are dots."""
        if len(self._classes) > _CLASSES_KEPT:
            self._classes.clear()
        classes = self._classes
        out: list[str] = []
        for at, (orth, tag) in enumerate(zip(tagged.orths, tagged.tags.tolist(), strict=True)):
            by_tag = classes.get(orth)
            if by_tag is None:
                word = text[tagged.starts[at] : tagged.ends[at]]
                by_code = {code: word_code(word, code) for code in self._all_codes}
                by_tag = classes[orth] = tuple([by_code[code] for code in self._tag_codes])
            out.append(by_tag[tag])
        for start, end in masked:
            _mask(out, tagged, start, end)
        return _resolve("".join(out))

    def phrases(self, codes: str) -> list[Phrase]:
        """The phrases of a string of codes, in order."""
        found: list[Phrase] = []
        for match in PHRASE.finditer(codes):
            start, end = match.span()
            middle = start if match["name"] is None else match.end("name")
            found.append(Phrase(start, middle, end, start > 0 and codes[start - 1] == "t"))
        return found

    def phrases_within(self, codes: str, chunks: Sequence[tuple[int, int]]) -> list[Phrase]:
        """The phrases inside given token intervals, such as a parser's noun chunks."""
        found: list[Phrase] = []
        for first, last in chunks:
            for phrase in self.phrases(codes[first:last]):
                start, middle, end, after = phrase
                found.append(Phrase(start + first, middle + first, end + first, after))
        return found


def _mask(out: list[str], tagged: TaggedText, start: int, end: int) -> None:
    for at, token_start in enumerate(tagged.starts):
        if token_start >= end:
            return
        if tagged.ends[at] > start:
            out[at] = "."


def _resolve(codes: str) -> str:
    """Decide what needs a neighbour: titles before names, possessives within names."""
    if "T" in codes:
        codes = _TITLE_BEFORE_NAME.sub("t", codes).replace("T", "P")
    if "B" in codes:
        codes = _OWNED_BRAND.sub("PP", codes).replace("B", "P")
    return codes


def word_code(word: str, code: str) -> str:
    """The code of a word under the code of its tag."""
    if code in _NOUNS:
        return _noun_code(word, code)
    if code == "o":
        return "o" if word == "of" else "."
    if code == "&":
        return "&" if word in {"&", "and"} else "."
    return "." if code == "d" else code


def _noun_code(word: str, code: str) -> str:
    lower = fold(word)
    if not _is_word(word, lower) or lower in _BREAKS:
        return "."
    capital = word[0].isupper()
    if capital and lower in _DEMONYM_WORDS:
        return "P"
    if capital and lower in _TITLES:
        return "T" if code == "P" else code
    if code == "P" and lower in _BRANDS:
        return "B"
    return code


def _is_word(word: str, lower: str) -> bool:
    """At least half letters, two at the start unless it is an initial; not absurdly long."""
    if not lower or len(word) > _LONGEST_WORD or not word[0].isalpha():
        return False
    letters = sum(map(str.isalpha, word))
    if len(lower) == 1:
        return word[0].isupper()
    if word[1] == "-" and word[0] in "DR" and word[2:3].isupper():
        return False  # "D-Tex", a senator's party and state
    return 2 * letters >= len(word) and not _NO_WORD.search(word)
