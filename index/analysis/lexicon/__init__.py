"""Word lists for English: what is noise, a title, a place, an organisation.

Plain text, so that a list can be read and changed without reading code. Lines that begin with #
say what stands below them.
"""

from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent


def _lines(name: str) -> list[str]:
    text = (_FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


@cache
def words(name: str) -> frozenset[str]:
    """The white-space separated words of a list."""
    return frozenset(word for line in _lines(name) for word in line.split())


@cache
def phrases(name: str) -> frozenset[str]:
    """The comma separated phrases of a list."""
    parts = (part.strip() for line in _lines(name) for part in line.split(","))
    return frozenset(part for part in parts if part)


@cache
def pairs(name: str) -> dict[str, str]:
    """The ``left = right`` lines of a list; do not change the dictionary."""
    split = (line.split("=", 1) for line in _lines(name))
    return {left.strip(): right.strip() for left, right in split}
