"""What a store says of itself: fingerprint, collection, writer epoch, positions, health."""

import sqlite3
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import orjson

from index.analysis.fingerprint import Fingerprint
from index.checksums import Sums
from index.communities.epoch import Epoch
from index.communities.pruning import PruningSettings
from index.errors import FingerprintMismatchError, StoreError
from index.store.connection import transaction

FINGERPRINT = "fingerprint"
_GROUPED = "grouped"
_PRUNING = "pruning"
_COLLECTION = "collection"
_WRITER_EPOCH = "writer_epoch"
_COMMUNITY_EPOCH = "community_epoch"


def get(connection: sqlite3.Connection, name: str) -> str | None:
    """A value of ``meta``."""
    row = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return None if row is None else row[0]


def put(connection: sqlite3.Connection, name: str, value: str) -> None:
    """Set a value of ``meta``."""
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))


def stored_fingerprint(connection: sqlite3.Connection) -> Fingerprint | None:
    """What the store was built with; None for a new one."""
    text = get(connection, FINGERPRINT)
    return None if text is None else Fingerprint.from_json(text)


def collection_name(connection: sqlite3.Connection) -> str:
    """The collection's name."""
    return get(connection, _COLLECTION) or "default"


def check_fingerprint(
    connection: sqlite3.Connection, fingerprint: Fingerprint, collection: str
) -> None:
    """Record the fingerprint of a new store; refuse another one on an old store."""
    stored = stored_fingerprint(connection)
    if stored is None:
        with transaction(connection):
            put(connection, FINGERPRINT, fingerprint.to_json())
            put(connection, _COLLECTION, collection)
        return
    if stored == fingerprint:
        return
    words = connection.execute("SELECT coalesce(sum(length(text)), 0) / 6 FROM documents")
    minutes = minutes_to_reindex(words.fetchone()[0], stored.same_but_embedder(fingerprint))
    raise FingerprintMismatchError(
        "this index was built with another analyzer: "
        + "; ".join(stored.differences(fingerprint))
        + f". `tidegraph reindex` rebuilds it beside the live one (about {minutes} min), "
        "or set the settings back to what it was built with"
    )


def minutes_to_reindex(words: int, embed_only: bool) -> int:
    """Minutes on one core, from measured words a second (``make bench ONLY=pipeline``)."""
    rate = 100_000 if embed_only else 8_000
    return max(1, round(words / rate / 60))


def writer_epoch(connection: sqlite3.Connection) -> int:
    """The epoch of the writer that owns the store."""
    return int(get(connection, _WRITER_EPOCH) or 0)


def next_writer_epoch(connection: sqlite3.Connection) -> int:
    """Begin a new writer's epoch; every older writer is fenced from then on."""
    with transaction(connection):
        return raise_writer_epoch(connection)


def raise_writer_epoch(connection: sqlite3.Connection) -> int:
    """The next writer's epoch, put in force inside the caller's transaction."""
    epoch = writer_epoch(connection) + 1
    put(connection, _WRITER_EPOCH, str(epoch))
    return epoch


def write_grouped(connection: sqlite3.Connection, sums: Sums, pruning: PruningSettings) -> None:
    """Record the counts and the pruning that the partition in force was computed from."""
    put(connection, _GROUPED, f"{sums.f_sum} {sums.w_sum}")
    put(connection, _PRUNING, orjson.dumps(pruning).decode())


def pruning(connection: sqlite3.Connection) -> PruningSettings:
    """The pruning of the partition in force."""
    text = get(connection, _PRUNING)
    return PruningSettings() if text is None else PruningSettings(**orjson.loads(text))


def write_community_epoch(connection: sqlite3.Connection, epoch: Epoch) -> None:
    """Record the epoch of the communities in force."""
    values = {
        "number": epoch.number,
        "shift": epoch.shift,
        "threshold": epoch.threshold,
        "min_frequency": epoch.min_frequency,
        "hubs": epoch.hubs.tolist(),
    }
    put(connection, _COMMUNITY_EPOCH, orjson.dumps(values).decode())


def community_epoch(connection: sqlite3.Connection) -> Epoch | None:
    """The epoch of the communities in force; None before the first full run."""
    text = get(connection, _COMMUNITY_EPOCH)
    if text is None:
        return None
    values = orjson.loads(text)
    return Epoch(**values | {"hubs": np.array(values["hubs"], np.int32)})


def grouped(connection: sqlite3.Connection) -> Sums | None:
    """The counts that the partition in force was computed from; None before the first one."""
    text = get(connection, _GROUPED)
    return None if text is None else Sums(*map(int, text.split(" ")))


def write_positions(
    connection: sqlite3.Connection, positions: Mapping[tuple[str, int], int]
) -> None:
    """Store the next offsets, in the transaction of what they brought."""
    connection.executemany(
        "INSERT OR REPLACE INTO positions VALUES (?, ?, ?)",
        [(topic, partition, offset) for (topic, partition), offset in positions.items()],
    )


def check_integrity(connection: sqlite3.Connection, path: Path) -> None:
    """SQLite's quick check; raises ``StoreError`` for a damaged file."""
    found = connection.execute("PRAGMA quick_check(3)").fetchall()
    if found != [("ok",)]:
        raise StoreError(
            f"{path} is damaged ({found[0][0]}); restore a backup, or remove the directory and "
            "index anew from the source"
        )
