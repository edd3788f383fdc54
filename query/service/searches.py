"""Searches run in threads, told to the event loop step by step, stopped when nobody listens."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from query.service.problems import ProblemError
from query.service.service import SearchReport, Service
from query.types import Answer, EventKind, Question, SearchEvent, Stopped


@dataclass(slots=True)
class _Run:
    """One search on its way: where it tells its events, and whether it shall stop."""

    question: Question
    request_id: str
    loop: asyncio.AbstractEventLoop
    events: asyncio.Queue[SearchEvent | Exception | None] = field(default_factory=asyncio.Queue)
    stop: threading.Event = field(default_factory=threading.Event)

    def tell(self, item: SearchEvent | Exception | None) -> None:
        """From the search's thread: hand an event, an error or the end to the loop."""
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.events.put_nowait, item)


class Searches:
    """All searches of an application, a bounded number at once; used from the event loop."""

    def __init__(self, service: Service) -> None:
        limits = service.limits
        self._service = service
        self._most = limits.running_searches + limits.waiting_searches
        self._live: dict[int, _Run] = {}
        self._count = 0
        self._threads = ThreadPoolExecutor(limits.running_searches, thread_name_prefix="search")

    async def events(
        self, question: Question, request_id: str
    ) -> AsyncGenerator[SearchEvent, None]:
        """Search; closing the iterator stops the search at its next step.

        Raises:
            ProblemError: as many searches run and wait as are allowed.
        """
        if len(self._live) >= self._most:
            detail = "Too many questions are being answered: ask again in a moment."
            raise ProblemError(429, "too_many_searches", detail, {"Retry-After": "2"})
        run = _Run(question, request_id, asyncio.get_running_loop())
        number = self._count = self._count + 1
        future = self._threads.submit(self._search, run)
        self._live[number] = run
        future.add_done_callback(lambda _: self._forget(number, run))
        try:
            while (item := await run.events.get()) is not None:
                if isinstance(item, Exception):
                    raise item
                yield item
        finally:
            run.stop.set()
            if future.cancel():  # it still waited: no thread will report it
                self._service.observe(_report(run, None, 0.0, None, None, 0))

    def close(self) -> None:
        """Stop all searches and take no more."""
        for run in self._live.values():
            run.stop.set()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _forget(self, number: int, run: _Run) -> None:
        if not run.loop.is_closed():
            run.loop.call_soon_threadsafe(self._live.pop, number, None)

    def _search(self, run: _Run) -> None:
        """In a thread: drive the search to its end, or until it shall stop."""
        now = self._service.stopwatch
        started, first, answer, failure, tests = now(), None, None, None, 0
        try:
            for event in self._until_stopped(run):
                first = now() - started if first is None else first
                answer = event.answer
                if event.kind is EventKind.TESTED:
                    tests = int(str(event.detail["tested"]))
                run.tell(event)
        except Exception as error:  # noqa: BLE001  handed to whoever waits for the answer
            failure = error
        run.tell(failure)
        self._service.observe(_report(run, answer, now() - started, first, failure, tests))

    def _until_stopped(self, run: _Run) -> Iterator[SearchEvent]:
        steps = self._service.engine.search(run.question)
        try:
            while not run.stop.is_set() and (event := next(steps, None)) is not None:
                yield event
        finally:
            if isinstance(steps, Generator):
                steps.close()


def _report(
    run: _Run,
    answer: Answer | None,
    seconds: float,
    first: float | None,
    error: Exception | None,
    tests: int,
) -> SearchReport:
    question = run.question
    if answer is None:
        stopped = Stopped.CANCELLED.value if error is None else ""
        return SearchReport(
            run.request_id,
            question.mode.value,
            "",
            question.budget,
            "",
            stopped,
            tests,
            0,
            seconds,
            first,
            error=error,
        )
    return SearchReport(
        request_id=run.request_id,
        mode=answer.mode.value,
        assessor=answer.assessor,
        budget=answer.budget,
        outcome=answer.outcome.value,
        stopped=answer.stopped.value,
        tests=sum(cost.relevance_tests for cost in answer.ledger.values()),
        generation=answer.generation,
        seconds=seconds,
        first_event_seconds=first,
        stages={stage: cost.seconds for stage, cost in answer.ledger.items()},
    )
