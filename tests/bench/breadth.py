"""All that users bring along: what the service answers while its store is written, and more.

A store of all of Reuters is built first (minutes); ``TIDEGRAPH_BENCH_STORE`` names one that is
there already, and a copy of it is taken.
"""

import json
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path

import httpx

from stream.log import LogProducer
from stream.source import Message
from tests.bench import kafka, languages, model
from tests.bench.corpus import data_file, documents
from tests.bench.measured import Service, measure
from tests.bench.page import page_rows
from tests.bench.pipeline import REUTERS, percentile
from tests.bench.table import Row

STORE_VARIABLE = "TIDEGRAPH_BENCH_STORE"
ROUNDS = 40
"""Requests to each address."""
WRITTEN = 20
"""Documents published a second while the service is asked."""

_PORT = 18_341
_PACE = 0.03  # seconds between requests: below the limit that the service sets a client
_WITHIN = "<= 30"


def run() -> list[Row]:
    """All figures of the area."""
    return [
        *kafka.reading(),
        *languages.run(),
        *page_rows(),
        *reading_while_writing(),
        *model.answering(),
    ]


def reading_while_writing() -> list[Row]:
    """The 95th percentile of every ``GET`` on the whole Reuters store while it is written."""
    with tempfile.TemporaryDirectory() as folder, _reuters(Path(folder)) as data:
        service = Service("run", "--data", str(data), "--workers", "1", port=_PORT)
        try:
            with httpx.Client(base_url=service.url, timeout=30) as client, _writer(data):
                addresses = _addresses(client)
                asked(client, addresses, 2)  # what is compiled and loaded once
                before = client.get("/v1/status").json()["generation"]
                milliseconds = asked(client, addresses, ROUNDS)
                after = client.get("/v1/status").json()["generation"]
        finally:
            service.stop()
    p95 = {name: percentile(found, 95) for name, found in milliseconds.items()}
    return [
        Row("generations committed meanwhile", after - before, "generations", ">= 5"),
        *(Row(f"GET {name}, p95", value, "ms", _WITHIN) for name, value in p95.items()),
    ]


def asked(client: httpx.Client, addresses: list[str], rounds: int) -> dict[str, list[float]]:
    """Milliseconds of each address, asked in turn."""
    found: dict[str, list[float]] = {address: [] for address in addresses}
    for address in islice(cycle(addresses), rounds * len(addresses)):
        started = time.perf_counter()
        client.get(address).raise_for_status()
        seconds = time.perf_counter() - started
        found[address].append(seconds * 1000)
        time.sleep(max(0.0, _PACE - seconds))
    return found


def _addresses(client: httpx.Client) -> list[str]:
    """Every address that can be asked without a question, with what the store holds."""
    document = client.get("/v1/documents?limit=1").json()["documents"][0]["document_id"]
    community = client.get("/v1/communities?limit=1").json()["communities"][0]["id"]
    return [
        "/v1/documents",
        f"/v1/documents/{document}",
        "/v1/communities",
        "/v1/communities?order=growth&level=1",
        f"/v1/communities/{community}",
        "/v1/concepts?prefix=oil",
        "/v1/concepts/oil",
        "/v1/sources",
        "/v1/new?since=1h",
        "/v1/new?since=30d&about=oil",
        "/v1/timeseries?concept=oil&since=30d",
        "/v1/timeseries?concept=oil&since=1987-02-01&until=1987-11-01&time=event",
        "/v1/trends",
        "/v1/trends?time=event&since=1987-04-06&until=1987-04-10&window=30d",
        "/v1/trends?kind=community",
        "/v1/status",
        "/healthz",
        "/readyz",
        "/metrics",
    ]


@contextmanager
def _reuters(work: Path) -> Iterator[Path]:
    """A store of all of Reuters that may be written to."""
    data = work / "reuters"
    held = os.environ.get(STORE_VARIABLE)
    if held:
        shutil.copytree(held, data)
    else:
        source = str(data_file(REUTERS))
        measure("index", "--source", source, "--until-end", "--data", str(data), "--workers", "2")
    yield data


@contextmanager
def _writer(data: Path) -> Iterator[None]:
    """Publish documents beside the service, a few a second, until the block ends."""
    stop = threading.Event()
    lines = documents(REUTERS, 4_000)
    producer = LogProducer(data / "log.db")

    def publish() -> None:
        for number in range(0, len(lines), WRITTEN):
            for line in lines[number : number + WRITTEN]:
                line["id"] = f"again:{line['id']}"
            batch = lines[number : number + WRITTEN]
            producer.publish(
                "documents", [Message(d["id"].encode(), json.dumps(d).encode()) for d in batch]
            )
            if stop.wait(1.0):
                return

    thread = threading.Thread(target=publish)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        producer.close()
