"""Communities in the store: who lives, who belongs where, and what became of whom.

Every row says in which generation it last changed, so that followers read the changes alone.
"""

import sqlite3
from collections.abc import Iterable
from itertools import repeat

import numpy as np

from index.communities.adopt import Adoption, LineageKind, changed_communities
from index.communities.following import HierarchyChange, following
from index.communities.hierarchy import Hierarchy
from index.store import lineage
from index.types import Int64Array

GROWN = "(size >= 2 * told OR 2 * size <= told)"
"""A community whose size is worth telling again. Measured on Reuters, 100 stories in and 100 out of
8,000 a batch: 23 rows a batch beside 98 of births, deaths, splits and merges; 53 with 1.5 for 2."""


def write(
    connection: sqlite3.Connection,
    before: Hierarchy,
    adoptions: Iterable[Adoption],
    generation: int,
) -> bool:
    """Write the steps from one hierarchy to the next, inside the caller's transaction.

    Returns whether anything changed.
    """
    changed = False
    for adoption in adoptions:
        changed |= _write_step(connection, before, adoption, generation)
        before = adoption.hierarchy
    _tell_growth(connection, generation)
    lineage.prune(connection, generation)
    return changed


def _write_step(
    connection: sqlite3.Connection, before: Hierarchy, adoption: Adoption, generation: int
) -> bool:
    connection.executemany(
        "UPDATE communities SET died = ?, changed = ? WHERE id = ?",
        [(generation, generation, dead) for dead in adoption.deaths],
    )
    rows = _rows(adoption.hierarchy, changed_communities(before, adoption.hierarchy))
    connection.executemany(
        "INSERT INTO communities (id, level, parent, size, born, changed) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET level = excluded.level, parent = excluded.parent,"
        " size = excluded.size, changed = excluded.changed",
        [(*row, generation, generation) for row in rows.tolist()],
    )
    concepts, leaves = (part.tolist() for part in adoption.moved)
    connection.executemany(
        "INSERT INTO membership VALUES (?, ?, ?) ON CONFLICT (concept)"
        " DO UPDATE SET leaf = excluded.leaf, changed = excluded.changed",
        zip(concepts, leaves, repeat(generation, len(concepts)), strict=True),
    )
    connection.executemany(
        "INSERT INTO lineage VALUES (?, ?, ?, ?, ?)",
        [
            (generation, event.kind.value, event.community, event.related, event.shared)
            for event in adoption.lineage
        ],
    )
    return bool(adoption.deaths or len(rows) or concepts)


def _tell_growth(connection: sqlite3.Connection, generation: int) -> None:
    """Record who has grown or declined by a factor since that was last recorded, or since birth.

    Looks at the rows that the generation changed alone. A row stands for as many concepts that came
    as there were, or for half of them that went, so that rows follow moves however sizes sway.
    """
    changed = "changed = :generation AND died IS NULL"
    values = {
        "generation": generation,
        "growth": LineageKind.GROWTH.value,
        "decline": LineageKind.DECLINE.value,
    }
    connection.execute(
        f"UPDATE communities SET told = size WHERE {changed} AND born = :generation", values
    )
    connection.execute(
        "INSERT INTO lineage SELECT :generation, iif(size > told, :growth, :decline), id, 0, size"
        f" FROM communities WHERE {changed} AND {GROWN} ORDER BY id",
        values,
    )
    connection.execute(f"UPDATE communities SET told = size WHERE {changed} AND {GROWN}", values)


def _rows(hierarchy: Hierarchy, ids: Int64Array) -> Int64Array:
    at = np.searchsorted(hierarchy.ids, ids)
    columns = (ids, hierarchy.level[at], hierarchy.parent[at], hierarchy.sizes[at])
    rows: Int64Array = np.stack([column.astype(np.int64) for column in columns], axis=1)
    return rows


def read(connection: sqlite3.Connection, concept_count: int, epoch: int) -> Hierarchy:
    """The communities in force."""
    rows = connection.execute(
        "SELECT id, level, parent, size FROM communities WHERE died IS NULL"
    ).fetchall()
    members = connection.execute("SELECT concept, leaf FROM membership WHERE leaf >= 0").fetchall()
    return following(
        Hierarchy.empty(concept_count), _change(rows, (), members), concept_count, epoch
    )


def read_on(
    connection: sqlite3.Connection, before: Hierarchy, since: int, concept_count: int, epoch: int
) -> Hierarchy:
    """The communities in force, from those of generation ``since``; costs what changed."""
    rows = connection.execute(
        "SELECT id, level, parent, size FROM communities WHERE changed > ? AND died IS NULL",
        (since,),
    ).fetchall()
    died = connection.execute(
        "SELECT id FROM communities WHERE changed > ? AND died IS NOT NULL", (since,)
    ).fetchall()
    members = connection.execute(
        "SELECT concept, leaf FROM membership WHERE changed > ?", (since,)
    ).fetchall()
    return following(before, _change(rows, (row[0] for row in died), members), concept_count, epoch)


def _change(
    rows: list[tuple[int, ...]], died: Iterable[int], members: list[tuple[int, int]]
) -> HierarchyChange:
    pairs = np.array(members, np.int64).reshape(-1, 2)
    return HierarchyChange(
        rows=np.array(rows, np.int64).reshape(-1, 4),
        died=np.array(list(died), np.int64),
        concepts=pairs[:, 0].astype(np.int32),
        leaves=pairs[:, 1].copy(),
    )
