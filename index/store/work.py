"""Folders for whole copies in the making, and what is left of them when their process is killed."""

import shutil
import threading
from contextlib import suppress
from itertools import count
from pathlib import Path
from tempfile import mkdtemp

from index.errors import StoreError, StoreLockedError
from index.store.connection import translated
from index.store.lock import LOCK_NAME, WriterLock

REPLICATION = "replication-"
BACKUP = ".backup-"
RESTORE = ".restore-"
_ATTEMPTS = 5


class WorkFolder:
    """A folder of one process in a directory, made when the first file is wanted.

    Its lock dies with the process; folders that nobody holds are removed when a new one is made.
    """

    def __init__(self, directory: Path, prefix: str) -> None:
        self._directory = directory
        self._prefix = prefix
        self._numbers = count()
        self._guard = threading.Lock()
        self._made: tuple[Path, WriterLock] | None = None

    def path(self) -> Path:
        """The folder. Raises ``StoreError``."""
        with self._guard:
            if self._made is None:
                remove_abandoned(self._directory)
                self._made = self._make()
            return self._made[0]

    def new_file(self) -> Path:
        """A path in it where no file is yet. Raises ``StoreError``."""
        return self.path() / f"{next(self._numbers)}.db"

    def close(self) -> None:
        """Remove the folder with all files."""
        if self._made is not None:
            folder, lock = self._made
            shutil.rmtree(folder, ignore_errors=True)
            lock.release()

    def _make(self) -> tuple[Path, WriterLock]:
        for _ in range(_ATTEMPTS):
            with translated(self._directory):
                folder = Path(mkdtemp(prefix=self._prefix, dir=self._directory))
            lock = WriterLock(folder)
            # Who removes abandoned ones may come between the two steps, and takes it for one.
            with suppress(StoreLockedError):
                lock.acquire()
                if (folder / LOCK_NAME).exists():
                    return folder, lock
                lock.release()
        raise StoreError(f"no folder can be made and locked in {self._directory}; try again")


def remove_abandoned(directory: Path) -> None:
    """Remove the folders in a directory, of any use, that no living process holds."""
    for prefix in (REPLICATION, BACKUP, RESTORE):
        for folder in directory.glob(f"{prefix}*"):
            lock = WriterLock(folder)
            with suppress(StoreError):  # somebody's, who lives
                lock.acquire()
                shutil.rmtree(folder, ignore_errors=True)
                lock.release()
