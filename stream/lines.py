"""Lines of a file by number: plain or gzip, one at a time, the overlong ones cut."""

import gzip
import io
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from stream.errors import SourceError

_GZIP = b"\x1f\x8b"
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Line:
    """A line without its line feed. ``size`` is its length in bytes; ``content`` may be less.

    ``complete`` tells whether it ended in a line feed.
    """

    number: int
    content: bytes
    size: int
    complete: bool


class LineReader:
    """Reads the lines of one file forward from any number. Memory is bounded by ``max_bytes``.

    A compressed file that is cut off ends in one incomplete line, which may be empty.
    """

    def __init__(self, path: Path, max_bytes: int) -> None:
        """Open the file; one whose first bytes say gzip is read as such."""
        self._path = path
        self._max_bytes = max_bytes
        self._raw, self._file = _open(path)
        self._cut_at: int | None = None
        self.compressed = self._file is not self._raw
        self.number = 0
        """Number of the line that is read next, from 0."""

    def go_to(self, number: int) -> int:
        """Stand before a line; returns the number reached, which is less at the file's end."""
        with _translated(self._path, self.number):
            if number < self.number:
                self._file.seek(0)
                self.number = 0
                self._cut_at = None
            while self.number < number and self._skip():
                self.number += 1
        return self.number

    def read(self, *, wait_for_end: bool) -> Line | None:
        """The next line; None at the end.

        With ``wait_for_end`` a last line that has no line feed yet is left for later.
        """
        with _translated(self._path, self.number):
            start = self._file.tell() if wait_for_end else 0
            content = self._part(self._max_bytes + 1)
            size, last = len(content), content
            while size > self._max_bytes and last and not last.endswith(b"\n"):
                last = self._part(_BLOCK)
                size += len(last)
            complete = last.endswith(b"\n")
            if complete or (content and not wait_for_end) or self._cut_at == self.number:
                line = Line(
                    self.number,
                    content.removesuffix(b"\n")[: self._max_bytes],
                    size - complete,
                    complete,
                )
                self.number += 1
                return line
            if wait_for_end:
                self._file.seek(start)
        return None

    def replaced(self) -> bool:
        """Whether the file's name now names another file, or the file was cut short."""
        try:
            named = self._path.stat()
        except OSError:
            return True
        mine = os.fstat(self._raw.fileno())
        moved = (named.st_dev, named.st_ino) != (mine.st_dev, mine.st_ino)
        return moved or (not self.compressed and mine.st_size < self._file.tell())

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        self._raw.close()

    def _part(self, limit: int) -> bytes:
        """Up to ``limit`` bytes of a line; nothing at the end, also where gzip was cut off."""
        if self._cut_at is not None:
            return b""
        try:
            return self._file.readline(limit)
        except EOFError:
            # The library keeps what it had of this line; the number says that there was one.
            self._cut_at = self.number
            return b""

    def _skip(self) -> bool:
        """Pass one line, whatever its length, in bounded memory."""
        part = self._part(_BLOCK)
        found = bool(part) or self._cut_at == self.number
        while part and not part.endswith(b"\n"):
            part = self._part(_BLOCK)
        return found


class LineCounter:
    """Counts the lines that ``LineReader`` gives, going on from where the file ended before."""

    def __init__(self, path: Path, *, wait_for_end: bool) -> None:
        """Open the file a second time; see ``LineReader.read`` for ``wait_for_end``."""
        self._path = path
        self._wait_for_end = wait_for_end
        self._raw, self._file = _open(path)
        self._lines = 0
        self._open_line = False
        self._size = -1

    def count(self) -> int:
        """The lines in the file now; costs nothing while its size is the same."""
        size = os.fstat(self._raw.fileno()).st_size
        if size != self._size:
            self._size = size
            with _translated(self._path, self._lines):
                self._read_on()
        return self._lines + (self._open_line and not self._wait_for_end)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        self._raw.close()

    def _read_on(self) -> None:
        # Block by block as they come: a longer reading loses what precedes the damage.
        try:
            while block := self._file.read1(_BLOCK):
                self._lines += block.count(b"\n")
                self._open_line = not block.endswith(b"\n")
        except (EOFError, gzip.BadGzipFile, zlib.error):
            # Whoever reads up to there is told what is wrong.
            self._open_line = True


def _open(path: Path) -> tuple[io.BufferedReader, io.BufferedReader]:
    """The file, and what to read it by: itself or its decompression."""
    with _translated(path, 0):
        if not path.is_file():
            raise SourceError(
                f"{path} is not a file; name a JSON Lines file, plain or compressed by gzip"
            )
        raw = path.open("rb")
        compressed = raw.read(len(_GZIP)) == _GZIP
        raw.seek(0)
    return raw, cast("io.BufferedReader", gzip.open(raw)) if compressed else raw


@contextmanager
def _translated(path: Path, line: int) -> Iterator[None]:
    """The system's and gzip's errors as a source's."""
    try:
        yield
    except (gzip.BadGzipFile, zlib.error) as error:
        raise SourceError(f"{path} is damaged after line {line}: {error}") from error
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror or error}") from error
