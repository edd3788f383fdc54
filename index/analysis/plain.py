"""Concepts without a tagger, by what a language's own writing tells of its nouns.

A capital inside a sentence tells a name (in German a noun). A word in lower case counts where it
is the first noun after a determiner or preposition, which leaves verbs out without knowing them.
Two such words in a row are a phrase where they come twice in the text. Where a language has no
determiners or they are not known, a word counts that is long, comes twice or bears a particle.

As with the tagger's phrases, each token is one character and a phrase is one match: N name,
w common word, m verb or modifier by its ending, o determiner or preposition, . anything else.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache, lru_cache

from index.analysis.normalise import fold, name_key
from index.analysis.rules import rules_of
from index.analysis.scripts import word_pattern
from index.types import ConceptKey, ConceptKind, Mention

_ADDRESS = re.compile(r"(?:https?://|www\.)\S{1,300}|[\w.+-]{1,60}@[\w.-]{1,60}")
_PHRASE = re.compile(r"(?P<name>N+)|(?P<opened>o)[om]*(?P<noun>w+)|w+")
_ENDS = frozenset(".!?\u2026;\u061f\u0964)\n")
_LONGEST_NAME = 4
_LONGEST_WORD = 40
_SHORTEST_NAME = 2
_SHORTEST_CASED = 4
_SHORTEST_UNCASED = 3
_SHORTEST_HANGUL = 2
_LONG = 8
"""Letters from which a word counts by itself in a language without determiners."""
_LONG_HANGUL = 4
_WORDS_KEPT = 100_000
_TWICE = 2


class PlainWriting:
    """Finds the concepts of texts in one language; remembers what each word is."""

    def __init__(self, lang: str) -> None:
        self._rules = rules_of(lang)
        self._unopened = not self._rules.openers
        self._parts: dict[str, tuple[tuple[str, str], ...]] = {}

    def mentions(self, text: str) -> list[Mention]:
        """The concepts of a text in order, with repetitions."""
        tokens, codes = self._tokens(_ADDRESS.sub(" . ", text))
        repeated = self._repeated(tokens, codes)
        found: list[Mention] = []
        for match in _PHRASE.finditer(codes):
            if match["name"]:
                found.extend(_name_mentions(tuple(tokens[match.start() : match.end()])))
            else:
                start = match.start("noun") if match["opened"] else match.start()
                words = tokens[start : match.end()]
                found.extend(self._nouns(words, repeated, opened=bool(match["opened"])))
        return found

    def _tokens(self, text: str) -> tuple[list[str], str]:
        """Words and their codes; a capital that opens a sentence is settled by the rest."""
        tokens: list[str] = []
        codes: list[str] = []
        doubtful: list[int] = []
        opens = True
        for match in word_pattern().finditer(text):
            if match.lastgroup == "word":
                for token, code in self._known(match[0]):
                    if code == "N" and opens and not _is_marked(token):
                        doubtful.append(len(tokens))
                    tokens.append(token)
                    codes.append(code)
                opens = False
                continue
            opens = match.lastgroup != "number" and (opens or match[0] in _ENDS)
            tokens.append(match[0])
            codes.append(".")
        self._settle(tokens, codes, doubtful)
        if self._rules.names_inflect:
            _uninflect(tokens, codes)
        return tokens, "".join(codes)

    def _settle(self, tokens: list[str], codes: list[str], doubtful: list[int]) -> None:
        for at in doubtful:
            codes[at] = "?"
        sure = {token for token, code in zip(tokens, codes, strict=True) if code == "N"}
        for at in reversed(doubtful):
            before_name = not self._rules.capital_nouns and codes[at + 1 : at + 2] == ["N"]
            if tokens[at] in sure or before_name:
                codes[at] = "N"
            elif self._rules.capital_nouns:
                codes[at] = "."
            else:
                tokens[at] = tokens[at].lower()
                codes[at] = self._code(tokens[at])

    def _known(self, word: str) -> tuple[tuple[str, str], ...]:
        parts = self._parts.get(word)
        if parts is None:
            if len(self._parts) > _WORDS_KEPT:
                self._parts.clear()
            parts = self._parts[word] = tuple(self._split(word))
        return parts

    def _split(self, word: str) -> Iterator[tuple[str, str]]:
        """A written word as its parts with their codes: "l'Europe" is an article and a name."""
        rules = self._rules
        prefix = rules.prefix.match(word.lower()) if rules.prefix else None
        if prefix and word.lower() not in rules.stops:
            yield word[: prefix.end()], "o" if prefix["opener"] else "."
            word = word[prefix.end() :]
        if rules.particles:
            noun = rules.particles.sub("", word)
            if noun != word and self._unopened and self._code(noun) == "w":
                yield "", "o"
            word = noun
        yield word, self._code(word)

    def _code(self, word: str) -> str:
        rules = self._rules
        folded = word.casefold()
        if folded in rules.openers:
            return "o"
        if folded in rules.stops or fold(word) in rules.stops or len(word) > _LONGEST_WORD:
            return "."
        if word[0].isupper():
            return "N" if len(word) >= _SHORTEST_NAME else "."
        if rules.capital_nouns or rules.syllables or len(word) < _shortest(word[0]):
            return "."
        if rules.other and rules.other.search(folded):
            return "m"
        return "w"

    def _repeated(self, tokens: list[str], codes: str) -> set[str]:
        """Keys of common words, and of two in a row, that come twice."""
        counts: Counter[str] = Counter()
        last = ""
        for token, code in zip(tokens, codes, strict=True):
            if code != "w":
                last = ""
                continue
            key = self._rules.stem(fold(token))
            counts[key] += 1
            if last:
                counts[f"{last} {key}"] += 1
            last = key
        return {key for key, count in counts.items() if count >= _TWICE}

    def _nouns(self, words: list[str], repeated: set[str], *, opened: bool) -> Iterator[Mention]:
        last = ""
        for at, word in enumerate(words):
            key = self._rules.stem(fold(word))
            if (opened and at == 0) or (self._unopened and self._telling(word, key, repeated)):
                yield _other(key, word)
            if last and f"{last} {key}" in repeated:
                yield _other(f"{last} {key}", f"{words[at - 1]} {word}")
            last = key

    def _telling(self, word: str, key: str, repeated: set[str]) -> bool:
        """Whether a word is a concept in a language without determiners."""
        long = _LONG_HANGUL if _is_hangul(word) else _LONG
        return len(word) >= long or key in repeated


@cache
def plain_writing(lang: str) -> PlainWriting:
    """The one reader of a language's writing in this process."""
    return PlainWriting(lang)


