"""The checkpoint that lies beside a store file, for those who only look at it: no kernels."""

from dataclasses import dataclass
from pathlib import Path

from index.errors import ArrayFileError
from index.store.array_file import read_note
from index.store.connection import CHECKPOINT_SUFFIX
from index.types import Millis


@dataclass(frozen=True, slots=True)
class Kept:
    """A checkpoint: the generation that it is of, its bytes, and when it was written."""

    generation: int
    bytes: int
    written_at: Millis


def checkpoint_path(store: Path) -> Path:
    """Where the checkpoint of a store file lies."""
    return store.with_suffix(CHECKPOINT_SUFFIX)


def kept(store: Path) -> Kept | None:
    """What lies beside a store file; None where there is nothing that can be read."""
    path = checkpoint_path(store)
    try:
        found, generation = path.stat(), int(read_note(path)["generation"])
    except (ArrayFileError, OSError):
        return None
    return Kept(generation, found.st_size, Millis(found.st_mtime_ns // 1_000_000))
