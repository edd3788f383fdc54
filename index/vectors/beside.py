"""A vector index in a process of its own, for an engine that lets nobody else run while it works.

Qdrant's engine holds the interpreter in every call: while it builds its graph over 100,000 points,
three quarters of a minute on two cores, no thread of its process gets to run. So it gets a process;
should it crash, the search goes on without it.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, cast

from index.child import LEAVING, Child
from index.errors import VectorIndexBusyError, VectorIndexError
from index.types import Float32Array
from index.vectors.protocol import SHARD, Condition, Hits, Mark, Points, VectorIndex

PATIENCE = 60.0
"""Seconds that one call may take, the opening of a large index with it; ``settle`` may take any."""
_AT_ONCE = 0.1  # seconds in which settling ends where there is nothing to do
_PRIORITY = 10  # by how much settling stands back behind all else


class BesideIndex:
    """See ``VectorIndex``; ``make`` opens the index in the other process, at the first call.

    While it settles, every call raises ``VectorIndexBusyError``. Where it is not ``there`` its mark
    is asked without a process.
    """

    def __init__(
        self,
        make: Callable[[], VectorIndex],
        name: str,
        *,
        there: Callable[[], bool] = lambda: True,
        patience: float = PATIENCE,
    ) -> None:
        self.name = name
        self._child = Child(_serve, make)
        self._there = there
        self._patience = patience
        self._lock = threading.Lock()
        self._settling = False

    @property
    def pid(self) -> int | None:
        """Process id, None where none runs."""
        return self._child.pid

    def mark(self) -> Mark | None:
        """See ``VectorIndex.mark``."""
        if self.pid is None and not self._there():
            return None
        return cast("Mark | None", self._call("mark"))

    def put_mark(self, mark: Mark) -> None:
        """See ``VectorIndex.put_mark``."""
        self._call("put_mark", mark)

    def reset(self, dimensions: int) -> None:
        """See ``VectorIndex.reset``."""
        self._call("reset", dimensions)

    def upsert(self, points: Points) -> None:
        """See ``VectorIndex.upsert``."""
        self._call("upsert", points)

    def delete(self, ids: Sequence[int | str]) -> None:
        """See ``VectorIndex.delete``."""
        self._call("delete", ids)

    def search(self, vector: Float32Array, limit: int, condition: Condition) -> Hits:
        """See ``VectorIndex.search``."""
        return cast("Hits", self._call("search", vector, limit, condition))

    def ids(self) -> Iterator[list[int | str]]:
        """See ``VectorIndex.ids``; all are sent at once."""
        yield from cast("list[list[int | str]]", self._call("ids"))

    def read(self, slots: Sequence[int]) -> dict[int, tuple[Float32Array, Mapping[str, object]]]:
        """See ``VectorIndex.read``."""
        found = self._call("read", slots)
        return cast("dict[int, tuple[Float32Array, Mapping[str, object]]]", found)

    def count(self) -> int:
        """See ``VectorIndex.count``."""
        return cast("int", self._call("count"))

    def settle(self) -> bool:
        """See ``VectorIndex.settle``."""
        with self._turn() as connection:
            connection.send(("settle", ()))
            self._settling = True
            if connection.poll(_AT_ONCE):
                self._settled(connection)
            return self._settling

    def close(self) -> None:
        """See ``VectorIndex.close``; a settling under way is given up, and begun anew one day."""
        with self._lock:
            self._child.stop(0 if self._settling else LEAVING)
            self._settling = False

    def _call(self, method: str, *arguments: object) -> object:
        with self._turn() as connection:
            connection.send((method, arguments))
            if not connection.poll(self._patience):
                self._end()
                raise VectorIndexError(f"{self.name} has not answered for {self._patience:g} s")
            return _answer(connection)

    @contextmanager
    def _turn(self) -> Iterator[Connection]:
        """The pipe to the process, for one call; raises where it settles or ends meanwhile."""
        with self._lock:
            try:
                connection = self._child.start()
                if self._settling:
                    if not connection.poll():
                        raise VectorIndexBusyError(f"{self.name} is being put in order")
                    self._settled(connection)
                yield connection
            except (EOFError, OSError) as error:
                self._end()
                raise VectorIndexError(f"the process of {self.name} has ended") from error

    def _settled(self, connection: Connection) -> None:
        self._settling = False
        _answer(connection)

    def _end(self) -> None:
        """Leave no process; the next call starts another."""
        self._settling = False
        self._child.stop(0)


def edge_beside(directory: Path) -> BesideIndex:
    """Qdrant's engine over a folder."""
    name = f"the vector index in {directory}"
    return BesideIndex(partial(_edge, directory), name, there=(directory / SHARD).exists)


def _edge(directory: Path) -> VectorIndex:
    from index.vectors.edge import EdgeIndex  # noqa: PLC0415  this process has no use for it

    return EdgeIndex(directory)


def _answer(connection: Connection) -> object:
    found = connection.recv()
    if isinstance(found, VectorIndexError):
        raise found
    return found


def _serve(connection: Connection, make: Callable[[], VectorIndex]) -> None:
    """Answer call after call until the parent is gone; Ctrl-C is the parent's to handle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(EOFError, OSError), closing(make()) as index:
        while True:
            method, arguments = connection.recv()
            connection.send(_done(index, method, arguments))


def _done(index: VectorIndex, method: str, arguments: Sequence[object]) -> object:
    """What a method returns, or the error that it raises."""
    try:
        if method == "settle":
            # The engine's own threads take the lower priority from the one that calls it.
            with ThreadPoolExecutor(1, initializer=os.nice, initargs=(_PRIORITY,)) as behind:
                return behind.submit(index.settle).result()
        found: Any = getattr(index, method)(*arguments)
        return list(found) if method == "ids" else found
    except VectorIndexError as error:
        return error
