"""Standing questions in ``questions.db``, query's own store; one process runs them at a time.

Any process of a data directory may create, pause and remove them; what an asking leaves, its
update and what is to be delivered are written in one transaction.
"""

import fcntl
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import orjson
from pydantic import TypeAdapter

from index.types import Millis
from query.model.daybook import FILE
from query.standing.recall import Remembered
from query.standing.types import (
    Channel,
    Interest,
    Standing,
    StandingSettings,
    StandingStoreError,
    State,
    Terms,
    TooManyStandingError,
    UnknownStandingError,
    Update,
)

LEASE = "standing.lock"

_SCHEMA = """
CREATE TABLE IF NOT EXISTS standing (
    id TEXT PRIMARY KEY, created_at INTEGER NOT NULL, paused INTEGER NOT NULL,
    due INTEGER NOT NULL, secret TEXT NOT NULL, updates INTEGER NOT NULL,
    undelivered TEXT NOT NULL, terms BLOB NOT NULL, interest BLOB NOT NULL, state BLOB NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS standing_updates (
    id TEXT NOT NULL REFERENCES standing ON DELETE CASCADE, number INTEGER NOT NULL,
    body BLOB NOT NULL, PRIMARY KEY (id, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS standing_deliveries (
    id TEXT NOT NULL, number INTEGER NOT NULL, channel TEXT NOT NULL,
    attempts INTEGER NOT NULL, next_at INTEGER NOT NULL, PRIMARY KEY (channel, id, number),
    FOREIGN KEY (id, number) REFERENCES standing_updates ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS standing_verdicts (
    id TEXT NOT NULL REFERENCES standing ON DELETE CASCADE, key BLOB NOT NULL,
    asked INTEGER NOT NULL, verdict BLOB NOT NULL, PRIMARY KEY (id, key)
) STRICT, WITHOUT ROWID;
"""
_COLUMNS = "id, terms, created_at, paused, secret, updates, state, undelivered"
_TERMS, _INTEREST, _STATE = TypeAdapter(Terms), TypeAdapter(Interest), TypeAdapter(State)
_UPDATE, _VERDICT = TypeAdapter(Update), TypeAdapter(Remembered)


@dataclass(frozen=True, slots=True)
class Delivery:
    """An update on its way to one channel; ``attempts`` were made in vain."""

    update: Update
    channel: Channel
    attempts: int
    webhook: str
    secret: str


