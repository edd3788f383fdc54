"""A topic of analyses read as the source of the documents that were analysed.

Positions, ends and lag are those of the documents' topic, so that a store may be fed by either.
The analyses of a partition repeat themselves where extractors took over from each other, but each
says which stretch of source offsets it covers: one is given where it covers the next offset, and
passed over where it covers none that is wanted. So the order of a partition has no gap, whatever
was published twice. Three things hold a partition where it stands:

- an analysis made by another analyzer (a rolling upgrade). It is not merged; the partition goes on
  when the same stretch is published by the reader's own analyzer, or when the reader is told to
  analyse such records itself (``others="analyze"``).
- an analysis in a form that another release writes.
- a stretch that is missing (retention passed it before it was read). It goes on when the stretch
  is published again; the documents' own topic can be read in place of the analyses any time.

Where in the topic of analyses to go on is a mark beside the store; without a mark, or where the
store is older than it, reading begins at the start and passes over what the store has.
"""

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

import orjson

from index.types import Record
from stream.analyses import Extracted, MalformedError, Opened, UnknownVersionError
from stream.analyzed import AnalyzedRecord
from stream.errors import PositionLostError
from stream.source import UNREADABLE_HEADER, Partition, Source

_TOLD = 80  # characters of what a stranger's fingerprint says
KEEP_SECONDS = 5.0
"""How often the marks are kept."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Where to go on: the offset of analyses behind which nothing below ``position`` matters.

    ``position`` is the source position that a store must have reached for the mark to hold.
    """

    offset: int
    position: int


class Marks(Protocol):
    """Keeps marks, by the number of the partition. A lost mark costs time alone."""

    def known(self) -> Mapping[int, Mark]:
        """The marks as they were kept last; none where the topic is another one since."""

    def keep(self, marks: Mapping[int, Mark]) -> None:
        """Keep marks."""


@dataclass(frozen=True, slots=True)
class AnalysesReport:
    """What keeps a topic of analyses from being read on, told when it changes.

    ``held``: why, by partition of the source. ``unreadable``: records that were no analyses, since
    the last report.
    """

    held: Mapping[Partition, str] = field(default_factory=dict)
    unreadable: int = 0


@dataclass(slots=True)
class _Progress:
    """One partition: next source offset, and what is needed to place the mark.

    ``given``: (end of the stretch, offset in analyses) of what was given and is not yet committed.
    ``held_at``: offset in analyses of the first record that is held or unreadable.
    """

    next: int
    given: deque[tuple[int, int]] = field(default_factory=deque)
    held: str = ""
    held_at: int | None = None
    broken: Record | None = None


