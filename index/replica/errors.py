"""What can go wrong between a store and its twin."""

from index.errors import IndexingError


class ReplicaError(IndexingError):
    """The twin cannot go on now; it answers from what it has, and tries again."""


class CheckpointNeededError(ReplicaError):
    """Changes do not lead from where the twin stands to where the store is; a whole copy does."""


class OtherAnalyzerError(ReplicaError):
    """The store was built by another release or analyzer than the one that would answer here."""


class NoRoomError(ReplicaError):
    """The volume has no room for a copy."""
