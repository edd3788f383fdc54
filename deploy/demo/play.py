"""The demo: a week of news played into the embedded topic, then two questions about it."""

import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson

from deploy.assembly import streams
from deploy.errors import DeployError
from deploy.settings import Settings
from deploy.threads import Running
from index.types import Record
from stream.files import FileSource
from stream.produce import Pace, produce

TIMES = ("published_at", "observed_at")
PATIENCE = 90.0
"""Seconds that indexing may take before the demo says that something is wrong."""


@dataclass(frozen=True, slots=True)
class Questions:
    """What the demo asks: about one matter, and about the whole week."""

    local: str
    whole: str


def next_commands(program: str) -> list[tuple[str, str]]:
    """What to do after the demo: what for, and the command."""
    return [
        (
            "your own file of JSON Lines, read on as it grows:",
            f"{program} run --source FILE.jsonl --data DIR",
        ),
        (
            "your Kafka topic:",
            f"{program} run --kafka HOST:9092 --topic T --data DIR",
        ),
        (
            "your language model, its key in TIDEGRAPH_MODEL_KEY:",
            f'{program} ask "QUESTION" --set model=NAME --set model_url=URL --data DIR',
        ),
    ]


def program() -> str:
    """How this user can run the command: by its name where it is on the path."""
    if shutil.which("tidegraph") is not None:
        return "tidegraph"
    return os.path.relpath(Path(sys.executable).parent / "tidegraph")


def stream_file() -> Path:
    """The sample stream."""
    return Path(str(files("deploy.demo").joinpath("stream.jsonl")))


def questions() -> Questions:
    """The two questions."""
    body = json.loads(files("deploy.demo").joinpath("questions.json").read_text("utf-8"))
    return Questions(body["local"]["question"], body["global"]["question"])


def shift_of(path: Path, now: datetime) -> timedelta:
    """What moves the stream's times so that its last arrival is now."""
    lines = path.read_bytes().splitlines()
    moments = [datetime.fromisoformat(orjson.loads(line)["observed_at"]) for line in lines if line]
    return now - max(moments)


def shifted(record: Record, by: timedelta) -> Record:
    """A record with its times moved."""
    body = orjson.loads(record.value or b"{}")
    for name in TIMES:
        if body.get(name):
            body[name] = (datetime.fromisoformat(body[name]) + by).isoformat()
    return replace(record, value=orjson.dumps(body))


def play(
    settings: Settings, stop: threading.Event, rate: float, told: Callable[[int], None]
) -> int:
    """Publish the sample stream into the topic at a rate; returns how many messages it has."""
    path = stream_file()
    by = shift_of(path, datetime.now(UTC))
    source = FileSource(path, transform=lambda record: shifted(record, by))
    try:
        source.seek({})
        with streams.producer(settings) as producer:
            report = produce(
                source,
                producer,
                settings.topic,
                pace=Pace(rate=rate),
                clock=time.monotonic,
                sleep=streams.pause(stop),
                progress=told,
                stop=stop.is_set,
            )
    finally:
        source.close()
    return report.published


def wait_until_indexed(running: Running, count: int) -> Mapping[str, Any]:
    """Wait until all is searchable and grouped; what the index holds then.

    Raises:
        DeployError: it took too long, or was told to stop.
    """
    if running.ingestion is None:
        raise DeployError("the demo needs the writer in its own process")
    consumer, writer = running.ingestion.consumer, running.ingestion.writer
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and not running.stop.is_set():
        snapshot, status = writer.latest(), consumer.status()
        done = status.records >= count and not status.queue
        if done and snapshot.hierarchy.depth:
            totals = snapshot.head.totals
            return {
                "documents": totals.documents,
                "concepts": totals.concepts,
                "edges": totals.edges,
                "communities": sum(snapshot.hierarchy.levels),
                "generation": snapshot.generation,
            }
        running.stop.wait(0.1)
    if running.stop.is_set():
        running.wait()
        raise DeployError("the demo was stopped")
    raise DeployError(f"the sample stream was not indexed within {PATIENCE:.0f} s; see the log")
