"""The twin of a writer's store on another host: the one process that changes it, step by step.

A step asks for what changed since the generation that is here, and takes it in one transaction.
Where that does not lead on, a whole copy is fetched, checked, and put in the store's place by its
name; readers go on with the former one meanwhile. A process may end at any moment.
"""

import os
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from index.analysis.fingerprint import Fingerprint
from index.errors import StoreError
from index.replica.apply import apply
from index.replica.errors import CheckpointNeededError, OtherAnalyzerError, ReplicaError
from index.replica.mark import Mark, mark_of, newest
from index.replica.remote import Remote, RemoteState
from index.store import meta
from index.store.connection import (
    SCHEMA_VERSION,
    STORE_NAME,
    next_name,
    open_readonly,
    open_writable,
    remove_store,
    remove_unused,
    store_path,
    switch_store,
    translated,
)
from index.store.lock import FOLLOWS_NAME, WriterLock, followed
from index.store.work import remove_abandoned

INCOMING_NAME = "incoming.db"
GIVEN_NAME = "incoming-changes.db"
REMOVED_AFTER = 60.0
"""Seconds that a store which was replaced stays for readers that are just about to open it."""


@dataclass(frozen=True, slots=True)
class Step:
    """What a step did: ``changes``, ``checkpoint`` or ``level`` (nothing was new).

    ``generation``: that of the store after it. ``bytes``: received. ``why``: what made a whole copy
    necessary.
    """

    kind: str
    generation: int
    bytes: int = 0
    seconds: float = 0.0
    why: str = ""


@dataclass(frozen=True, slots=True)
class Fetching:
    """A whole copy of about so many bytes is about to come; ``why`` it is necessary."""

    bytes: int
    why: str