class StandingStore:
    """Safe to use from several threads, and beside other processes.

    Raises ``StandingStoreError`` where the file cannot be read or written.
    """

    def __init__(self, directory: Path, settings: StandingSettings | None = None) -> None:
        self.settings = settings or StandingSettings()
        self._directory = directory
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._lease: IO[str] | None = None
        self._closed = False

    def create(self, name: str, terms: Terms, secret: str, now: Millis) -> Standing:
        """Keep a new question; raises ``TooManyStandingError``."""
        empty = orjson.dumps(State())
        row = (name, now, secret, orjson.dumps(terms), _json(Interest()), empty)
        with self._writing() as connection:
            (count,) = connection.execute("SELECT count(*) FROM standing").fetchone()
            if count >= self.settings.most:
                raise TooManyStandingError(
                    f"There are {count} standing questions, as many as are allowed: remove one."
                )
            connection.execute("INSERT INTO standing VALUES (?, ?, 0, 1, ?, 0, '', ?, ?, ?)", row)
        return self.get(name)

    def all(self) -> list[Standing]:
        """All of them, oldest first."""
        rows = self._rows(f"SELECT {_COLUMNS} FROM standing ORDER BY created_at, id")
        return [_standing(row) for row in rows]

    def get(self, name: str) -> Standing:
        """One of them; raises ``UnknownStandingError``."""
        rows = self._rows(f"SELECT {_COLUMNS} FROM standing WHERE id = ?", name)
        if not rows:
            raise UnknownStandingError(f"There is no standing question {name[:40]!r}.")
        return _standing(rows[0])

    def pause(self, name: str, *, paused: bool) -> Standing:
        """Pause or resume; one that is resumed is asked anew."""
        with self._writing() as connection:
            connection.execute(
                "UPDATE standing SET paused = ?, due = due OR NOT ? WHERE id = ?",
                (paused, paused, name),
            )
        return self.get(name)

    def remove(self, name: str) -> None:
        """Forget a question and all that was kept of it; raises ``UnknownStandingError``."""
        with self._writing() as connection:
            gone = connection.execute("DELETE FROM standing WHERE id = ?", (name,)).rowcount
        if not gone:
            raise UnknownStandingError(f"There is no standing question {name[:40]!r}.")

    def updates(self, name: str, *, after: int = 0, limit: int = 100) -> list[Update]:
        """Updates with a larger number, oldest first."""
        rows = self._rows(
            "SELECT body FROM standing_updates WHERE id = ? AND number > ? ORDER BY number LIMIT ?",
            name,
            after,
            limit,
        )
        return [_UPDATE.validate_json(body) for (body,) in rows]

    def interests(self) -> list[tuple[str, Interest]]:
        """What wakes those that are neither paused nor due already."""
        rows = self._rows("SELECT id, interest FROM standing WHERE NOT paused AND NOT due")
        return [(name, _INTEREST.validate_json(body)) for name, body in rows]

    def wake(self, names: Sequence[str]) -> None:
        """Have questions asked again."""
        with self._writing() as connection:
            connection.executemany(
                "UPDATE standing SET due = 1 WHERE id = ?", [(name,) for name in names]
            )

    def due(self) -> list[Standing]:
        """Those to be asked, the longest unasked first."""
        rows = self._rows(f"SELECT {_COLUMNS} FROM standing WHERE due AND NOT paused")
        found = [_standing(row) for row in rows]
        return sorted(found, key=lambda one: (one.state.asked_at, one.created_at, one.id))

    def verdicts(self, name: str) -> dict[bytes, Remembered]:
        """The verdicts of former askings."""
        rows = self._rows("SELECT key, verdict FROM standing_verdicts WHERE id = ?", name)
        return {key: _VERDICT.validate_json(body) for key, body in rows}

    def asked(
        self,
        before: Standing,
        state: State,
        *,
        interest: Interest | None,
        update: Update | None,
        verdicts: Mapping[bytes, Remembered],
        due: bool,
    ) -> None:
        """Keep what an asking left; a question that was removed meanwhile stays removed.

        Without an ``interest`` the former one stays.
        """
        name = before.id
        with self._writing() as connection:
            kept = connection.execute(
                "UPDATE standing SET state = ?, due = ? WHERE id = ?",
                (orjson.dumps(state), due, name),
            ).rowcount
            if not kept:
                return
            if interest is not None:
                body = _json(interest)
                connection.execute("UPDATE standing SET interest = ? WHERE id = ?", (body, name))
            self._remember(connection, name, verdicts, state.asked_at)
            if update is not None:
                self._publish(connection, before, update)

    def _remember(
        self,
        connection: sqlite3.Connection,
        name: str,
        verdicts: Mapping[bytes, Remembered],
        now: Millis,
    ) -> None:
        connection.executemany(
            "INSERT OR REPLACE INTO standing_verdicts VALUES (?, ?, ?, ?)",
            [(name, key, now, orjson.dumps(verdict)) for key, verdict in verdicts.items()],
        )
        connection.execute(
            "DELETE FROM standing_verdicts WHERE id = ? AND key IN (SELECT key FROM"
            " standing_verdicts WHERE id = ? ORDER BY asked DESC, key LIMIT -1 OFFSET ?)",
            (name, name, self.settings.verdicts),
        )

    def _publish(self, connection: sqlite3.Connection, before: Standing, update: Update) -> None:
        name, number = update.id, update.number
        connection.execute("UPDATE standing SET updates = ? WHERE id = ?", (number, name))
        connection.execute(
            "INSERT INTO standing_updates VALUES (?, ?, ?)", (name, number, _json(update))
        )
        channels = [Channel.TOPIC] * self.settings.topic
        channels += [Channel.WEBHOOK] * bool(before.terms.webhook)
        connection.executemany(
            "INSERT INTO standing_deliveries VALUES (?, ?, ?, 0, ?)",
            [(name, number, channel.value, update.at) for channel in channels],
        )
        connection.execute(
            "DELETE FROM standing_updates WHERE id = ? AND number <= ?",
            (name, number - self.settings.history),
        )

    def deliveries(self, now: Millis) -> list[Delivery]:
        """The oldest update of each question and channel that is to be delivered now."""
        rows = self._rows(
            "SELECT d.channel, d.attempts, u.body, s.terms, s.secret"
            " FROM standing_deliveries d JOIN standing_updates u USING (id, number)"
            " JOIN standing s USING (id) WHERE d.next_at <= ? AND d.number ="
            " (SELECT min(number) FROM standing_deliveries WHERE channel = d.channel"
            " AND id = d.id) ORDER BY d.next_at",
            now,
        )
        return [
            Delivery(
                _UPDATE.validate_json(body),
                Channel(channel),
                attempts,
                _TERMS.validate_json(terms).webhook,
                secret,
            )
            for channel, attempts, body, terms, secret in rows
        ]

    def delivered(self, delivery: Delivery, *, problem: str = "") -> None:
        """Strike a delivery off: it arrived, or where there is a problem was given up."""
        update, channel = delivery.update, delivery.channel
        with self._writing() as connection:
            connection.execute(
                "DELETE FROM standing_deliveries WHERE channel = ? AND id = ? AND number = ?",
                (channel.value, update.id, update.number),
            )
            self._note(connection, delivery, problem)

    def deferred(self, delivery: Delivery, next_at: Millis, problem: str) -> None:
        """Try a delivery again later."""
        update, channel = delivery.update, delivery.channel
        with self._writing() as connection:
            connection.execute(
                "UPDATE standing_deliveries SET attempts = attempts + 1, next_at = ?"
                " WHERE channel = ? AND id = ? AND number = ?",
                (next_at, channel.value, update.id, update.number),
            )
            self._note(connection, delivery, problem)

    def _note(self, connection: sqlite3.Connection, delivery: Delivery, problem: str) -> None:
        connection.execute(
            "UPDATE standing SET undelivered = ? WHERE id = ?", (problem, delivery.update.id)
        )

    def lease(self) -> bool:
        """Whether this process runs the questions: it does from the first success to ``close``.

        An operating-system lock, which dies with its process.
        """
        if self._lease is not None:
            return True
        try:
            file = (self._directory / LEASE).open("a+", encoding="utf-8")
        except OSError as error:
            raise StandingStoreError(f"{self._directory} cannot be written: {error}") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            return False
        self._lease = file
        return True

    @property
    def leased(self) -> bool:
        """Whether this process has the lease."""
        return self._lease is not None

    def close(self) -> None:
        """Close the store and give the lease back; again is harmless."""
        with self._lock:
            self._closed = True
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            if self._lease is not None:
                self._lease.close()
                self._lease = None

    def _rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with self._opened() as connection:
            return connection.execute(sql, values).fetchall()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._opened() as connection, connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        path = self._directory / FILE
        try:
            with self._lock:
                if self._closed:
                    raise StandingStoreError("the store of the standing questions is closed")
                if self._connection is None:
                    self._connection = _opened(path)
                yield self._connection
        except sqlite3.Error as error:
            raise StandingStoreError(f"{path} cannot be used: {error}") from error


def _opened(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=10, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.executescript(_SCHEMA)
    return connection


def _standing(row: tuple[Any, ...]) -> Standing:
    name, terms, created_at, paused, secret, updates, state, undelivered = row
    return Standing(
        name,
        _TERMS.validate_json(terms),
        Millis(created_at),
        bool(paused),
        secret,
        updates,
        _STATE.validate_json(state),
        undelivered,
    )


def _json(value: object) -> bytes:
    return orjson.dumps(value, default=_sorted)


def _sorted(value: object) -> list[Any]:
    if isinstance(value, frozenset):
        return sorted(value)
    raise TypeError(type(value).__name__)
