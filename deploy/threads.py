"""What a process does beside: each work in a thread of its own, whose failure ends the process."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from deploy.assembly import feeds
from deploy.assembly.streams import Origin
from deploy.assembly.writing import Ingestion
from deploy.errors import DeployError
from deploy.patience import patiently
from deploy.settings import Settings
from deploy.telemetry.observe import Telemetry
from index.memory import GIVEN_BACK_EVERY, give_memory_back
from index.store.follower import Follower
from query.graph import GraphCache

FOLLOW_EVERY = 0.2
"""Seconds between two looks of a follower at the store."""


@dataclass(slots=True)
class Running:
    """A process that serves: where, and what may end it. ``wait`` belongs to the main thread."""

    url: str
    stop: threading.Event
    failures: list[BaseException] = field(default_factory=list)
    ingestion: Ingestion | None = None

    def wait(self) -> None:
        """Wait until it is to stop; raises what ended a thread of its own."""
        while not self.stop.wait(GIVEN_BACK_EVERY):
            give_memory_back()
        if self.failures:
            raise self.failures[0]


@contextmanager
def working(
    name: str, work: Callable[[], None], running: Running, telemetry: Telemetry
) -> Iterator[None]:
    """Do some work beside; its failure stops the process, its end the work of the others."""

    def guarded() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001  told to the main thread, which raises it
            if not isinstance(error, DeployError):
                telemetry.failed(name, error)
            running.failures.append(error)
            running.stop.set()

    thread = threading.Thread(target=guarded, name=name)
    thread.start()
    try:
        yield
    finally:
        running.stop.set()
        thread.join()


@contextmanager
def consuming(running: Running, ingestion: Ingestion, telemetry: Telemetry) -> Iterator[None]:
    """Run the consumer in a thread of its own; its failure stops the process."""

    def work() -> None:
        stop = running.stop
        patiently(lambda: ingestion.consumer.run(stop), stop, telemetry.waits_for_embedder)

    with working("consumer", work, running, telemetry):
        yield


@contextmanager
def marking(
    settings: Settings, origin: Origin, ingestion: Ingestion, telemetry: Telemetry
) -> Iterator[None]:
    """Commit positions for those who show the lag; what goes wrong there is told, never fatal."""
    if not (settings.kafka and settings.kafka_group) or origin.file is not None:
        yield
        return
    from deploy.assembly import kafka  # noqa: PLC0415  loads the client

    def work() -> None:
        kafka.mark(settings, lambda: ingestion.writer.latest().head.positions, stop, failed)

    def failed(problem: str) -> None:
        telemetry.warned("lag marks", problem)

    stop = threading.Event()
    thread = threading.Thread(target=work, name="lag marks")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@contextmanager
def polling(running: Running, settings: Settings, telemetry: Telemetry) -> Iterator[None]:
    """Poll the feeds in a thread of its own; a feed that fails is tried again, never fatal."""

    def work() -> None:
        feeds.poll(settings, running.stop, telemetry.observe)

    with working("feeds", work, running, telemetry):
        yield


@contextmanager
def preparing(
    running: Running,
    ingestion: Ingestion,
    fresh: threading.Event,
    graphs: GraphCache,
    telemetry: Telemetry,
) -> Iterator[None]:
    """Make new snapshots ready while some ask: at once, when ``fresh`` says that there is one."""

    def work() -> None:
        while not running.stop.is_set():
            if fresh.wait(FOLLOW_EVERY):
                fresh.clear()
                graphs.prepare(ingestion.writer.latest())

    with working("graphs", work, running, telemetry):
        yield


@contextmanager
def following(
    running: Running, follower: Follower, graphs: GraphCache, telemetry: Telemetry
) -> Iterator[None]:
    """Keep a follower's newest snapshot at hand and ready, so that no question waits for it."""

    def work() -> None:
        while not running.stop.wait(FOLLOW_EVERY):
            follower.refresh()
            graphs.prepare(follower.latest())

    with working("follower", work, running, telemetry):
        yield
