"""What a model has judged already, in ``questions.db``: query's own store, not the index's.

A verdict is remembered by (subquery, chunk, assessor). The subquery counts as the same where it is
equal but for case, white space and final punctuation: anything looser would answer one question by
the verdicts on another. The chunk is known by what the model is shown of it, title and sentences,
so that a chunk that changed is tested anew and one that only moved is not. The assessor is the
model's name with the rules that it was given. Refinements are remembered alike, by question, since
other subqueries would find no verdict.
"""

import sqlite3
import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

import orjson

from query.assessor import Candidate, Verdict
from query.model.daybook import FILE
from query.model.refine import Refined

T = TypeVar("T")

MOST_VERDICTS = 500_000
"""Verdicts kept, the oldest leave first; about 60 MB."""
MOST_REFINEMENTS = 20_000

_SCHEMA = """
CREATE TABLE IF NOT EXISTS verdicts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    asked BLOB NOT NULL, chunk BLOB NOT NULL, score REAL NOT NULL, relevant INTEGER NOT NULL,
    sentences TEXT NOT NULL, UNIQUE (asked, chunk)
) STRICT;
CREATE TABLE IF NOT EXISTS refinements (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    asked BLOB NOT NULL UNIQUE, refined TEXT NOT NULL
) STRICT;
"""
_GET = "SELECT score, relevant, sentences FROM verdicts WHERE asked = ? AND chunk = ?"
_PUT = (
    "INSERT OR REPLACE INTO verdicts (asked, chunk, score, relevant, sentences)"
    " VALUES (?, ?, ?, ?, ?)"
)
_GET_REFINED = "SELECT refined FROM refinements WHERE asked = ?"
_PUT_REFINED = "INSERT OR REPLACE INTO refinements (asked, refined) VALUES (?, ?)"
_TRIM = "DELETE FROM {0} WHERE id <= (SELECT seq FROM sqlite_sequence WHERE name = '{0}') - ?"
_ENDING = "?!.;,: "


class Memory:
    """Verdicts and refinements of all questions of a data directory; for several threads.

    It is a help and no truth: where the store cannot be read or written nothing is remembered,
    ``lost`` is set until it works again, and the model is asked.

    Args:
        directory: The data directory.
        tests: Names who tests: the model and its rules.
        answers: Names who refines.
        most: Verdicts kept at most.
    """

    def __init__(
        self, directory: Path, *, tests: str, answers: str, most: int = MOST_VERDICTS
    ) -> None:
        self._path = directory / FILE
        self._tests = tests
        self._answers = answers
        self._most = most
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self.lost = False

    def verdicts(self, subquery: str, chunks: Sequence[Candidate]) -> dict[int, Verdict]:
        """What is remembered of some chunks, by slot."""
        asked = _key(self._tests, subquery)
        return self._try(lambda db: dict(_remembered(db, asked, chunks)), {})

    def keep(
        self, subquery: str, chunks: Iterable[Candidate], verdicts: Mapping[int, Verdict]
    ) -> None:
        """Remember verdicts, by slot, on the chunks that have one."""
        asked = _key(self._tests, subquery)
        rows = [
            _row(asked, chunk, verdicts[chunk.slot]) for chunk in chunks if chunk.slot in verdicts
        ]

        def put(db: sqlite3.Connection) -> None:
            db.executemany(_PUT, rows)
            db.execute(_TRIM.format("verdicts"), (self._most,))

        if rows:
            self._try(put, None)

    def refinement(self, question: str, *, lite: bool = False) -> Refined | None:
        """The subqueries that a question was given; ``lite``: by the model that tests."""
        asked = _key(self._tests if lite else self._answers, question)
        row = self._try(lambda db: db.execute(_GET_REFINED, (asked,)).fetchone(), None)
        if row is None:
            return None
        *subqueries, expanded = orjson.loads(row[0])
        return Refined(tuple(subqueries), expanded)

    def keep_refinement(self, question: str, refined: Refined, *, lite: bool = False) -> None:
        """Remember the subqueries of a question."""
        asked = _key(self._tests if lite else self._answers, question)
        text = orjson.dumps([*refined.subqueries, refined.expanded]).decode()

        def put(db: sqlite3.Connection) -> None:
            db.execute(_PUT_REFINED, (asked, text))
            db.execute(_TRIM.format("refinements"), (MOST_REFINEMENTS,))

        self._try(put, None)

    def close(self) -> None:
        """Close the store."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _try(self, work: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        try:
            with self._opened() as connection, connection:
                done = work(connection)
        except sqlite3.Error:
            self.lost = True
            return otherwise
        self.lost = False
        return done

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            if self._connection is None:
                self._connection = sqlite3.connect(self._path, timeout=5, check_same_thread=False)
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.execute("PRAGMA synchronous = NORMAL")
                self._connection.executescript(_SCHEMA)
            yield self._connection


def normalised(text: str) -> str:
    """A subquery without what does not change it: case, white space, final punctuation."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).rstrip(_ENDING)


def _key(who: str, text: str) -> bytes:
    return blake2b(orjson.dumps([who, normalised(text)]), digest_size=16).digest()


def chunk_hash(chunk: Candidate) -> bytes:
    """Sixteen bytes over what a model is shown of a chunk."""
    body = [chunk.title, [chunk.text[start:end] for start, end in chunk.sentences]]
    return blake2b(orjson.dumps(body), digest_size=16).digest()


def _remembered(
    db: sqlite3.Connection, asked: bytes, chunks: Iterable[Candidate]
) -> Iterator[tuple[int, Verdict]]:
    for chunk in chunks:
        row = db.execute(_GET, (asked, chunk_hash(chunk))).fetchone()
        if row is not None:
            score, relevant, sentences = row
            yield (
                chunk.slot,
                Verdict(chunk.slot, score, bool(relevant), tuple(orjson.loads(sentences))),
            )


def _row(asked: bytes, chunk: Candidate, verdict: Verdict) -> tuple[bytes, bytes, float, int, str]:
    sentences = orjson.dumps(list(verdict.sentences)).decode()
    return asked, chunk_hash(chunk), verdict.score, int(bool(verdict.relevant)), sentences
