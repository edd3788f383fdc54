"""From older schemas of the store to the present one, a step for each; a copy of before is kept."""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from index.errors import StoreError
from index.store.copy import copy_database, put_in_place, size_of

_STEPS = {
    1: """
        ALTER TABLE communities ADD COLUMN changed INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE membership ADD COLUMN changed INTEGER NOT NULL DEFAULT 0;
        CREATE INDEX communities_changed ON communities (changed);
        CREATE INDEX membership_changed ON membership (changed);
        CREATE INDEX lineage_related ON lineage (related, generation);
        CREATE INDEX changes_generation ON changes (generation);
    """,
    2: """
        ALTER TABLE generations ADD COLUMN horizon INTEGER;
        ALTER TABLE tombstones ADD COLUMN expired INTEGER NOT NULL DEFAULT 0;
        CREATE INDEX tombstones_deleted ON tombstones (deleted_at);
        CREATE INDEX documents_event ON documents (event_at);
    """,
    3: """
        ALTER TABLE communities ADD COLUMN told INTEGER NOT NULL DEFAULT 0;
        UPDATE communities SET told = size;
    """,
}
"""What leads from a schema to the next one."""

_ROOM = 1.2
"""Free space that a change asks for, in sizes of the store: the copy, and what the steps write.

They write indexes and the rows of communities: a fiftieth of a store of Reuters.
"""

Told = Callable[["MigrationReport"], None]


@dataclass(frozen=True, slots=True)
class MigrationReport:
    """A store is about to be brought to another schema; ``copy``, of ``bytes``, is as it was."""

    store: Path
    schema: int
    wanted: int
    copy: Path
    bytes: int


def migrate(
    connection: sqlite3.Connection,
    path: Path,
    version: int,
    wanted: int,
    *,
    told: Told,
    room: int,
) -> None:
    """Bring a writable store to a schema, in one transaction, once a copy of it is kept.

    ``told`` is called between the two; ``room``: bytes that are free on the store's volume. Raises
    ``StoreError`` where they are too few for both.
    """
    if version == wanted:
        return
    size = size_of(connection)
    needed = int(size * _ROOM)
    if room < needed:
        raise StoreError(
            f"{path} has schema {version} and is brought to schema {wanted} only once a copy is "
            f"kept: that needs {needed / 1e6:,.1f} MB beside it, and {room / 1e6:,.1f} MB are "
            "free; make room, or move the data directory to a larger volume"
        )
    copy = _keep_copy(connection, path.with_name(f"schema-{version}.db"))
    told(MigrationReport(path, version, wanted, copy, size))
    steps = "".join(_STEPS[step] for step in range(version, wanted))
    connection.executescript(f"BEGIN IMMEDIATE; {steps} PRAGMA user_version = {wanted}; COMMIT;")


def remove_begun(directory: Path) -> None:
    """Remove the part of a copy that a process began which was killed."""
    for path in directory.glob("schema-*.new*"):
        path.unlink(missing_ok=True)


def _keep_copy(connection: sqlite3.Connection, copy: Path) -> Path:
    """Copy the store, whole or not at all; the copy of an earlier change then goes."""
    new = copy.with_suffix(".new")
    try:
        copy_database(connection, new)
    except BaseException:
        remove_begun(copy.parent)
        raise
    put_in_place(new, copy)
    for other in copy.parent.glob("schema-*.db"):
        if other != copy:
            other.unlink()
    return copy
