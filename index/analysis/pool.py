"""Long-lived analysis processes behind futures; a dead one is replaced, its batch retried."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Event, Thread
from typing import Self

from index.analysis.settings import AnalyzerSettings
from index.analysis.worker import serve
from index.child import Child
from index.errors import EmbedderError
from index.types import Analysis, Document, Reason, Rejected

Result = Analysis | Rejected
Serve = Callable[[Connection, AnalyzerSettings], None]


@dataclass(frozen=True, slots=True)
class _Task:
    documents: tuple[Document, ...]
    future: "Future[list[Result]]"


class WorkerDiedError(Exception):
    """A worker process ended in the middle of a batch; inside the pool only."""


class _Worker(Child):
    """An analysis process."""

    def analyze(self, documents: Sequence[Document]) -> list[Result]:
        """The results of a batch.

        Raises:
            WorkerDiedError: the process ended before it answered.
            EmbedderError: it found nobody who makes the vectors.
        """
        connection = self.start()
        try:
            connection.send(list(documents))
            results: list[Result] | EmbedderError = connection.recv()
        except (EOFError, OSError) as error:
            code = self.stop()
            raise WorkerDiedError(f"the analysis process ended with code {code}") from error
        if isinstance(results, EmbedderError):
            raise results
        return results


class AnalysisPool:
    """Analyzes batches in ``workers`` processes, or with 0 in the caller's thread.

    Batches are handed out in order of submission and may finish in another; the caller orders
    by future. A batch whose worker dies is tried once more in a fresh process; if that dies too,
    its documents go one by one and the one that kills is rejected as ``analysis_failed``.
    """

    def __init__(self, settings: AnalyzerSettings, workers: int, *, target: Serve = serve) -> None:
        if workers < 0:
            raise ValueError(f"workers must be 0 or more, not {workers}")
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._closing = Event()
        self.workers = workers
        self._workers = [_Worker(target, settings) for _ in range(workers)]
        self._threads = [
            Thread(target=self._drive, args=(worker,), name=f"analysis-{n}", daemon=True)
            for n, worker in enumerate(self._workers)
        ]
        self._analyze = None if workers else _in_process(settings)
        for worker in self._workers:
            worker.start()
        for thread in self._threads:
            thread.start()

    def submit(self, documents: Sequence[Document]) -> "Future[list[Result]]":
        """Results in the order of the documents; with 0 workers they are there on return.

        Raises:
            RuntimeError: the pool is closed.
        """
        if self._closing.is_set():
            raise RuntimeError("the analysis pool is closed")
        task = _Task(tuple(documents), Future())
        if self._analyze is None:
            self._tasks.put(task)
        else:
            task.future.set_running_or_notify_cancel()
            _settle(task.future, partial(self._analyze, task.documents))
        return task.future

    def pids(self) -> list[int]:
        """Process ids of the running workers."""
        return [pid for worker in self._workers if (pid := worker.pid) is not None]

    def close(self) -> None:
        """Finish the batches under way, cancel those not begun, end the processes."""
        if self._closing.is_set():
            return
        self._closing.set()
        for _ in self._threads:
            self._tasks.put(None)
        for thread in self._threads:
            thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _drive(self, worker: _Worker) -> None:
        """Feed one worker until the end; a thread for each, so that futures need no poll."""
        while (task := self._tasks.get()) is not None:
            if self._closing.is_set():
                task.future.cancel()
            if task.future.set_running_or_notify_cancel():
                _settle(task.future, partial(analyze_surely, worker.analyze, task.documents))
        worker.stop()


def analyze_surely(
    analyze: Callable[[Sequence[Document]], list[Result]], documents: Sequence[Document]
) -> list[Result]:
    """Analyze a batch by a worker that may die: twice whole, then one by one."""
    for _ in range(2):
        try:
            return analyze(documents)
        except WorkerDiedError as error:
            fate = str(error)
    if len(documents) == 1:
        return [Rejected(Reason.ANALYSIS_FAILED, fate)]
    results: list[Result] = []
    for document in documents:
        results.extend(_one(analyze, document))
    return results


def _one(analyze: Callable[[Sequence[Document]], list[Result]], document: Document) -> list[Result]:
    try:
        return analyze([document])
    except WorkerDiedError as error:
        return [Rejected(Reason.ANALYSIS_FAILED, str(error))]


def _settle(future: "Future[list[Result]]", work: Callable[[], list[Result]]) -> None:
    try:
        future.set_result(work())
    except Exception as error:  # noqa: BLE001  # a future carries what its work raised
        future.set_exception(error)


def _in_process(settings: AnalyzerSettings) -> Callable[[Sequence[Document]], list[Result]]:
    from index.analysis.analyzer import Analyzer  # noqa: PLC0415  # loads models

    return Analyzer(settings).analyze