def _uninflect(tokens: list[str], codes: list[str]) -> None:
    """Write a name that is another name of the text with an ending as that name."""
    numbers = [at for at, code in enumerate(codes) if code == "N"]
    names = {tokens[at] for at in numbers}
    for at in numbers:
        name = tokens[at]
        ending = next((n for n in (1, 2, 3) if len(name) - n >= 4 and name[:-n] in names), 0)  # noqa: PLR2004
        if ending and name[-ending:].islower():
            tokens[at] = name[:-ending]


def _is_marked(word: str) -> bool:
    """Whether a word has capitals beyond its first letter, so that no sentence gave them."""
    return not word[1:].islower()


def _shortest(letter: str) -> int:
    if letter.lower() != letter.upper():
        return _SHORTEST_CASED
    return _SHORTEST_HANGUL if _is_hangul(letter) else _SHORTEST_UNCASED


def _is_hangul(word: str) -> bool:
    return "\uac00" <= word[0] <= "\ud7a3"


@lru_cache(maxsize=_WORDS_KEPT)
def _name_mentions(parts: tuple[str, ...]) -> tuple[Mention, ...]:
    """A run of capitalised words as one name; each word where the run is too long for one."""
    if len(parts) > _LONGEST_NAME:
        return tuple(one for part in parts for one in _name_mentions((part,)))
    key = name_key(parts)
    return (_other(key, " ".join(parts)),) if key else ()


def _other(key: str, form: str) -> Mention:
    return Mention(ConceptKey(key), form, ConceptKind.OTHER)
