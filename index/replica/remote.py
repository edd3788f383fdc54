"""A writer's service as a follower asks it: over HTTP, within limits, nowhere else.

Redirects are refused: the key goes to the address that was named and to no other. Every body has
its length before it and its digest, and must come at a least speed.
"""

import base64
import hashlib
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from index.replica.errors import CheckpointNeededError, NoRoomError, ReplicaError
from index.replica.mark import Mark

CONNECT_SECONDS = 5.0
WAIT_SECONDS = 30.0
"""Longest silence of a writer within a request."""
GRACE_SECONDS = 60.0
LEAST_RATE = 16 * 1024
"""Bytes a second that a body must come with, once the grace is over."""
MAKING_SECONDS = 3600.0
"""Longest time that a writer may take to make a copy."""
SPARE_BYTES = 64 << 20
"""Free space that must be left beside a body."""

_STATE_BYTES = 64 * 1024
_PROBLEM_BYTES = 4 * 1024
_OK, _IN_THE_MAKING, _NOTHING, _PART = 200, 202, 204, 206
_CONFLICT = 409
_SAID = {
    401: "it wants an API key, or another one: set follow_key",
    403: "it refuses the key",
    404: "it gives its store to nobody (for want of an API key), or is of an older release",
}


@dataclass(frozen=True, slots=True)
class RemoteState:
    """Where the writer's store stands, as it told."""

    mark: Mark
    schema: int
    fingerprint: str
    store_bytes: int


