"""JSON Lines files as a source: plain or gzip, read once or followed as they grow."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from index.types import Millis, Position, Record
from stream.convert import Transform
from stream.errors import PositionLostError, SourceChangedError, SourceError
from stream.lines import Line, LineCounter, LineReader
from stream.source import INCOMPLETE_HEADER, OVERSIZE_HEADER, Partition

MAX_LINE_BYTES = 16 * 1024 * 1024
_POLL_BYTES = 16 * 1024 * 1024
_SCAN_LINES = 1000


class FileSource:
    """Reads one file; satisfies ``stream.source.Source``.

    The topic is the file's name, its one partition 0, an offset is the number of a line from 0.
    Records have no key; their timestamp is the moment of reading, since that is when a line
    arrives here. Empty lines are passed over.

    A last line without a line feed: read once, it is given with ``INCOMPLETE_HEADER``, and decodes
    if it happens to be whole; followed, it waits for its end. Of a line longer than
    ``max_line_bytes`` only the beginning is held, and ``OVERSIZE_HEADER`` tells its true size.
    """

    def __init__(
        self,
        path: Path,
        *,
        follow: bool = False,
        transform: Transform | None = None,
        max_line_bytes: int = MAX_LINE_BYTES,
        wake: float = 0.05,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Open the file.

        Args:
            path: the file.
            follow: wait for lines that are still to be written, as ``tail`` does; plain files.
            transform: what records go through (``stream.convert``).
            max_line_bytes: how much of one line is held in memory.
            wake: seconds between two looks for more while following.
            now: seconds since 1970, for the records' timestamps.
            clock: seconds, for the timeout of a poll.
            sleep: waits so many seconds.

        Raises:
            SourceError: if the file cannot be read, or is compressed and to be followed.
        """
        self._path = path
        self._follow = follow
        self._transform = transform
        self._max_line_bytes = max_line_bytes
        self._wake = wake
        self._now = now
        self._clock = clock
        self._sleep = sleep
        self._at: Partition = (path.name, 0)
        self._reader = LineReader(path, max_line_bytes)
        if follow and self._reader.compressed:
            self._reader.close()
            raise SourceError(
                f"{path} is compressed and cannot be followed; decompress it, publish it with "
                "`tidegraph produce`, or read it once with `tidegraph index --until-end`"
            )
        self._counter = LineCounter(path, wait_for_end=follow)

    def partitions(self) -> list[Partition]:
        """The file."""
        return [self._at]

    def seek(self, positions: Mapping[Partition, int]) -> None:
        """Go to the number of the line to read next."""
        wanted = positions.get(self._at, 0)
        reached = self._reader.go_to(wanted)
        if reached < wanted:
            raise PositionLostError(
                f"line {wanted + 1} of {self._path} was to be read next, but it has {reached}: it "
                "is another file than before; give it another name, or a new data directory"
            )

    def poll(self, max_records: int, timeout: float) -> list[Record]:
        """Records at hand, else the first to come within ``timeout`` seconds."""
        deadline = self._clock() + timeout
        while True:
            records, at_end = self._take(max(1, max_records))
            left = deadline - self._clock()
            if records or left <= 0:
                return records
            if at_end:
                self._wait(left)

    def positions(self) -> dict[Partition, int]:
        """The number of the line to read next."""
        return {self._at: self._reader.number}

    def lag(self) -> dict[Partition, int]:
        """Lines not read yet."""
        return {self._at: max(0, self._counter.count() - self._reader.number)}

    def end_offsets(self) -> dict[Partition, int]:
        """The number of lines."""
        return {self._at: self._counter.count()}

    def close(self) -> None:
        """Close the file."""
        self._reader.close()
        self._counter.close()

    def _take(self, max_records: int) -> tuple[list[Record], bool]:
        """Records at hand, and whether the file's end was reached. Bounded in bytes and lines."""
        records: list[Record] = []
        size = 0
        now = Millis(int(self._now() * 1000))
        for _ in range(max(max_records, _SCAN_LINES)):
            line = self._reader.read(wait_for_end=self._follow)
            if line is None:
                return records, True
            record = self._record(line, now)
            if record is not None:
                records.append(record)
                size += len(line.content)
            if len(records) >= max_records or size >= _POLL_BYTES:
                break
        return records, False

    def _record(self, line: Line, now: Millis) -> Record | None:
        empty = not line.content.strip()
        if empty and (line.complete or line.content):
            return None
        headers: list[tuple[str, bytes]] = []
        if not line.complete:
            headers.append((INCOMPLETE_HEADER, b""))
        if line.size > len(line.content):
            headers.append((OVERSIZE_HEADER, b"%d" % line.size))
        position = Position(*self._at, line.number)
        record = Record(position, None, line.content, now, tuple(headers))
        return record if self._transform is None else self._transform(record)

    def _wait(self, left: float) -> None:
        """Wait for more; only a file that is followed can still bring any."""
        if not self._follow:
            self._sleep(left)
            return
        # Looked at only where everything of the old file has been read.
        if self._reader.replaced():
            raise SourceChangedError(
                f"{self._path} was replaced or cut while it was followed; line numbers would not "
                "hold: publish it with `tidegraph produce`, or follow a file that only grows"
            )
        self._sleep(min(self._wake, left))
