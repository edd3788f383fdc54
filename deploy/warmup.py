"""Warming up: a handful of documents through the whole program, in a store that is thrown away.

So every kernel is compiled with the types that it really gets, and every model is loaded.
"""

import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import orjson

from deploy.assembly import serving, streams, writing
from deploy.assembly.streams import Origin, Told
from deploy.settings import Settings
from query.types import Question
from stream.source import Message

DOCUMENTS = (
    ("a", "The harbour board opened the new bridge. Inspector Ada Moss praised the harbour board."),
    ("b", "The new bridge cost 5 million euros. The harbour board paid on 3 March 2026."),
    ("c", "Ada Moss closed the new bridge. The harbour board blamed the cable of the new bridge."),
    ("a", "The harbour board opened the new bridge again. Ada Moss praised the cable."),
)
LATER = (
    (
        "d",
        "The harbour board of the new bridge named Ada Moss. Ada Moss praised the harbour board.",
    ),
)
"""What comes once there are communities, which then follow it."""
QUESTION = "Who opened the new bridge?"


def warm_up(settings: Settings, told: Told) -> float:
    """Compile and load everything once; returns the seconds that it took."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tidegraph-warmup-") as directory:
        here = {"data": Path(directory), "workers": 0, "kafka": "", "model": ""}
        trial = settings.model_copy(update=here)
        told("loading the language models", 0, 3)
        with writing.ingestion(trial, Origin(), lambda _: None) as ingestion:
            told("compiling the counts", 1, 3)
            for documents in (DOCUMENTS, LATER):
                _publish(trial, documents)
                ingestion.consumer.run(threading.Event(), until_end=True)
            told("asking a first question", 2, 3)
            engine = serving.engine(ingestion.writer, ingestion.analyzer, trial)
            engine.answer(Question(QUESTION, trial.budget))
    told("done", 3, 3)
    return time.monotonic() - started


def _publish(settings: Settings, documents: Sequence[tuple[str, str]]) -> None:
    messages = [
        Message(identity.encode(), orjson.dumps({"id": identity, "title": "Bridge", "text": text}))
        for identity, text in documents
    ]
    with streams.producer(settings) as producer:
        for message in (*messages, Message(b"b", None)):
            producer.publish(settings.topic, [message])
