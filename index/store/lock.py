"""One writer for a data directory: an operating-system lock that dies with its process."""

import fcntl
import os
import socket
from pathlib import Path
from typing import IO

from index.errors import StoreError, StoreLockedError

LOCK_NAME = "writer.lock"


class WriterLock:
    """Held from ``acquire`` to ``release``; a crash releases it too."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / LOCK_NAME
        self._file: IO[str] | None = None

    def acquire(self) -> None:
        """Take the lock; raises ``StoreLockedError`` that says who holds it."""
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
        file.seek(0)
        file.truncate()
        file.write(f"process {os.getpid()} on {socket.gethostname()}")
        file.flush()
        self._file = file

    def release(self) -> None:
        """Give the lock up; does nothing when it is not held."""
        if self._file is not None:
            self._file.close()
            self._file = None