class AnalysesSource:
    """Satisfies ``stream.source.Source``; its records are ``AnalyzedRecord``."""

    def __init__(
        self,
        analyses: Source,
        documents: Source,
        topic: str,
        analyzer: str,
        dimensions: int,
        *,
        others: Literal["hold", "analyze"] = "hold",
        marks: Marks,
        committed: Callable[[], Mapping[Partition, int]],
        observe: Callable[[AnalysesReport], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Read analyses from their beginning until it is sought.

        Args:
            analyses: the topic of analyses; where retention took something it goes on.
            documents: the topic that was analysed; its ends are asked for, nothing is read.
            topic: the name of that topic.
            analyzer: the fingerprint that analyses must have, as JSON.
            dimensions: of its vectors.
            others: what to do with those of another analyzer.
            marks: where to go on after a restart.
            committed: what the store has, for the marks; from any thread.
            observe: is told when something begins or ceases to be held.
            clock: seconds, for how often marks are kept.
        """
        self._analyses = analyses
        self._documents = documents
        self._topic = topic
        self._analyzer = analyzer
        self._dimensions = dimensions
        self._others = others
        self._marks = marks
        self._committed = committed
        self._observe = observe
        self._clock = clock
        self._kept = clock()
        self._progress: dict[int, _Progress] = {}
        self._unreadable = 0
        self._reached: Mapping[Partition, int] = {}
        self._told: Mapping[Partition, str] = {}

    def partitions(self) -> list[Partition]:
        """The partitions of the documents' topic."""
        return list(self._documents.partitions())

    def seek(self, positions: Mapping[Partition, int]) -> None:
        """Go to the next source offsets, by the marks where they hold.

        Raises:
            PositionLostError: if a position lies beyond the end of the documents' topic.
        """
        for at, end in self._documents.end_offsets().items():
            if positions.get(at, 0) > end:
                raise PositionLostError(
                    f"position {positions[at]} of {at[0]}/{at[1]} lies beyond its end ({end}): "
                    "the topic was made anew; index it into a new data directory"
                )
        ends, marks = self._analyses.end_offsets(), self._marks.known()
        starts = {}
        for topic, number in ends:
            mark = marks.get(number)
            wanted = positions.get((self._topic, number), 0)
            if mark is not None and mark.position <= wanted and mark.offset <= ends[topic, number]:
                starts[topic, number] = mark.offset
        self._analyses.seek(starts)
        wanted_topic = {n: to for (topic, n), to in positions.items() if topic == self._topic}
        self._progress = {number: _Progress(to) for number, to in wanted_topic.items()}

    def poll(self, max_records: int, timeout: float) -> list[Record]:
        """Records that come next in their partitions, with their analyses."""
        given: list[Record] = []
        for record in self._analyses.poll(max_records, timeout):
            given += self._given(record)
        self._tell()
        if self._clock() - self._kept >= KEEP_SECONDS:
            self.keep()
        return given

    def positions(self) -> dict[Partition, int]:
        """The next source offset of each partition."""
        return {at: self._next(at[1]) for at in self._documents.partitions()}

    def lag(self) -> dict[Partition, int]:
        """Source offsets that were not given yet: not analysed, held, or not read."""
        begun = self._documents.positions()
        ends = {at: begun[at] + lag for at, lag in self._documents.lag().items()}
        return {at: max(0, end - self._next(at[1])) for at, end in ends.items()}

    def end_offsets(self) -> dict[Partition, int]:
        """The ends of the documents' topic."""
        return dict(self._documents.end_offsets())

    def behind(self) -> bool:
        """Whether analyses are there, but none was read since the last call.

        Lag alone may be the extractors', and a long stretch that the store has gives nothing.
        """
        reached = self._analyses.positions()
        moved, self._reached = reached != self._reached, reached
        return not moved and any(self._analyses.lag().values())

    def held(self) -> Mapping[Partition, str]:
        """Why partitions do not go on; from any thread."""
        return self._told

    def keep(self) -> None:
        """Keep the marks, as far as the store has committed."""
        self._kept = self._clock()
        committed, reached = self._committed(), self._analyses.positions()
        marks = {}
        for (_, number), offset in reached.items():
            progress = self._progress.get(number)
            position = committed.get((self._topic, number), 0)
            if progress is None:
                continue
            while progress.given and progress.given[0][0] <= position:
                progress.given.popleft()
            starts = [offset, *(at for _, at in list(progress.given)[:1])]
            starts += [] if progress.held_at is None else [progress.held_at]
            marks[number] = Mark(min(starts), position)
        self._marks.keep(marks)

    def close(self) -> None:
        """Keep the marks and give back connections."""
        if self._progress:
            self.keep()
        self._analyses.close()
        self._documents.close()

    def _next(self, partition: int) -> int:
        progress = self._progress.get(partition)
        return 0 if progress is None else progress.next

    def _given(self, record: Record) -> list[Record]:
        """What a record of analyses gives: most often one record."""
        number, offset = record.position.partition, record.position.offset
        progress = self._progress.setdefault(number, _Progress(0))
        try:
            opened = Opened(record.value, (self._topic, number))
            if opened.until <= progress.next:
                return []
            if opened.analyzer != self._analyzer and self._others == "hold":
                differs = _differences(opened.analyzer, self._analyzer)
                self._hold(progress, offset, _OTHER.format(opened.until - 1, differs))
                return []
            extracted = opened.extracted(self._dimensions)
        except UnknownVersionError as error:
            self._hold(progress, offset, _VERSION.format(offset, error))
            return []
        except MalformedError as error:
            self._unreadable += 1
            if progress.broken is None:
                why = f"its record in the topic of analyses cannot be read: {error}"
                headers = ((UNREADABLE_HEADER, why.encode(errors="replace")),)
                progress.broken = Record(
                    record.position, record.key, record.value, record.timestamp, headers
                )
                progress.held_at = offset if progress.held_at is None else progress.held_at
            return []
        if extracted.since > progress.next:
            return self._behind_gap(progress, offset, extracted)
        return self._take(progress, offset, extracted)

    def _behind_gap(self, progress: _Progress, offset: int, extracted: Extracted) -> list[Record]:
        """What stands behind a stretch that is missing."""
        if progress.broken is None or progress.held:
            last = extracted.since - 1
            self._hold(progress, offset, _MISSING.format(progress.next, last))
            return []
        # What could not be read was the missing stretch: its bytes become a dead letter.
        lost = progress.broken
        at = replace(lost.position, topic=self._topic, offset=extracted.since - 1)
        return [replace(lost, position=at), *self._take(progress, offset, extracted)]

    def _take(self, progress: _Progress, offset: int, extracted: Extracted) -> list[Record]:
        progress.next = extracted.until
        progress.given.append((extracted.until, offset))
        progress.held, progress.held_at, progress.broken = "", None, None
        record = extracted.record
        if record is None:
            return []
        own = extracted.analyzer == self._analyzer
        return [
            AnalyzedRecord(
                record.position,
                record.key,
                record.value,
                record.timestamp,
                record.headers,
                extracted.analysis if own else None,
            )
        ]

    def _hold(self, progress: _Progress, offset: int, why: str) -> None:
        if not progress.held:
            progress.held = why
            progress.held_at = offset if progress.held_at is None else progress.held_at

    def _tell(self) -> None:
        held = {(self._topic, n): p.held for n, p in self._progress.items() if p.held}
        if held != self._told or self._unreadable:
            self._told = held
            self._observe(AnalysesReport(held, self._unreadable))
            self._unreadable = 0


_OTHER = (
    "offset {} was analysed by another analyzer ({}): let extractors and writer run one release "
    "with the same settings, and the group analyse it again; or set analyses_other=analyze, and "
    "the writer analyses such records itself"
)
_VERSION = (
    "the record at {} of the topic of analyses was written by another release ({}): let extractors "
    "and writer run one release, and the group analyse it again"
)
_MISSING = (
    "the analyses of offsets {} to {} are missing: have the group analyse them again, or run the "
    "writer once without analyses_topic, which reads the documents themselves"
)


def _differences(theirs: str, ours: str) -> str:
    """In what two fingerprints differ, for people."""
    try:
        other, own = orjson.loads(theirs), orjson.loads(ours)
        names = [name for name in own if other.get(name) != own[name]]
        told = [f"{name} {str(other.get(name))[:_TOLD]}, here {own[name]}" for name in names]
    except (orjson.JSONDecodeError, AttributeError, TypeError):
        told = []
    return "; ".join(told) or "not known"
