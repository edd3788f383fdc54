"""Dead letters: listed from the store, replayed by publishing them to the topic again."""

import base64
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from deploy.assembly import streams
from deploy.errors import UsageError
from deploy.settings import Settings
from index.store import dead_letters
from index.store.connection import open_readonly, store_path, translated
from index.store.dead_letters import DeadLetter
from index.types import Reason, from_millis
from stream.dead_letters import DeadLetter as StreamLetter
from stream.dead_letters import ReplayReport
from stream.dead_letters import replay as replay_letters
from stream.log_retention import list_topics


def find(
    directory: Path,
    *,
    ids: Sequence[int] | None = None,
    reason: str | None = None,
    after: int = 0,
    limit: int = 50,
) -> list[DeadLetter]:
    """The dead letters asked for, oldest first. Raises ``UsageError`` for an id that is none."""
    with closing(_open(directory)) as connection, translated(store_path(directory)):
        if not ids:
            return dead_letters.read(connection, after=after, limit=limit, reason=reason)
        found = dead_letters.by_ids(connection, ids)
    missing = set(ids) - {letter.id for letter in found}
    if missing:
        raise UsageError(f"no dead letter has the id {', '.join(map(str, sorted(missing)))}")
    return found


def summary(directory: Path) -> str:
    """How many there are for each reason."""
    with closing(_open(directory)) as connection, translated(store_path(directory)):
        counts = dead_letters.counts(connection)
    if not counts:
        return "no dead letters"
    parts = ", ".join(f"{reason}: {count:,}" for reason, count in sorted(counts.items()))
    return f"{sum(counts.values()):,} dead letters ({parts})"


def replay(settings: Settings, letters: Sequence[DeadLetter], topic: str | None) -> ReplayReport:
    """Publish dead letters to the embedded log again, key, value and headers as they came.

    Each goes to ``topic``, else to the one that it came from; what came from a file goes to the
    topic of the settings, since a file's name is no topic of the log.
    """
    known = {state.topic for state in list_topics(settings.data / streams.LOG_NAME)}
    published: list[int] = []
    refused: list[int] = []
    with streams.producer(settings) as producer:
        for letter in letters:
            own = letter.record.position.topic
            again = StreamLetter(letter.id, letter.record, Reason(letter.reason), letter.detail)
            to = topic or (own if own in known else settings.topic)
            report = replay_letters([again], producer, topic=to)
            published += report.published
            refused += report.refused
    return ReplayReport(tuple(published), tuple(refused))


def as_json(letter: DeadLetter) -> dict[str, Any]:
    """A dead letter with its bytes in base 64."""
    record = letter.record
    return {
        "id": letter.id,
        "reason": letter.reason,
        "detail": letter.detail,
        "rejected_at": from_millis(letter.rejected_at).isoformat(),
        "topic": record.position.topic,
        "partition": record.position.partition,
        "offset": record.position.offset,
        "key": _base64(record.key),
        "value": _base64(record.value),
        "headers": [[name, _base64(value)] for name, value in record.headers],
    }


def as_line(letter: DeadLetter, *, with_bytes: bool) -> str:
    """A dead letter on one line, and its bytes, escaped, on a second one."""
    at = letter.record.position
    line = (
        f"{letter.id}  {letter.reason}  {at.topic}[{at.partition}]@{at.offset}  "
        f"{from_millis(letter.rejected_at):%Y-%m-%d %H:%M:%S}  {json.dumps(letter.detail)[1:-1]}"
    )
    return f"{line}\n    {letter.record.value!r}" if with_bytes else line


def _base64(value: bytes | None) -> str | None:
    return None if value is None else base64.b64encode(value).decode("ascii")


def _open(directory: Path) -> sqlite3.Connection:
    return open_readonly(store_path(directory))
