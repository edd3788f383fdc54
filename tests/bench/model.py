"""A question through a scripted model that answers each call in 300 ms: area ``breadth``."""

import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from deploy.assembly.evaluating import read_queries, replayed
from deploy.configuration import load
from query.search import Engine
from query.types import Question
from tests.bench.corpus import data_file
from tests.bench.table import Row
from tests.query.model.server import good, served

BUDGET = 100
QUESTIONS = 8
CALL = 0.3
"""Seconds of every call."""

_SET = "hotpotqa100"
_WORD = "film"
"""Chunks with this word are relevant: some in many, so that the search goes down and on."""


def answering() -> list[Row]:
    """The slowest of some questions, and the slowest first event."""
    queries = read_queries(data_file(f"{_SET}.queries.jsonl.gz")).judged[: QUESTIONS + 1]
    with tempfile.TemporaryDirectory() as folder, served(_scripted) as (url, calls):
        given = {"data": Path(folder), "workers": 0, "model": "scripted", "model_url": url}
        documents = data_file(f"{_SET}.docs.jsonl.gz")
        with (
            replayed(load(given).settings, documents, _told) as index,
            closing(index.engine) as engine,
        ):
            ask(engine, queries[0].text)  # fills caches
            before = len(calls)
            took = [ask(engine, query.text) for query in queries[1:]]
    firsts, wholes = zip(*took, strict=True)
    each = (len(calls) - before) / len(wholes)
    return [
        Row(f"model of 300 ms, budget {BUDGET}: slowest answer", max(wholes), "s", "<= 6"),
        Row(f"model of 300 ms, budget {BUDGET}: calls a question", each, "calls"),
        Row("model of 300 ms: slowest first event", max(firsts) * 1000, "ms", "<= 200"),
    ]


def ask(engine: Engine, question: str) -> tuple[float, float]:
    """Seconds to the first event, and to the last."""
    started = time.perf_counter()
    events = engine.search(Question(question, BUDGET))
    next(events)
    first = time.perf_counter() - started
    for _ in events:
        continue
    return first, time.perf_counter() - started


def _scripted(call: object) -> object:
    time.sleep(CALL)
    return good(call, _WORD)


def _told(what: str, done: int, total: int | None) -> None:
    if done == total:
        sys.stderr.write(f"{what}: {done:,}\n")
