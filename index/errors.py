"""The errors of ``index``; every one says what to do about it."""


class IndexingError(Exception):
    """Base of all errors of the index."""


class StoreError(IndexingError):
    """The store cannot be used: not writable, not a store, damaged."""


class SchemaTooNewError(StoreError):
    """The store was written by a newer release."""


class StoreLockedError(StoreError):
    """Another writer holds the store."""


class WriterFencedError(StoreError):
    """A newer writer has taken the store over; this one must stop."""


class FingerprintMismatchError(StoreError):
    """The store was built with another analyzer than the settings name."""


class NegativeCountError(IndexingError):
    """A delta would make a count negative; it was refused whole. ``concepts``: whose count."""

    def __init__(self, message: str, concepts: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.concepts = concepts


class SnapshotRetiredError(IndexingError):
    """A pinned snapshot outlived its time."""


class UnknownPartError(IndexingError):
    """The snapshot holds no such part of the concept graph: no such community or concept."""


class VectorIndexError(IndexingError):
    """A vector index cannot be reached or used, or answers nonsense; search goes on without it."""


class VectorIndexBusyError(VectorIndexError):
    """A vector index is putting itself in order and will be back; nothing is wrong with it."""


class EmbedderError(IndexingError):
    """What should make vectors does not: it refuses the key, or answers something else."""


class EmbedderAwayError(EmbedderError):
    """The embedder is not there for now; what waits for it may go on later."""


class ArrayFileError(IndexingError):
    """A file of arrays cannot be used: damaged, cut short, or of another release."""
