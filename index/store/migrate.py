"""From older schemas of the store to the present one, a step for each."""

import sqlite3

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
}
"""What leads from a schema to the next one."""


def migrate(connection: sqlite3.Connection, version: int, wanted: int) -> None:
    """Bring a writable store to a schema, in one transaction."""
    if version == wanted:
        return
    steps = "".join(_STEPS[step] for step in range(version, wanted))
    connection.executescript(f"BEGIN IMMEDIATE; {steps} PRAGMA user_version = {wanted}; COMMIT;")