class Replica:
    """A data directory that follows a writer; one thread takes steps.

    For other threads to look at: ``newest``, the writer's newest generation as far as it is known;
    ``fetching``, whether a whole copy is on its way; ``received``, its bytes so far.
    """

    def __init__(
        self, directory: Path, lock: WriterLock, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._directory = directory
        self._lock = lock
        self._clock = clock
        self._replaced: list[tuple[float, Path]] = []
        self._wanted = ""
        self.received = 0
        self.newest: int | None = None
        self.fetching = False

    @classmethod
    def open(cls, directory: Path, address: str) -> "Replica":
        """Take a directory for a follower: an empty one, or one that followed before.

        Raises ``StoreLockedError`` (another process writes or follows there) or ``StoreError``
        (it holds an index of its own).
        """
        lock = WriterLock(directory)
        lock.acquire(follows=True)
        try:
            _check_free(directory)
            with translated(directory):
                _write_whole(directory / FOLLOWS_NAME, address)
                _remove_left_over(directory)
                if store_path(directory).exists():
                    open_writable(store_path(directory)).close()  # to the present schema
            return cls(directory, lock)
        except BaseException:
            lock.release()
            raise

    def mark(self) -> Mark | None:
        """Where the store stands; None where there is none."""
        path = store_path(self._directory)
        if not path.exists():
            return None
        with closing(open_readonly(path)) as connection, translated(path):
            return mark_of(connection, newest(connection))

    def fits(self, fingerprint: Fingerprint) -> bool:
        """Whether there is a store of an analyzer."""
        path = store_path(self._directory)
        if not path.exists():
            return False
        with closing(open_readonly(path)) as connection, translated(path):
            return meta.stored_fingerprint(connection) == fingerprint

    def step(
        self,
        remote: Remote,
        fingerprint: Fingerprint,
        told: Callable[[Fetching], None] = lambda _: None,
    ) -> Step:
        """One step towards the writer's newest generation; ``told`` before a whole copy is fetched.

        Raises ``ReplicaError`` (``OtherAnalyzerError`` where the writer's store is none for this
        ``fingerprint`` and release) or ``StoreError``; the store is then as it was.
        """
        started = self._clock()
        self._remove_replaced()
        mark = self.mark()
        if mark is not None and not self._wanted and self.fits(fingerprint):
            try:
                step = self._follow(remote, mark, started)
            except CheckpointNeededError as error:
                self._wanted = str(error)
            else:
                self._drop_unwanted()
                return step
        why = self._wanted or "there is no store yet"
        self.fetching = True
        try:
            state = self._checked(remote, fingerprint)
            told(Fetching(state.store_bytes, why))
            self._fetch(remote, -1 if mark is None else mark.generation, fingerprint)
        finally:
            self.fetching = False
        now = self.mark()
        generation = 0 if now is None else now.generation
        seconds = self._clock() - started
        return Step("checkpoint", generation, self.received, seconds, why)

    def close(self) -> None:
        """Give the directory up."""
        for _, path in self._replaced:
            remove_store(path)
        self._lock.release()

    def _follow(self, remote: Remote, mark: Mark, started: float) -> Step:
        path = self._directory / GIVEN_NAME
        try:
            told = remote.changes(mark, path)
            if told is None:
                self.newest = mark.generation
                return Step("level", mark.generation)
            self.newest = told
            size = path.stat().st_size
            after = apply(store_path(self._directory), path)
        finally:
            path.unlink(missing_ok=True)
        return Step("changes", after.head.generation, size, self._clock() - started)

    def _checked(self, remote: Remote, fingerprint: Fingerprint) -> RemoteState:
        """Where the writer stands, once what it has is found to be answerable here."""
        state = remote.state()
        self.newest = state.mark.generation
        _check_state(state.schema, state.fingerprint, fingerprint)
        return state

    def _fetch(self, remote: Remote, above: int, fingerprint: Fingerprint) -> None:
        """Fetch a whole copy and put it in force."""
        self.received = 0
        path = self._directory / INCOMING_NAME
        for suffix in (
            "-journal",
            "-wal",
            "-shm",
        ):  # of one that was killed here: they are not this copy's
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        remote.checkpoint(above, path, self._told)
        with translated(path):
            self._install(path, fingerprint)
        self._wanted = ""

    def _told(self, received: int) -> None:
        self.received = received

    def _install(self, path: Path, fingerprint: Fingerprint) -> None:
        with closing(open_readonly(path)) as connection:
            meta.check_integrity(connection, path)
            stored = meta.stored_fingerprint(connection)
        if stored != fingerprint:
            path.unlink()
            raise OtherAnalyzerError("the copy that came is of another analyzer")
        before = store_path(self._directory)
        open_writable(path).close()  # to write-ahead mode, which must not wait for readers later
        _to_disk(path)
        name = next_name(before) if before.exists() else STORE_NAME
        path.replace(self._directory / name)
        _to_disk(self._directory)
        if before.exists() and name != before.name:
            switch_store(self._directory, name)
            self._replaced.append((self._clock(), before))

    def _drop_unwanted(self) -> None:
        """Remove the part of a copy that a process began which was killed; changes lead on."""
        with translated(self._directory):
            for path in self._directory.glob(f"{INCOMING_NAME}*"):
                path.unlink()

    def _remove_replaced(self) -> None:
        due = [one for one in self._replaced if self._clock() - one[0] > REMOVED_AFTER]
        for one in due:
            remove_store(one[1])
            self._replaced.remove(one)


def promote(directory: Path) -> str:
    """Make a follower's directory one that is written here; returns whom it followed.

    The writer that it followed must have ended for good: from here on there are two histories.
    Raises ``StoreLockedError`` while the follower runs, ``StoreError`` where there is none.
    """
    address = followed(directory)
    if address is None or not store_path(directory).exists():
        raise StoreError(f"{directory} is no follower's: there is nothing to promote")
    lock = WriterLock(directory)
    lock.acquire(follows=True)
    try:
        with translated(directory):
            _remove_left_over(directory)
            (directory / FOLLOWS_NAME).unlink()
    finally:
        lock.release()
    return address


def _check_state(schema: int, told: str, fingerprint: Fingerprint) -> None:
    if schema != SCHEMA_VERSION:
        raise OtherAnalyzerError(
            f"the writer's store has schema {schema}, this release follows {SCHEMA_VERSION}: "
            "bring both hosts to one release"
        )
    try:
        stored = Fingerprint.from_json(told)
    except ValueError as error:
        raise ReplicaError(f"the writer does not tell its analyzer: {error}") from error
    if stored != fingerprint:
        raise OtherAnalyzerError(
            "the writer's store was built with another analyzer than this host's settings name: "
            + "; ".join(stored.differences(fingerprint))
            + ". Start this follower anew with the writer's settings"
        )


def _check_free(directory: Path) -> None:
    if followed(directory) is None and store_path(directory).exists():
        raise StoreError(
            f"{directory} holds an index of its own, which a follower would replace; "
            "choose an empty directory with --data"
        )


def _remove_left_over(directory: Path) -> None:
    """Remove what a process that was killed has left: changes half taken, stores out of force.

    A checkpoint that came in part is kept: the next transfer goes on from there.
    """
    for path in directory.glob(f"{GIVEN_NAME}*"):
        path.unlink()
    remove_abandoned(directory)
    remove_unused(directory)


def _write_whole(path: Path, text: str) -> None:
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(text, "utf-8")
    fresh.replace(path)


def _to_disk(path: Path) -> None:
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
