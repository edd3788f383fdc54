"""What is remembered of feeds: a small database of its own beside the store, ``feeds.db``."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from stream.errors import FeedError
from stream.feeds.fetch import Validators
from stream.feeds.parse import Entry

FEEDS_NAME = "feeds.db"
SCHEMA_VERSION = 1
APPLICATION = 0x54474644
"""Stands in the file's header, so that another database is not taken for this ("TGFD")."""
SEEN_KEPT = 20_000
"""Entries remembered for a feed, those longest gone from it forgotten first."""

_SCHEMA = """
CREATE TABLE feeds (
    url TEXT PRIMARY KEY,
    title TEXT NOT NULL DEFAULT '',
    etag TEXT NOT NULL DEFAULT '',
    last_modified TEXT NOT NULL DEFAULT '',
    polled REAL,
    succeeded REAL,
    next_poll REAL NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    problem TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE TABLE seen (
    feed TEXT NOT NULL REFERENCES feeds(url) ON DELETE CASCADE,
    id TEXT NOT NULL,
    hash BLOB NOT NULL,
    link TEXT NOT NULL,
    present REAL NOT NULL,
    PRIMARY KEY (feed, id)
) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class FeedState:
    """A feed on the list. Times are seconds since 1970, None for never.

    ``succeeded`` is the last poll that gave a feed or "not modified"; until there is one, the
    next is backfill. ``failures`` counts polls in a row that failed, ``problem`` says how the
    last one did, or what is wrong with a feed that could be read all the same.
    """

    url: str
    title: str
    validators: Validators
    polled: float | None
    succeeded: float | None
    next_poll: float
    failures: int
    problem: str


@dataclass(frozen=True, slots=True)
class Seen:
    """An entry that was published: the hash of what was said, and its link."""

    hash: bytes
    link: str


def document_id(entry: Entry, seen: Mapping[str, Seen]) -> str:
    """The id that an entry is published under, which lasts while GUIDs come to be shared or not.

    An entry is known by its GUID alone, unless another of the same feed and another link has the
    same one; then by GUID and link. What was published keeps its id in both cases.
    """
    if entry.paired_id in seen:
        return entry.paired_id
    if not entry.shared:
        return entry.guid_id
    known = seen.get(entry.guid_id)
    return entry.guid_id if known is not None and known.link == entry.url else entry.paired_id


class FeedStore:
    """The list of feeds and what was seen of each. Belongs to one thread; files may be shared."""

    def __init__(self, path: Path) -> None:
        """Open or create. Raises ``FeedError``."""
        self._path = path
        with self._translated():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, isolation_level=None, timeout=10.0)
            self._open()

    def _open(self) -> None:
        run = self._connection.execute
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA foreign_keys = ON")
        with self._transaction():
            version = run("PRAGMA user_version").fetchone()[0]
            if version == 0 and not run("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                for statement in _SCHEMA.split(";"):
                    run(statement)
                run(f"PRAGMA application_id = {APPLICATION}")
                run(f"PRAGMA user_version = {SCHEMA_VERSION}")
                return
        if run("PRAGMA application_id").fetchone()[0] != APPLICATION:
            raise FeedError(f"{self._path} is no list of feeds; move it away")
        if version > SCHEMA_VERSION:
            raise FeedError(f"{self._path} was written by a newer release; use that one")

    def close(self) -> None:
        """Give the file back; again is harmless."""
        self._connection.close()

    def add(self, url: str) -> bool:
        """Put a feed on the list; False where it stands there."""
        with self._translated(), self._transaction():
            made = self._connection.execute(
                "INSERT INTO feeds (url) VALUES (?) ON CONFLICT DO NOTHING", (url,)
            )
            return made.rowcount > 0

    def remove(self, url: str) -> bool:
        """Take a feed off the list and forget it; False where it is not there."""
        with self._translated(), self._transaction():
            gone = self._connection.execute("DELETE FROM feeds WHERE url = ?", (url,))
            return gone.rowcount > 0

    def feeds(self) -> list[FeedState]:
        """All feeds, by address."""
        with self._translated():
            rows = self._connection.execute(
                "SELECT url, title, etag, last_modified, polled, succeeded, next_poll, failures, "
                "problem FROM feeds ORDER BY url"
            ).fetchall()
        return [
            FeedState(url, title, Validators(etag, modified), *rest)
            for url, title, etag, modified, *rest in rows
        ]

    def seen(self, url: str) -> dict[str, Seen]:
        """What was published of a feed, by document id."""
        with self._translated():
            rows = self._connection.execute(
                "SELECT id, hash, link FROM seen WHERE feed = ?", (url,)
            ).fetchall()
        return {identity: Seen(digest, link) for identity, digest, link in rows}

    def save(self, state: FeedState, present: Iterable[tuple[str, Seen]] = ()) -> None:
        """Keep the state after a poll, with the entries that the feed had; all of it or nothing.

        A feed that was taken off the list meanwhile stays off it.
        """
        with self._translated(), self._transaction():
            updated = self._connection.execute(
                "UPDATE feeds SET title = ?, etag = ?, last_modified = ?, polled = ?, "
                "succeeded = ?, next_poll = ?, failures = ?, problem = ? WHERE url = ?",
                (
                    state.title,
                    state.validators.etag,
                    state.validators.last_modified,
                    state.polled,
                    state.succeeded,
                    state.next_poll,
                    state.failures,
                    state.problem,
                    state.url,
                ),
            )
            if updated.rowcount:
                self._remember(state, present)

    def _remember(self, state: FeedState, present: Iterable[tuple[str, Seen]]) -> None:
        self._connection.executemany(
            "INSERT OR REPLACE INTO seen (feed, id, hash, link, present) VALUES (?, ?, ?, ?, ?)",
            [(state.url, key, one.hash, one.link, state.polled) for key, one in present],
        )
        self._connection.execute(
            "DELETE FROM seen WHERE feed = ? AND id NOT IN "
            "(SELECT id FROM seen WHERE feed = ? ORDER BY present DESC LIMIT ?)",
            (state.url, state.url, SEEN_KEPT),
        )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise FeedError(f"cannot use {self._path}: {error}") from error
        except OSError as error:
            raise FeedError(f"cannot use {self._path}: {error.strerror or error}") from error
