"""The commands that the documentation shows, and what its marks say about each block of them.

A block of shell runs as it stands, in one directory for its document. A comment before its fence
may say more, parts separated by semicolons:

    <!-- test: not run, REASON -->     only its options are held against ``--help``
    <!-- test: background; feed -->    it goes on running, beside what follows
    <!-- test: shows WORDS; hides WORDS -->   what it prints, and what it does not
    <!-- test: model -->               it talks to a model, which the test stands in for
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_BLOCK = re.compile(
    r"^(?:<!-- test: (?P<marks>[^\n]*?) -->\n)?```sh\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Block:
    """A block of shell at a line of a document, with its marks."""

    document: str
    line: int
    text: str
    marks: tuple[str, ...]

    def marked(self, word: str) -> bool:
        """Whether one of its marks is this word, or begins with it."""
        return any(mark == word or mark.startswith((f"{word},", f"{word} ")) for mark in self.marks)

    def words(self, kind: str) -> list[str]:
        """What it ``shows`` or ``hides``."""
        return [m.removeprefix(f"{kind} ") for m in self.marks if m.startswith(f"{kind} ")]

    @property
    def reason(self) -> str:
        """Why it is not run; "" where it is."""
        return next((m[len("not run, ") :] for m in self.marks if m.startswith("not run, ")), "")


def documents() -> list[Path]:
    """README and the pages beside it."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(path: Path) -> list[Block]:
    """The blocks of shell of a document, in order."""
    text = path.read_text("utf-8")
    return [
        Block(
            str(path.relative_to(ROOT)),
            text.count("\n", 0, found.start("text")) + 1,
            found["text"],
            tuple(mark.strip() for mark in (found["marks"] or "").split(";") if mark.strip()),
        )
        for found in _BLOCK.finditer(text)
    ]
