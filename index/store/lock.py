"""One writer for a data directory: an operating-system lock that dies with its process."""

import fcntl
import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import IO

from index.errors import StoreError, StoreLockedError

LOCK_NAME = "writer.lock"
FOLLOWS_NAME = "follows"
"""Names the writer's address in the directory of a follower, whose store nobody else may write."""


def followed(directory: Path) -> str | None:
    """The address that a directory follows; None for one that is written here."""
    try:
        return (directory / FOLLOWS_NAME).read_text("utf-8").strip()
    except OSError:
        return None


class WriterLock:
    """Held from ``acquire`` to ``release``; a crash releases it too."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / LOCK_NAME
        self._file: IO[str] | None = None

    def acquire(self, *, follows: bool = False) -> None:
        """Take the lock; raises ``StoreLockedError`` that says who holds it.

        Only who ``follows`` may take it where the directory is a follower's.
        """
        address = followed(self._path.parent)
        if address is not None and not follows:
            raise StoreError(
                f"{self._path.parent} follows {address}: what is written here is lost at its next "
                "checkpoint. Write there, or make this the writer with `tidegraph promote` once "
                "the other has ended"
            )
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            file = self._path.open("a+", encoding="utf-8")
        except OSError as error:
            raise StoreError(
                f"cannot write in {self._path.parent}: {error.strerror}; "
                "choose another directory with --data, or give yourself the right to write there"
            ) from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.seek(0)
            holder = file.read().strip() or "another process"
            file.close()
            raise StoreLockedError(
                f"{self._path.parent} is being written by {holder}; "
                "stop that one first, or use another data directory"
            ) from error
        self._file = file
        try:
            file.seek(0)
            file.truncate()
            file.write(f"process {os.getpid()} on {socket.gethostname()}")
            file.flush()
        except OSError as error:
            with suppress(OSError):  # what could not be written is tried again on closing
                self.release()
            raise StoreError(f"cannot write in {self._path.parent}: {error.strerror}") from error

    def release(self) -> None:
        """Give the lock up; does nothing when it is not held."""
        file, self._file = self._file, None
        if file is not None:
            file.close()