class Remote:
    """Asks one writer. ``stopped`` is looked at while a body comes. Not for several threads."""

    def __init__(
        self,
        url: str,
        key: str = "",
        *,
        stopped: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        wait_seconds: float = WAIT_SECONDS,
    ) -> None:
        self.url = url
        self._stopped = stopped
        self._clock = clock
        self._sleep = sleep
        self._base = url.rstrip("/") + "/v1/replication"
        self._client = httpx.Client(
            headers={"Accept-Encoding": "identity"}
            | ({"Authorization": f"Bearer {key}"} if key else {}),
            timeout=httpx.Timeout(wait_seconds, connect=CONNECT_SECONDS),
            follow_redirects=False,
            trust_env=False,
        )

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def state(self) -> RemoteState:
        """Where the writer's store stands. Raises ``ReplicaError``."""
        with self._asked("") as response:
            body = _bounded(response, _STATE_BYTES)
        try:
            told = httpx.Response(_OK, content=body).json()
            mark = Mark(int(told["generation"]), str(told["digest"]))
            return RemoteState(
                mark,
                int(told["schema_version"]),
                str(told["fingerprint"]),
                int(told["store_bytes"]),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise ReplicaError(f"{self.url} does not say where it stands: {error!r}") from error

    def changes(self, since: Mark, to: Path) -> int | None:
        """Fetch what changed since a mark into a file; the generation that it leads to, or None.

        Raises ``CheckpointNeededError``, ``NoRoomError`` or ``ReplicaError``.
        """
        params: dict[str, str | int] = {"after": since.generation, "digest": since.digest}
        with self._asked("/generations", params=params) as response:
            if response.status_code == _NOTHING:
                return None
            generation = _generation(response)
            self._receive(response, to, held=0)
        self._check(response, to)
        return generation

    def checkpoint(self, above: int, to: Path, told: Callable[[int], None]) -> None:
        """Fetch a whole copy into a file, or the rest of one that is there in part.

        ``above``: the newest generation that is of no use. ``told`` is given the bytes so far.
        Raises ``NoRoomError`` or ``ReplicaError``; what has come then stays for the next time.
        """
        tag = to.with_name(to.name + ".tag")
        ends = self._clock() + MAKING_SECONDS
        while self._clock() < ends:
            held = to.stat().st_size if to.exists() and tag.exists() else 0
            headers = {"Range": f"bytes={held}-", "If-Range": tag.read_text()} if held else {}
            with self._asked("/checkpoint", params={"above": above}, headers=headers) as response:
                if response.status_code != _IN_THE_MAKING:
                    if response.status_code != _PART or not _goes_on(response, held):
                        held = 0
                    tag.write_text(response.headers.get("etag", ""))
                    self._receive(response, to, held, told)
                    break
            self._sleep(1.0)
            if self._stopped():
                raise ReplicaError("stopped")
        else:
            raise ReplicaError(f"{self.url} did not make a checkpoint within an hour")
        try:
            self._check(response, to)
        except ReplicaError:
            to.unlink()
            raise
        finally:
            tag.unlink(missing_ok=True)

    @contextmanager
    def _asked(
        self,
        path: str,
        params: dict[str, str | int] | None = None,
        headers: dict[str, str] | None = None,
    ) -> Iterator[httpx.Response]:
        """A response of success with its body to be read; errors translated."""
        try:
            with self._client.stream(
                "GET", self._base + path, params=params, headers=headers
            ) as response:
                if response.status_code not in {_OK, _IN_THE_MAKING, _NOTHING, _PART}:
                    raise self._refused(response)
                yield response
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            reason = str(error) or type(error).__name__
            raise ReplicaError(f"{self.url} cannot be read: {reason}") from error

    def _refused(self, response: httpx.Response) -> ReplicaError:
        status = response.status_code
        if response.is_redirect:
            return ReplicaError(
                f"{self.url} redirects, which is not followed; name the writer's own address"
            )
        detail = _detail(response)
        if status == _CONFLICT:
            return CheckpointNeededError(detail)
        return ReplicaError(f"{self.url} answers {status}: {_SAID.get(status, detail)}")

    def _receive(
        self,
        response: httpx.Response,
        to: Path,
        held: int,
        told: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Write a body behind the ``held`` bytes of a file."""
        length = response.headers.get("content-length", "")
        if not length.isdecimal() or response.headers.get("content-encoding"):
            raise ReplicaError(f"{self.url} does not say how long its answer is")
        free = shutil.disk_usage(to.parent).free
        if free < int(length) + SPARE_BYTES:
            raise NoRoomError(
                f"{int(length):,} bytes are to come and {free:,} are free in {to.parent}"
            )
        started, received = self._clock(), 0
        with to.open("r+b" if held else "wb") as file:
            file.truncate(held)
            file.seek(held)
            for piece in response.iter_raw():
                received += len(piece)
                file.write(piece)
                told(held + received)
                if self._stopped():
                    raise ReplicaError("stopped")
                if self._clock() - started > GRACE_SECONDS + received / LEAST_RATE:
                    raise ReplicaError(f"{self.url} sends less than {LEAST_RATE:,} bytes a second")

    def _check(self, response: httpx.Response, path: Path) -> None:
        """Whether a file is what the writer sent."""
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").digest()
        wanted = f"sha-256=:{base64.b64encode(found).decode()}:"
        if response.headers.get("repr-digest") != wanted:
            raise ReplicaError(f"what {self.url} sent is damaged: its digest is another")


def _detail(response: httpx.Response) -> str:
    """What a problem says of itself; else what its status means."""
    try:
        body = httpx.Response(_OK, content=_bounded(response, _PROBLEM_BYTES))
        return str(body.json()["detail"])
    except (ValueError, KeyError, TypeError, ReplicaError):
        return response.reason_phrase


def _goes_on(response: httpx.Response, held: int) -> bool:
    told: str = response.headers.get("content-range", "")
    return told.startswith(f"bytes {held}-")


def _generation(response: httpx.Response) -> int:
    text = response.headers.get("tidegraph-generation", "")
    if not text.isdecimal():
        raise ReplicaError("the answer does not say to which generation it leads")
    return int(text)


def _bounded(response: httpx.Response, most: int) -> bytes:
    body = b""
    for piece in response.iter_raw():
        body += piece
        if len(body) > most:
            raise ReplicaError(f"an answer exceeds {most:,} bytes")
    return body
