"""Counts and communities in memory, as the checkpoint or the store has them.

After a transaction that failed they are dropped, and read anew when they are next needed, so that
memory and store never disagree.
"""

import sqlite3

from index.checkpoint import Checkpoint
from index.communities.dynamic import DynamicSettings
from index.communities.live import LiveCommunities
from index.counts.recount import counts_of
from index.snapshot import Snapshot
from index.store import meta
from index.store.generations import Generation


class Resident:
    """What the writer of a store keeps of it, and its checkpoint; used by one thread."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        checkpoint: Checkpoint,
        dynamic: DynamicSettings,
        snapshot: Snapshot,
        generation: Generation,
    ) -> None:
        self.checkpoint = checkpoint
        self._connection = connection
        self._dynamic = dynamic
        epoch = meta.community_epoch(connection)
        kept = checkpoint.resume(snapshot.hierarchy, generation, epoch, dynamic)
        self._live: LiveCommunities | None = kept or self._read(snapshot, generation)

    def live(self, snapshot: Snapshot, generation: Generation) -> LiveCommunities:
        """Counts and communities as of the newest snapshot and its generation."""
        if self._live is None:
            self._live = self._read(snapshot, generation)
        return self._live

    def drop(self) -> None:
        """They no longer stand for the store."""
        self._live = None

    def rest(self, generation: Generation) -> None:
        """See ``Checkpoint.rest``."""
        if self._live is not None:
            self.checkpoint.rest(self._live, generation, self._dynamic)

    def close(self, generation: Generation) -> None:
        """Leave a checkpoint where they are large."""
        self.checkpoint.hold()
        if self._live is not None:
            self.checkpoint.write(self._live, generation, self._dynamic)

    def _read(self, snapshot: Snapshot, generation: Generation) -> LiveCommunities:
        return LiveCommunities(
            counts_of(snapshot),
            snapshot.hierarchy,
            meta.community_epoch(self._connection),
            generation.next_numbers.community,
            self._dynamic,
        )
