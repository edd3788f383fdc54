"""What letters tell: which marks belong to a word, which scripts put no space between words."""

import re
import sys
import unicodedata
from functools import cache

JOINERS = "\u200c\u200d"
"""Zero-width non-joiner and joiner: inside a word of Persian, Urdu and the scripts of India."""

_UNSPACED_RANGES = (
    ("\u0e00", "\u0eff"),  # Thai, Lao
    ("\u1000", "\u109f"),  # Myanmar
    ("\u1780", "\u17ff"),  # Khmer
    ("\u3041", "\u30ff"),  # kana
    ("\u3400", "\u9fff"),  # ideographs
    ("\uf900", "\ufaff"),
    ("\uff66", "\uff9f"),
    ("\U00020000", "\U0003ffff"),
)
UNSPACED = "".join(f"{low}-{high}" for low, high in _UNSPACED_RANGES)
"""Inside of a character class: letters of scripts that put no space between words."""

_UNSPACED_LANGUAGES = frozenset({"zh", "ja", "th", "lo", "km", "my", "yue", "wuu", "lzh"})


def is_unspaced(lang: str) -> bool:
    """Whether a language is written without spaces between words."""
    return lang in _UNSPACED_LANGUAGES


@cache
def marks() -> str:
    r"""Inside of a character class: the combining marks, which no ``\w`` matches."""
    numbers = [
        n
        for n in range(0x300, min(sys.maxunicode, 0x1FFFF))
        if unicodedata.category(chr(n))[0] == "M"
    ]
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return "".join(chr(low) if low == high else f"{chr(low)}-{chr(high)}" for low, high in runs)


@cache
def word_pattern() -> re.Pattern[str]:
    """A word (with marks, joiners, inner apostrophes and hyphens), a number, or one other sign.

    The group ``word`` or ``number`` tells which; names joined by a slash are one word, as in
    "GNU/Linux". Line breaks are signs.
    """
    letter = rf"(?:[^\W_]+|[{marks()}{JOINERS}]+)"
    word = rf"[^\W\d_]{letter}*(?:['\u2019\u00b7-]{letter}+|/(?=[A-Z]){letter}+)*"
    return re.compile(rf"(?P<word>{word})|(?P<number>\d[\w.,]*)|[^\w\s]|\n")


_LETTER = re.compile(f"[{UNSPACED}]")
_RUN = re.compile(
    r"(?P<kana>[\u3041-\u309f]+)|(?P<katakana>[\u30a0-\u30ff\uff66-\uff9f]+)"
    r"|(?P<thai>[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+)|(?P<han>[UNSPACED]+)|[^UNSPACED]+".replace(
        "UNSPACED", UNSPACED
    )
)
_HAN_PIECE = 2
_THAI_PIECE = 4


def spread(text: str) -> str:
    """The text with each letter of an unspaced script apart, as the full-text index keeps it.

    SQLite's tokenizer ends a word at a space; so a letter is a word there, and a word or
    any part of a sentence is found as a phrase of its letters.
    """
    if text.isascii() or not _LETTER.search(text):
        return text
    return _LETTER.sub(r" \g<0> ", text)


def pieces(word: str) -> list[str]:
    """What to look a word up by: itself, or the overlapping parts of a run without spaces.

    Two ideographs, four letters of Thai and its like, a whole katakana run; hiragana only where
    there is nothing else, since it writes the grammar.
    """
    if word.isascii() or not _LETTER.search(word):
        return [word]
    found: list[str] = []
    for match in _RUN.finditer(word):
        if match["han"]:
            found += _overlapping(match[0], _HAN_PIECE)
        elif match["thai"]:
            found += _overlapping(match[0], _THAI_PIECE)
        elif not match["kana"]:
            found.append(match[0])
    return found or [word]


def _overlapping(run: str, size: int) -> list[str]:
    return [run[at : at + size] for at in range(max(1, len(run) - size + 1))]
