"""Concepts without a tagger: spans between stop words, and capitalised runs.

For languages that no installed tagger reads. Scripts without spaces give runs of letters
between punctuation, bounded in length.
"""

import re
from functools import cache

from spacy.util import get_lang_class

from index.analysis.normalise import fold, join
from index.types import ConceptKey, ConceptKind, Mention

_TOKEN = re.compile(r"[^\W\d_](?:[\w'\u2019-]*\w)?|[^\w\s]|\d[\w.,]*", re.UNICODE)
_UNSPACED = frozenset({"zh", "ja", "th", "lo", "km", "my", "yue", "wuu"})
_IDEOGRAPHS = re.compile(r"[\u4e00-\u9fff]{2,6}|[\u30a1-\u30fa\u30fc]{2,12}|[\u0e00-\u0e7f]{3,12}")
_ELIDING = frozenset({"fr", "it", "ca", "oc"})
_ELISION = re.compile(r"\b(?:[cdjlmnst]|qu|dell|nell|all|sull|dall)['\u2019](?=\w)", re.IGNORECASE)
_ADDRESS = re.compile(r"(?:https?://|www\.)\S{1,300}|[\w.+-]{1,60}@[\w.-]{1,60}")
_LONGEST_PHRASE = 4
_LONGEST_WORD = 40
_SHORTEST_WORD = 3


@cache
def stop_words(lang: str) -> frozenset[str]:
    """Stop words of a language, as spaCy has them; empty where it has none."""
    try:
        return frozenset(get_lang_class(lang).Defaults.stop_words)
    except (ImportError, AttributeError):
        return frozenset()


def plain_mentions(text: str, lang: str) -> list[Mention]:
    """The concepts of a text in a language without a tagger, in order, with repetitions."""
    if lang in _UNSPACED:
        return [_mention([match[0]]) for match in _IDEOGRAPHS.finditer(text)]
    if lang in _ELIDING:
        text = _ELISION.sub(" ", text)
    text = _ADDRESS.sub(" . ", text)
    stops = stop_words(lang)
    found: list[Mention] = []
    run: list[str] = []
    for match in _TOKEN.finditer(text):
        word = match[0]
        if _joins(word, stops):
            run.append(word)
        else:
            _close(run, found, known=bool(stops))
    _close(run, found, known=bool(stops))
    return found


def _joins(word: str, stops: frozenset[str]) -> bool:
    letters = word[0].isalpha() and _SHORTEST_WORD <= len(word) <= _LONGEST_WORD
    return letters and word.casefold() not in stops


def _close(run: list[str], found: list[Mention], *, known: bool) -> None:
    """Take a run in: its capitalised parts always, whole where it is short and stops are known."""
    names = [word for word in run if word[0].isupper()]
    if run and len(run) <= _LONGEST_PHRASE and (known or len(names) == len(run)):
        found.append(_mention(run))
    elif names:
        found.extend(_mention([name]) for name in names)
    run.clear()


def _mention(parts: list[str]) -> Mention:
    key = join([fold(part) for part in parts]) or " ".join(parts)
    return Mention(ConceptKey(key), " ".join(parts), ConceptKind.OTHER)
