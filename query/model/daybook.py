"""What models have cost, day by day, in ``questions.db``: query's own store, not the index's."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from query.model.calls import ModelError
from query.model.spending import Spent

FILE = "questions.db"

_SCHEMA = """
CREATE TABLE IF NOT EXISTS spending (
    day TEXT NOT NULL, role TEXT NOT NULL, model TEXT NOT NULL,
    calls INTEGER NOT NULL, prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL,
    money REAL NOT NULL,
    PRIMARY KEY (day, role, model)
) STRICT
"""
_PAYERS = """
CREATE TABLE IF NOT EXISTS spending_by_payer (
    day TEXT NOT NULL, payer TEXT NOT NULL, tokens INTEGER NOT NULL, money REAL NOT NULL,
    PRIMARY KEY (day, payer)
) STRICT
"""
_ADD = """
INSERT INTO spending VALUES (?, ?, ?, 1, ?, ?, ?)
ON CONFLICT DO UPDATE SET calls = calls + 1,
    prompt_tokens = prompt_tokens + excluded.prompt_tokens,
    completion_tokens = completion_tokens + excluded.completion_tokens,
    money = money + excluded.money
"""
_ADD_PAYER = """
INSERT INTO spending_by_payer VALUES (?, ?, ?, ?)
ON CONFLICT DO UPDATE SET tokens = tokens + excluded.tokens, money = money + excluded.money
"""
_OF_PAYER = "SELECT tokens, money FROM spending_by_payer WHERE day = ? AND payer = ?"
_TOTAL = """
SELECT coalesce(sum(prompt_tokens + completion_tokens), 0), coalesce(sum(money), 0.0)
FROM spending WHERE day = ?
"""


def utc() -> datetime:
    """Now."""
    return datetime.now(UTC)


class DayBook:
    """Adds calls up by UTC day, over all processes of a data directory; for several threads.

    A row's ``money`` counts what had a price. Raises ``ModelError`` where it cannot be kept.
    """

    def __init__(self, directory: Path, now: Callable[[], datetime] = utc) -> None:
        self._path = directory / FILE
        self._now = now
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def add(self, spent: Spent) -> None:
        """Note a call."""
        cost = spent.cost
        row = (self._day(), spent.role.value, spent.model, cost.prompt_tokens)
        with self._opened() as connection, connection:
            connection.execute(_ADD, (*row, cost.completion_tokens, cost.money or 0.0))
            if spent.payer:
                of_payer = (row[0], spent.payer, cost.tokens, cost.money or 0.0)
                connection.execute(_ADD_PAYER, of_payer)

    def today(self) -> tuple[int, float]:
        """Tokens and money of the day so far."""
        with self._opened() as connection:
            tokens, money = connection.execute(_TOTAL, (self._day(),)).fetchone()
        return int(tokens), float(money)

    def today_of(self, payer: str) -> tuple[int, float]:
        """Tokens and money that a payer has spent today."""
        with self._opened() as connection:
            found = connection.execute(_OF_PAYER, (self._day(), payer)).fetchone()
        return (int(found[0]), float(found[1])) if found else (0, 0.0)

    def close(self) -> None:
        """Close the store."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _day(self) -> str:
        return f"{self._now():%Y-%m-%d}"

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._lock:
                if self._connection is None:
                    self._connection = _opened(self._path)
                yield self._connection
        except sqlite3.Error as error:
            raise ModelError(f"what it costs cannot be noted in {self._path}: {error}") from error


def _opened(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=10, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(_SCHEMA)
    connection.execute(_PAYERS)
    return connection
