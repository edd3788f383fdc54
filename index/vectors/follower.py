"""The follower of vectors: brings an index to the store's newest generation, page by page.

It reads the store by a connection of its own and writes to the index alone, so that ingestion
never waits for it. Each step is safe to repeat: points are written before the mark that tells of
them, so that a crash between the two costs a page that is written again.

Chunks that were retracted keep their point for a grace as long as a view may be pinned: whoever
searches an older snapshot still finds them there. Newer snapshots do not let them through.
"""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from index.analysis.fingerprint import Fingerprint
from index.errors import VectorIndexError
from index.store import meta
from index.store.connection import open_readonly, store_path, translated
from index.store.generations import Generation, latest
from index.store.pins import PIN_SECONDS
from index.vectors import stored
from index.vectors.breaker import Clock
from index.vectors.protocol import FollowReport, Mark, Points, VectorIndex

PAGE = 500
"""Chunks written in one call: about 2.5 MB of JSON at 256 dimensions, 15 MB at 1,536."""

GRACE_MILLIS = round((PIN_SECONDS + 10) * 1000)
"""For how long a retracted chunk keeps its point; longer than any view is pinned."""

AUDIT_SECONDS = 60.0
"""Between two counts of the points of an index that has nothing else to do."""


@dataclass(frozen=True, slots=True)
class FollowSettings:
    """Sizes and times; see the constants above."""

    page: int = PAGE
    grace: int = GRACE_MILLIS
    audit: float = AUDIT_SECONDS


@dataclass(frozen=True, slots=True)
class _Store:
    """The store as it stands in one read transaction."""

    connection: sqlite3.Connection
    newest: Generation
    fingerprint: Fingerprint

    @property
    def dimensions(self) -> int:
        return self.fingerprint.dimensions


