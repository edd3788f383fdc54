"""Concepts of scripts without spaces: Chinese nouns by jieba, Japanese by runs of a script."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, lru_cache

from index.analysis.normalise import name_key
from index.analysis.stopwords import stop_words
from index.types import ConceptKey, ConceptKind, Mention

_CHINESE = frozenset({"zh", "yue", "wuu", "lzh"})
_NOUNS = ("n", "j")
"""How jieba's tags of nouns, names, places, organisations and short names begin."""
_NO_NOUNS = frozenset({"ng", "nrfg"})
_LATIN = "A-Za-z\u00c0-\u024f"
_WESTERN = rf"[A-Z][{_LATIN}0-9'\u2019.+-]*[{_LATIN}0-9]"
_IDEOGRAPHS = "\u3005\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_ADDRESS = re.compile(r"(?:https?://|www\.)[!-~]{1,300}|[\w.+-]{1,60}@[\w.-]{1,60}", re.ASCII)
_OKURIGANA = "\u3059\u3057\u3055\u305b\u3044\u304f\u304d\u3051\u308b\u308a\u308c\u3063\u3048\u3081"
_VERB = rf"[{_OKURIGANA}]|\u306a(?!\u3069)"
"""Kana that tell a verb or an adjective: forms of suru, na, okurigana."""
_RUNS = re.compile(
    rf"(?P<western>{_WESTERN}(?:[ /]{_WESTERN}){{0,3}})|(?P<han>[{_IDEOGRAPHS}]+)(?P<verb>{_VERB})?"
    r"|[\u30a1-\u30fa\u30fc-\u30ff\uff66-\uff9f]{2,20}"
    r"|(?P<phrase>[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]{3,24})"
)
_LONGEST_RUN = 8
_SHORTEST = 2
_TWICE = 2
_KEYS_KEPT = 100_000


def unspaced_mentions(text: str, lang: str) -> list[Mention]:
    """The concepts of a text in order, with repetitions."""
    chinese = lang in _CHINESE
    stops = stop_words("zh" if chinese else lang)
    found: list[Mention] = []
    phrases: list[str] = []
    for match in _RUNS.finditer(_ADDRESS.sub(" ", text)):
        run = match["han"] or match[0]
        if match["western"]:
            found.extend(_western(run))
        elif match["phrase"]:
            phrases.append(run)
        elif match["han"] and chinese:
            found.extend(_other(word) for word in _nouns(run, stops))
        elif not match["han"] or (not match["verb"] and _SHORTEST <= len(run) <= _LONGEST_RUN):
            found.extend([_other(run)] if run not in stops else [])
    return [*found, *_repeated(phrases)]


def _nouns(run: str, stops: frozenset[str]) -> Iterator[str]:
    for word, tag in _tag(run):
        noun = tag.startswith(_NOUNS) and tag not in _NO_NOUNS
        if noun and len(word) >= _SHORTEST and word not in stops:
            yield word


def _repeated(phrases: list[str]) -> Iterator[Mention]:
    """Runs of a script that is cut only at pauses, where they come twice."""
    counts = Counter(phrases)
    return (_other(phrase) for phrase in phrases if counts[phrase] >= _TWICE)


@cache
def _tagger() -> Callable[[str], list[tuple[str, str]]]:
    import rjieba  # noqa: PLC0415  # loads its dictionary, about a second, where Chinese comes

    tag: Callable[[str], list[tuple[str, str]]] = rjieba.tag
    return tag


@lru_cache(maxsize=10_000)
def _tag(run: str) -> tuple[tuple[str, str], ...]:
    return tuple(_tagger()(run))


@lru_cache(maxsize=_KEYS_KEPT)
def _western(form: str) -> tuple[Mention, ...]:
    key = name_key(form.split())
    if key in stop_words("en"):
        return ()
    return (Mention(ConceptKey(key), form, ConceptKind.OTHER),)


def _other(form: str) -> Mention:
    return Mention(ConceptKey(form), form, ConceptKind.OTHER)
