"""Communities in the store: who lives, who belongs where, and what became of whom."""

import sqlite3

from index.communities.adopt import Adoption
from index.communities.hierarchy import Hierarchy


def write(connection: sqlite3.Connection, adoption: Adoption, generation: int) -> None:
    """Put an adopted partition in force, inside the caller's transaction."""
    connection.executemany(
        "UPDATE communities SET died = ? WHERE id = ?",
        [(generation, int(dead)) for dead in adoption.deaths],
    )
    hierarchy = adoption.hierarchy
    connection.executemany(
        "INSERT INTO communities (id, level, parent, size, born) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET level = excluded.level, parent = excluded.parent,"
        " size = excluded.size",
        zip(
            hierarchy.ids.tolist(),
            hierarchy.level.tolist(),
            hierarchy.parent.tolist(),
            hierarchy.sizes.tolist(),
            [generation] * len(hierarchy.ids),
            strict=True,
        ),
    )
    concepts, leaves = (part.tolist() for part in adoption.moved)
    moved = list(zip(concepts, leaves, strict=True))
    connection.executemany(
        "DELETE FROM membership WHERE concept = ?",
        [(concept,) for concept, leaf in moved if leaf == Hierarchy.NONE],
    )
    connection.executemany(
        "INSERT OR REPLACE INTO membership VALUES (?, ?)",
        [pair for pair in moved if pair[1] != Hierarchy.NONE],
    )
    connection.executemany(
        "INSERT INTO lineage VALUES (?, ?, ?, ?, ?)",
        [
            (generation, event.kind.value, event.community, event.related, event.shared)
            for event in adoption.lineage
        ],
    )
