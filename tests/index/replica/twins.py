"""Two stores side by side: what must be equal in them, row by row."""

import sqlite3
from contextlib import closing
from pathlib import Path

from index.replica.apply import apply
from index.replica.changes import write_changes
from index.replica.mark import Mark, mark_of, newest
from index.store.connection import open_readonly, store_path
from index.store.copy import copy_database

WRITERS_OWN = "writer_epoch"
"""The one value of a store that is the writer's own: it is raised at a start, by no generation."""


def rows(directory: Path) -> dict[str, list]:
    """Every row of every table, the full-text index as FTS5 keeps it by word."""
    with closing(open_readonly(store_path(directory))) as connection:
        tables = [
            name
            for (name,) in connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table'"
                " AND name NOT LIKE 'full_text%' AND name NOT LIKE 'sqlite%'"
            )
        ]
        found = {
            name: sorted(map(repr, connection.execute(f"SELECT * FROM {name}"))) for name in tables
        }
        found["meta"] = [row for row in found["meta"] if WRITERS_OWN not in row]
        for name in ("changes", "lineage"):
            found[name] = connection.execute(f"SELECT rowid, * FROM {name}").fetchall()
        # A table of words in memory; the store itself cannot be written to.
        with closing(sqlite3.connect(":memory:")) as copy:
            connection.backup(copy)
            copy.execute("CREATE VIRTUAL TABLE words USING fts5vocab(full_text, instance)")
            found["full text"] = copy.execute("SELECT * FROM words").fetchall()
            sizes = copy.execute("SELECT * FROM full_text_docsize ORDER BY id").fetchall()
            found["sizes"] = (
                sizes + copy.execute("SELECT block FROM full_text_data WHERE id = 1").fetchall()
            )
        return found


def mark(directory: Path) -> Mark:
    with closing(open_readonly(store_path(directory))) as connection:
        found = mark_of(connection, newest(connection))
        assert found is not None
        return found


def copied(source: Path, target: Path) -> None:
    """A checkpoint, without the way that it takes."""
    target.mkdir(exist_ok=True)
    with closing(open_readonly(store_path(source))) as connection:
        copy_database(connection, store_path(target))


def follow(source: Path, target: Path) -> bool:
    """Take what changed; whether anything did."""
    file = target / "given.db"
    file.unlink(missing_ok=True)
    given = write_changes(store_path(source), mark(target), file, largest=1 << 30)
    if given is not None:
        after = apply(store_path(target), file)
        assert after.head.generation == given.generation
    return given is not None