class VectorFollower:
    """Follows one store into one index; used by one thread.

    Args:
        index: Where the points go.
        directory: The data directory.
        owner: Its lasting id; an index with another owner's mark is left alone.
        settings: Sizes and times.
        clock: Seconds that never go backwards.
        now: Milliseconds since 1970, the writer's clock.
    """

    def __init__(
        self,
        index: VectorIndex,
        directory: Path,
        owner: str,
        settings: FollowSettings | None = None,
        *,
        clock: Clock = time.monotonic,
        now: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._index = index
        self._directory = directory
        self._owner = owner
        self._settings = settings or FollowSettings()
        self._clock = clock
        self._now = now
        self._audited: float | None = None
        self._points = 0

    def catch_up(self) -> list[FollowReport]:
        """Step until there is nothing left to do."""
        reports = [self.step()]
        while not reports[-1].done:
            reports.append(self.step())
        return reports

    def step(self) -> FollowReport:
        """Do one page of what is to be done.

        Raises:
            VectorIndexError: The index cannot be used now, or belongs to somebody else.
            StoreError: The store cannot be read.
        """
        started = self._clock()
        with self._reading() as store:
            report = self._step(store)
        return replace(report, seconds=self._clock() - started)

    @contextmanager
    def _reading(self) -> Iterator[_Store]:
        path = store_path(self._directory)
        with closing(open_readonly(path)) as connection, translated(path):
            connection.execute("BEGIN")
            newest, fingerprint = latest(connection), meta.stored_fingerprint(connection)
            if fingerprint is None:
                raise VectorIndexError("the store has no generation yet")
            yield _Store(connection, newest, fingerprint)

    def _step(self, store: _Store) -> FollowReport:
        before = self._index.mark()
        reset = self._why_anew(store, before)
        mark = self._anew(store) if reset or before is None else before
        mark, upserted = self._add(store, mark)
        mark, deleted = self._sweep(store, mark)
        if mark != before:
            self._index.put_mark(mark)
        behind = store.newest.head.generation - mark.generation
        if not (behind or reset) and self._audit_due():
            added, removed = self._audit(store, mark)
            upserted, deleted = upserted + added, deleted + removed
        self._points = max(0, self._points + upserted - deleted)
        return FollowReport(
            index=self._index.name,
            generation=mark.generation,
            behind=behind,
            points=self._points,
            upserted=upserted,
            deleted=deleted,
            reset=reset,
            done=not behind,
        )

    def _why_anew(self, store: _Store, mark: Mark | None) -> str:
        """Why the index must be made anew; "" where its mark can be gone on from."""
        if mark is None:
            if self._index.count():
                raise VectorIndexError(
                    f"{self._index.name} holds points that are not this index's; remove them, or "
                    "name another collection"
                )
            return "it was not there"
        if mark.owner != self._owner:
            raise VectorIndexError(
                f"{self._index.name} follows another data directory; name another collection, or "
                "remove that one if its directory is gone"
            )
        if not stored.continues(store.connection, mark, store.fingerprint.to_json()):
            return "the store is another one than it followed"
        return ""

    def _anew(self, store: _Store) -> Mark:
        self._index.reset(store.dimensions)
        self._points, self._audited = 0, self._clock()
        generation = store.newest.head.generation
        first = Mark(
            owner=self._owner,
            fingerprint=store.fingerprint.to_json(),
            generation=0,
            checksum="",
            next_slot=0,
            swept=generation,
            since=generation,
            since_checksum=store.newest.checksum.hex(),
        )
        self._index.put_mark(first)
        return first

    def _add(self, store: _Store, mark: Mark) -> tuple[Mark, int]:
        """Write the next page of chunks."""
        end = store.newest.next_numbers.chunk
        page = self._settings.page
        points = stored.points_from(store.connection, mark.next_slot, end, page, store.dimensions)
        if len(points.slots):
            self._index.upsert(points)
        whole = len(points.slots) < page
        next_slot = end if whole else int(points.slots[-1]) + 1
        generation, checksum = store.newest.head.generation, store.newest.checksum.hex()
        if next_slot - mark.next_slot != len(points.slots):
            # Chunks that came and went since the last step: older snapshots hold them, we do not.
            mark = replace(mark, since=generation, since_checksum=checksum)
        if whole:
            mark = replace(mark, generation=generation, checksum=checksum)
        return replace(mark, next_slot=next_slot), len(points.slots)

    def _sweep(self, store: _Store, mark: Mark) -> tuple[Mark, int]:
        """Delete what was retracted longer ago than any view is pinned."""
        before = self._now() - self._settings.grace
        gone = stored.retracted(store.connection, mark.swept, before)
        if gone is None:
            return mark, 0
        slots = gone.slots[gone.slots < mark.next_slot].tolist()
        if slots:
            self._index.delete(slots)
        if gone.generation > mark.since:
            mark = replace(mark, since=gone.generation, since_checksum=gone.checksum)
        return replace(mark, swept=gone.generation), len(slots)

    def _audit_due(self) -> bool:
        now = self._clock()
        if self._audited is not None and now - self._audited < self._settings.audit:
            return False
        self._audited = now
        return True

    def _audit(self, store: _Store, mark: Mark) -> tuple[int, int]:
        """Count the points; where the number cannot be, bring back what lacks, sweep the rest."""
        alive = stored.living(store.connection, mark.next_slot)
        dying = stored.pending(store.connection, mark.swept)
        self._points = self._index.count()
        if len(alive) <= self._points <= len(alive) + len(dying):
            return 0, 0
        allowed = set(alive.tolist()) | set(dying.tolist())
        there: set[int | str] = set()
        for page in self._index.ids():
            there.update(page)
        extra = sorted(there - allowed, key=str)
        lacking = sorted(set(alive.tolist()) - there)
        self._write_again(store, lacking)
        for start in range(0, len(extra), self._settings.page):
            self._index.delete(extra[start : start + self._settings.page])
        return len(lacking), len(extra)

    def _write_again(self, store: _Store, slots: list[int]) -> None:
        for start in range(0, len(slots), self._settings.page):
            part = slots[start : start + self._settings.page]
            points: Points = stored.points_of(store.connection, part, store.dimensions)
            self._index.upsert(points)
