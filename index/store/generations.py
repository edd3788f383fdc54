"""Rows of ``generations``: written last in a transaction, read first."""

import sqlite3
from dataclasses import dataclass
from typing import Any

from index.checksums import Sums
from index.snapshot import Head
from index.store.rows import (
    GENERATION_FORMAT,
    NextNumbers,
    head_of,
    int64_blob,
    positions_json,
    row_checksum,
    totals_json,
)
from index.types import Int64Array

KEPT = 10_000
"""Generations whose rows are kept; a follower further behind loads the store anew."""

TIDIED_EVERY = 64
"""Generations after which what has grown old is forgotten: too seldom to cost anything."""

_COLUMNS = (
    "id, parent, epoch, writer_epoch, committed_at, watermark, newest_arrival, positions, totals,"
    " next_document, next_chunk, next_concept, next_community, retracted, regrouped, sums, format,"
    " horizon"
)
_LATEST = f"SELECT {_COLUMNS}, checksum FROM generations ORDER BY id DESC LIMIT 1"


@dataclass(frozen=True, slots=True)
class Generation:
    """A generation as its row tells it."""

    head: Head
    epoch: int
    writer_epoch: int
    next_numbers: NextNumbers
    sums: Sums
    checksum: bytes

    @classmethod
    def none(cls) -> "Generation":
        """What stands before the first one."""
        return cls(Head(), 0, 0, NextNumbers(), Sums(), b"")


def latest(connection: sqlite3.Connection) -> Generation:
    """The newest generation, or ``Generation.none()``."""
    row = connection.execute(_LATEST).fetchone()
    return Generation.none() if row is None else generation_of(row)


def generation_of(row: tuple[Any, ...]) -> Generation:
    """A generation from the columns of its row."""
    names = [name.strip() for name in _COLUMNS.split(",")]
    values = dict(zip(names, row, strict=False))
    f_sum, w_sum = values["sums"].split(" ")
    return Generation(
        head=head_of(values),
        epoch=values["epoch"],
        writer_epoch=values["writer_epoch"],
        next_numbers=NextNumbers(
            values["next_document"],
            values["next_chunk"],
            values["next_concept"],
            values["next_community"],
        ),
        sums=Sums(int(f_sum), int(w_sum)),
        checksum=row[len(names)],
    )


def insert(
    connection: sqlite3.Connection,
    parent: Generation,
    generation: Generation,
    retracted: Int64Array,
    *,
    regrouped: bool,
) -> Generation:
    """Write a generation's row; return it with its checksum."""
    head, numbers = generation.head, generation.next_numbers
    values = (
        head.generation,
        parent.head.generation,
        generation.epoch,
        generation.writer_epoch,
        head.committed_at,
        head.watermark,
        head.newest_arrival,
        positions_json(head.positions),
        totals_json(head.totals),
        numbers.document,
        numbers.chunk,
        numbers.concept,
        numbers.community,
        int64_blob(retracted),
        int(regrouped),
        f"{generation.sums.f_sum} {generation.sums.w_sum}",
        GENERATION_FORMAT,
        head.horizon,
    )
    checksum = row_checksum(parent.checksum, values)
    marks = ", ".join("?" * (len(values) + 1))
    connection.execute(
        f"INSERT INTO generations ({_COLUMNS}, checksum) VALUES ({marks})", (*values, checksum)
    )
    prune(connection, head.generation - KEPT)
    return Generation(
        head, generation.epoch, generation.writer_epoch, numbers, generation.sums, checksum
    )


def prune(connection: sqlite3.Connection, below: int) -> None:
    """Forget generations older than the kept ones, with what hangs on them."""
    if below <= 0:
        return
    connection.execute("DELETE FROM generations WHERE id < ?", (below,))


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A generation's row as it stands. ``retracted``: its slots, as int64 bytes."""

    id: int
    retracted: bytes
    checksum: bytes
    values: tuple[Any, ...]

    def follows(self, parent: bytes) -> bool:
        """Whether its checksum is the one that it must have after a parent's."""
        return row_checksum(parent, self.values) == self.checksum


def rows(connection: sqlite3.Connection, table: str = "generations") -> list[StoredRow]:
    """All kept rows, oldest first."""
    found = connection.execute(f"SELECT {_COLUMNS}, checksum FROM {table} ORDER BY id")
    at = [name.strip() for name in _COLUMNS.split(",")].index("retracted")
    return [StoredRow(row[0], row[at], row[-1], row[:-1]) for row in found.fetchall()]


def broken_checksums(connection: sqlite3.Connection) -> list[int]:
    """Ids of kept generations whose row does not match its checksum."""
    broken: list[int] = []
    before: bytes | None = None
    for row in rows(connection):
        if before is None:
            before = b"" if row.id == 1 else None
        if before is not None and not row.follows(before):
            broken.append(row.id)
        before = row.checksum
    return broken
