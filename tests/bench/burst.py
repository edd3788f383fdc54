"""A burst of questions while a stream is read at half the rate that the service can."""

import json
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from stream.log import LogProducer
from stream.source import Message
from tests.bench import progress
from tests.bench.corpus import documents
from tests.bench.measured import Service
from tests.bench.reuters import FILE, answerable
from tests.bench.table import Row

QUESTIONS = 16
SECONDS = 60
FIRST = 10_000
"""Stories that are indexed before, as fast as can be."""

_PORT = 18_331


def run() -> list[Row]:
    """Documents indexed in a minute with a burst at its beginning, to those in one without."""
    messages = _messages()
    with tempfile.TemporaryDirectory() as folder:
        producer = LogProducer(Path(folder) / "log.db")
        service = Service("run", "--data", folder, "--workers", "1", port=_PORT)
        try:
            with httpx.Client(base_url=service.url, timeout=120) as client:
                return _measured(client, producer, messages)
        finally:
            service.stop()
            producer.close()


def _messages() -> list[Message]:
    """All stories, and once more under other ids: a fast machine takes more than there are."""
    stories = documents(FILE)
    more = [story | {"id": f"again:{story['id']}"} for story in stories]
    return [Message(s["id"].encode(), json.dumps(s).encode()) for s in (*stories, *more)]


def _measured(
    client: httpx.Client, producer: LogProducer, messages: Sequence[Message]
) -> list[Row]:
    progress.told(f"burst: indexing {FIRST:,} stories first")
    started = time.monotonic()
    producer.publish("documents", messages[:FIRST])
    while _indexed(client) < FIRST:
        time.sleep(0.5)
    rate = FIRST / (time.monotonic() - started) / 2
    _post(client, answerable()[0])  # what a first question prepares is no part of the burst
    progress.told(f"burst: {SECONDS} s at {rate:.0f} documents/s, without questions")
    at, quiet = _minute(client, producer, messages[FIRST:], rate)
    progress.told(f"burst: {SECONDS} s, {QUESTIONS} questions at its beginning")
    with ThreadPoolExecutor(QUESTIONS) as pool:
        asked = [pool.submit(_timed, client, text) for text in answerable()[:QUESTIONS]]
        _, busy = _minute(client, producer, messages[FIRST + at :], rate)
        slowest = max(future.result() for future in asked)
    return [
        Row("burst: half rate", rate, "documents/s"),
        Row("burst: indexed in 60 s without questions", quiet, "documents"),
        Row("burst: indexed in 60 s with 16 questions", busy, "documents"),
        Row("burst: with questions to without", busy / quiet, "ratio", ">= 0.8"),
        Row("burst: slowest answer of 16", slowest, "s"),
    ]


def _minute(
    client: httpx.Client, producer: LogProducer, messages: Sequence[Message], rate: float
) -> tuple[int, int]:
    """Publish evenly; how many were published in a minute, and how many more are indexed."""
    before, started, sent = _indexed(client), time.monotonic(), 0
    while (passed := time.monotonic() - started) < SECONDS:
        due = min(len(messages), int(passed * rate))
        if due > sent:
            producer.publish("documents", messages[sent:due])
            sent = due
        time.sleep(0.1)
    return sent, _indexed(client) - before


def _indexed(client: httpx.Client) -> int:
    """Records that are searchable."""
    positions = client.get("/v1/status").json()["positions"]
    return sum(int(position["offset"]) for position in positions)


def _timed(client: httpx.Client, text: str) -> float:
    started = time.monotonic()
    _post(client, text)
    return time.monotonic() - started


def _post(client: httpx.Client, text: str) -> None:
    client.post("/v1/search", json={"question": text, "budget": 100}).raise_for_status()
