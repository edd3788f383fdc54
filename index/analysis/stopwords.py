"""Words that say nothing by themselves, for some seventy languages."""

import runpy
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import stopwordsiso

_ISO_NAMES = {"nb": "no", "nn": "no"}


@cache
def stop_words(lang: str) -> frozenset[str]:
    """The stop words of a language in lower case, spaCy's and those of stopwords-iso together.

    Empty where neither knows the language.
    """
    found = _of_spacy(lang)
    iso = _ISO_NAMES.get(lang, lang)
    if stopwordsiso.has_lang(iso):
        found |= stopwordsiso.stopwords(iso)
    return frozenset(word.casefold().strip() for word in found)


def _of_spacy(lang: str) -> set[str]:
    """The list of spaCy, run by itself: importing a language compiles its tokenizer (3 s)."""
    spacy = find_spec("spacy")
    if spacy is None or spacy.origin is None or not lang.isalpha():
        return set()
    path = Path(spacy.origin).parent / "lang" / lang / "stop_words.py"
    return set(runpy.run_path(str(path))["STOP_WORDS"]) if path.is_file() else set()
