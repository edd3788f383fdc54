"""A follower on another host, from settings: takes step after step, and tells how it stands."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from deploy.errors import UsageError
from deploy.settings import Settings
from deploy.volume import check_volume
from index.analysis.fingerprint import Fingerprint
from index.errors import StoreError
from index.replica.errors import OtherAnalyzerError, ReplicaError
from index.replica.origin import Origin
from index.replica.remote import Remote
from index.replica.replica import Fetching, Replica, Step
from index.types import Millis
from index.vectors.breaker import Breaker
from query.service.status import FollowStatus

STEP_EVERY = 0.5
"""Seconds between two questions whether the writer has anything new."""


@dataclass(frozen=True, slots=True)
class StepFailure:
    """A step that failed, why, and the seconds after which the next is tried."""

    problem: str
    wait: float


Observe = Callable[[Step | StepFailure | Fetching], None]


class Following:
    """Keeps a data directory level with its writer; ``status`` may be called by any thread.

    Args:
        replica: the directory.
        remote: the writer.
        fingerprint: the analyzer that answers here.
        observe: is told each step that did something, and each failure.
        clock: monotonic seconds.
        now: milliseconds since 1970.
    """

    def __init__(
        self,
        replica: Replica,
        remote: Remote,
        fingerprint: Fingerprint,
        observe: Observe,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], Millis] = lambda: Millis(time.time_ns() // 1_000_000),
    ) -> None:
        self._replica = replica
        self._remote = remote
        self._fingerprint = fingerprint
        self._observe = observe
        self._clock = clock
        self._now = now
        self._breaker = Breaker(clock)
        self._level_at: float | None = None

    def first(self, stop: threading.Event) -> bool:
        """Wait until there is a store that answers; False where it is to stop before.

        Raises ``OtherAnalyzerError``: what the writer has cannot be answered from here.
        """
        while not self._replica.fits(self._fingerprint):
            if stop.is_set():
                return False
            try:
                self._step()
            except OtherAnalyzerError:
                raise
            except (ReplicaError, StoreError) as error:
                self._failed(error)
            stop.wait(self._breaker.wait)
        return True

    def run(self, stop: threading.Event) -> None:
        """Take steps until it is to stop; failures are told and tried again."""
        while not stop.wait(max(STEP_EVERY, self._breaker.wait)):
            try:
                self._step()
            except (ReplicaError, StoreError) as error:
                if not stop.is_set():
                    self._failed(error)

    def status(self, generation: int, committed_at: Millis | None) -> FollowStatus:
        """How the store stands to its writer, whose newest snapshot here is given.

        Before it was level for the first time in this process, the moment of that snapshot says
        how far behind it may be.
        """
        newest, level_at = self._replica.newest, self._level_at
        if level_at is not None:
            behind: float | None = self._clock() - level_at
        else:
            behind = None if committed_at is None else (self._now() - committed_at) / 1000
        return FollowStatus(
            writer=self._remote.url,
            generation=newest,
            behind_generations=None if newest is None else max(0, newest - generation),
            behind_seconds=None if behind is None else max(0.0, behind),
            fetching=self._replica.fetching,
            problem=self._breaker.problem,
        )

    def _step(self) -> None:
        asked = self._clock()
        step = self._replica.step(self._remote, self._fingerprint, self._observe)
        self._breaker.succeeded()
        if step.kind != "checkpoint":  # a copy may have been made a while ago
            self._level_at = asked
        if step.kind != "level":
            self._observe(step)

    def _failed(self, error: Exception) -> None:
        self._breaker.failed(str(error))
        self._observe(StepFailure(str(error), round(self._breaker.wait, 1)))


@contextmanager
def following(
    settings: Settings, fingerprint: Fingerprint, observe: Observe, stop: threading.Event
) -> Iterator[Following]:
    """The follower of a data directory; nothing is asked yet.

    Raises ``StoreError`` where the directory is somebody else's.
    """
    remote = Remote(settings.follow, settings.follow_key.get_secret_value(), stopped=stop.is_set)
    with closing(remote), closing(Replica.open(settings.data, settings.follow)) as replica:
        yield Following(replica, remote, fingerprint, observe)


@contextmanager
def origin(settings: Settings) -> Iterator[Origin | None]:
    """What gives the store to followers; None where no key is asked for.

    Not on loopback either: any page in a browser there could have a copy made.
    """
    if not settings.api_keys:
        yield None
        return
    with closing(Origin(settings.data)) as given:
        yield given


def check(settings: Settings) -> None:
    """Raises ``UsageError`` for an address that cannot be followed, or an unfit volume."""
    if not settings.follow:
        return
    try:
        parts = urlsplit(settings.follow)
        usable = bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    else:
        usable = usable and not (parts.username or parts.password or parts.query or parts.fragment)
    if not usable:
        raise UsageError(
            "follow is the address of the writer's service, such as https://HOST:8321; its key "
            "is the setting follow_key"
        )
    check_volume(settings.data)
