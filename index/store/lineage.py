"""What became of a community and where it came from, from the rows that generations left."""

import sqlite3

from index.communities.adopt import LineageKind
from index.store.generations import TIDIED_EVERY
from index.view import CommunityLineage, LineageRow

KEPT = 1_000_000
"""Events that are kept; older ones are forgotten, with the communities that ended before them."""

_LONGEST = 64  # steps of a line of descent that are followed


def read(connection: sqlite3.Connection, community: int, limit: int) -> CommunityLineage | None:
    """The lineage of a community, dead or alive; None where its id was never given or forgotten.

    ``limit``: events at most, newest first.
    """
    row = connection.execute(
        "SELECT id, level, parent, size, born, died FROM communities WHERE id = ?", (community,)
    ).fetchone()
    if row is None:
        return None
    columns = "generation, kind, community, related, shared, rowid"
    found = connection.execute(
        f"SELECT {columns} FROM lineage WHERE community = ?"
        f" UNION SELECT {columns} FROM lineage WHERE related = ? AND kind IN (?, ?)"
        " ORDER BY generation DESC, rowid DESC LIMIT ?",
        (community, community, LineageKind.SPLIT.value, LineageKind.MERGE.value, limit + 1),
    ).fetchall()
    number, level, parent, size, born, died = row
    return CommunityLineage(
        id=number,
        level=level,
        parent=parent,
        size=size,
        born=born,
        died=died,
        came_from=_line(connection, community, LineageKind.SPLIT),
        became=_line(connection, community, LineageKind.MERGE),
        events=tuple(LineageRow(*event[:5]) for event in found[:limit]),
        more=len(found) > limit,
    )


def _line(connection: sqlite3.Connection, community: int, kind: LineageKind) -> tuple[int, ...]:
    """From a community along one kind of event: the communities on the way, nearest first."""
    line: list[int] = []
    while len(line) < _LONGEST:
        row = connection.execute(
            "SELECT related FROM lineage WHERE community = ? AND kind = ?",
            (line[-1] if line else community, kind.value),
        ).fetchone()
        if row is None or not row[0] or row[0] in line:
            break
        line.append(row[0])
    return tuple(line)


def prune(connection: sqlite3.Connection, generation: int, kept: int = KEPT) -> None:
    """Forget the oldest events; called once a generation, acts in few of them."""
    if generation % TIDIED_EVERY:
        return
    connection.execute(
        "DELETE FROM lineage WHERE rowid <= (SELECT max(rowid) FROM lineage) - ?", (kept,)
    )
    connection.execute(
        "DELETE FROM communities WHERE died < (SELECT min(generation) FROM lineage)"
        " AND died < (SELECT min(id) FROM generations)"
    )
