"""A process beside that answers over a pipe, and ends with whoever asks it."""

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess

LEAVING = 5.0
"""Seconds that the process gets to leave by itself at the end."""


class Child:
    """A process and the pipe to it; started on first use and again after its end.

    ``target`` is called there with its end of the pipe and ``arguments``.
    """

    def __init__(self, target: Callable[..., None], *arguments: object) -> None:
        self._target = target
        self._arguments = arguments
        self._process: SpawnProcess | None = None
        self._connection: Connection | None = None

    def start(self) -> Connection:
        """The pipe to a running process."""
        if self._connection is None:
            context = multiprocessing.get_context("spawn")
            self._connection, theirs = context.Pipe()
            self._process = context.Process(
                target=self._target, args=(theirs, *self._arguments), daemon=True
            )
            self._process.start()
            theirs.close()
        return self._connection

    def stop(self, leaving: float = LEAVING) -> int | None:
        """End the process; its exit code. Closing the pipe is its sign to leave."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._process is None:
            return None
        self._process.join(leaving)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        code = self._process.exitcode
        self._process = None
        return code

    @property
    def pid(self) -> int | None:
        """Process id, None where none runs."""
        return self._process.pid if self._process else None
