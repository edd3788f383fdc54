"""The commands as real processes over one small index: what a user does, and what goes wrong."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

TIDEGRAPH = [sys.executable, "-m", "deploy.cli"]
ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 120.0
"""Seconds that a step may take on a machine that does much else."""

DOCUMENTS = [
    {
        "id": f"d{n}",
        "title": "Harbour",
        "source": "Wire",
        "text": f"The harbour board opened the Tannock Bridge number {n}. Inspector Ada Moss "
        "praised the harbour board. The Tannock Bridge cost 5 million euros.",
        "published_at": f"2026-11-0{1 + n % 7}T06:00:00Z",
    }
    for n in range(12)
]
STATUS = {
    "generation",
    "documents",
    "chunks",
    "concepts",
    "edges",
    "communities",
    "modularity",
    "positions",
    "lag",
    "freshness_seconds",
}
ANSWER = {
    "answer",
    "outcome",
    "citations",
    "claims",
    "ledger",
    "budget",
    "stopped",
    "assessor",
    "mode",
    "generation",
    "positions",
}
CITATION = {
    "document_id",
    "chunk_id",
    "start",
    "end",
    "quote",
    "title",
    "source",
    "url",
    "published_at",
    "observed_at",
}


def environment() -> dict[str, str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("TIDEGRAPH_")}
    return {**clean, "PYTHONPATH": str(ROOT), "COLUMNS": "200"}


def tidegraph(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*TIDEGRAPH, *arguments],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def told(*arguments: str, cwd: Path) -> Any:
    """The JSON that a command prints."""
    done = tidegraph(*arguments, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class Background:
    """A command that runs until it is told to stop."""

    def __init__(self, *arguments: str, cwd: Path) -> None:
        self._cwd = cwd
        self.log = cwd / f"{arguments[0]}.log"
        with self.log.open("w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [*TIDEGRAPH, *arguments], cwd=cwd, env=environment(), stderr=log
            )

    def url(self) -> str:
        """Where it serves, once it does."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and self.process.poll() is None:
            for line in self.log.read_text("utf-8").splitlines():
                if line.startswith("serving at "):
                    return line.split()[2].rstrip(",")
            time.sleep(0.05)
        raise AssertionError(self.log.read_text("utf-8"))

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Its exit code after a signal."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(PATIENCE)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with an index of a file: two documents are bad, one is said twice."""
    place = tmp_path_factory.mktemp("place")
    lines = [json.dumps(document) for document in DOCUMENTS]
    lines[3:3] = ["not json", json.dumps({"id": "empty", "text": " "}), lines[0]]
    (place / "news.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    done = tidegraph("index", "--source", "news.jsonl", "--until-end", cwd=place)
    assert done.returncode == 0, done.stderr
    assert "12 documents" in done.stderr
    return place


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Background, str]]:
    """Everything in one process over the embedded log."""
    place = tmp_path_factory.mktemp("served")
    running = Background("run", "--port", "0", cwd=place)
    yield place, running, running.url()
    assert running.stop() == 0


def test_a_store_that_nobody_serves_tells_its_status(place: Path) -> None:
    status = told("status", cwd=place)
    assert set(status) >= STATUS
    assert (status["documents"], status["lag"], status["freshness_seconds"]) == (12, 0, 0.0)
    assert status["positions"] == [{"topic": "news.jsonl", "partition": 0, "offset": 15}]


def test_verify_says_what_it_compared(place: Path) -> None:
    report = told("verify", cwd=place)
    assert report["ok"] is True
    assert {"edges", "F", "W"} <= {check["name"] for check in report["checks"]}


def test_an_answer_has_every_field_and_quotes_what_is_there(place: Path) -> None:
    answer = told("ask", "Who opened the Tannock Bridge?", "--budget", "5", cwd=place)
    assert set(answer) >= ANSWER
    assert answer["outcome"] == "answered"
    for citation in answer["citations"]:
        assert set(citation) >= CITATION
        (text,) = [d["text"] for d in DOCUMENTS if d["id"] == citation["document_id"]]
        assert text[citation["start"] : citation["end"]] == citation["quote"]


def test_new_tells_the_stories_of_what_arrived(place: Path) -> None:
    news = told("new", "--since", "1h", cwd=place)
    assert news["changes"] == 12
    assert news["stories"][0]["first"]["source"] == "Wire"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["ask", " "], "empty"),
        (["ask", "Who?", "--budget", "0"], "budget"),
        (["ask", "Who?", "--budget", "-1"], "budget"),
        (["ask", "Who?", "--budget", "1000000000"], "budget"),
        (["ask", "Who?", "--since", "soon"], "soon"),
        (["dead-letters", "99"], "99"),
    ],
)
def test_what_cannot_be_asked_is_a_mistake_of_usage(
    served: tuple[Path, Background, str], arguments: list[str], says: str
) -> None:
    done = tidegraph(*arguments, cwd=served[0])
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert says in done.stderr


def test_another_analyzer_is_refused_and_reindex_is_named(place: Path) -> None:
    done = tidegraph("ask", "Who?", "--set", "chunk_words=50", cwd=place)
    assert done.returncode == 1
    assert "50 words" in done.stderr
    assert "tidegraph reindex" in done.stderr


def test_rejected_records_are_listed_with_their_bytes(place: Path) -> None:
    letters = told("dead-letters", cwd=place)
    assert [letter["reason"] for letter in letters] == ["not_json", "empty_text"]
    shown = tidegraph("dead-letters", "--bytes", "--reason", "not_json", cwd=place).stdout
    assert "b'not json'" in shown


def test_dead_letters_are_replayed_into_the_topic(served: tuple[Path, Background, str]) -> None:
    """What was bad is bad again, and is a dead letter of its new position."""
    place, _, url = served
    (place / "bad.jsonl").write_text("still not json\n", "utf-8")
    assert tidegraph("produce", "bad.jsonl", cwd=place).returncode == 0
    until(lambda: len(told("dead-letters", cwd=place)) == 1)
    done = tidegraph("dead-letters", "--replay", cwd=place)
    assert "1 published again" in done.stdout
    until(lambda: len(told("dead-letters", cwd=place)) == 2)
    first, second = told("dead-letters", cwd=place)
    assert (first["value"], first["topic"]) == (second["value"], second["topic"])
    assert httpx.get(f"{url}/v1/status").json()["operations"]["rejects"]["not_json"] == 2


def test_what_is_produced_is_served(served: tuple[Path, Background, str]) -> None:
    place, _, url = served
    (place / "more.jsonl").write_text("\n".join(map(json.dumps, DOCUMENTS)), "utf-8")
    done = tidegraph("produce", "more.jsonl", "--rate", "200", cwd=place)
    assert "12 messages" in done.stderr
    until(lambda: httpx.get(f"{url}/v1/status").json()["documents"] == len(DOCUMENTS))
    found = httpx.get(f"{url}/metrics").text
    assert 'tidegraph_documents_total{outcome="inserted"} 12.0' in found
    assert "tidegraph_consumer_lag_records 0.0" in found
    assert told("status", cwd=place)["documents"] == len(DOCUMENTS)


def test_a_second_writer_says_who_holds_the_store(served: tuple[Path, Background, str]) -> None:
    place, running, _ = served
    done = tidegraph("index", "--until-end", cwd=place)
    assert done.returncode == 1
    assert f"process {running.process.pid}" in done.stderr


def test_a_port_in_use_is_one_line(place: Path) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = str(holder.getsockname()[1])
        done = tidegraph("serve", "--port", port, cwd=place)
    assert done.returncode == 1
    assert f"Port {port} on 127.0.0.1 is in use" in done.stderr
    assert not (place / "data" / "service.json").exists()


def test_serve_follows_a_store_asks_for_its_key_and_withdraws_its_record(place: Path) -> None:
    record = place / "data" / "service.json"
    serving = Background("serve", "--port", "0", "--api-key", "sesame", cwd=place)
    try:
        url = serving.url()
        assert json.loads(record.read_text("utf-8"))["url"] == url
        assert httpx.get(f"{url}/readyz").text.startswith("ready")
        assert httpx.get(f"{url}/v1/status").status_code == 401
        refused = tidegraph("status", cwd=place)
        assert refused.returncode == 1
        assert "TIDEGRAPH_API_KEYS" in refused.stderr
        (place / "with_key.toml").write_text('api_keys = ["sesame"]\n', "utf-8")
        assert told("status", "--config", "with_key.toml", cwd=place)["documents"] == 12
        assert "sesame" not in serving.log.read_text("utf-8")
    finally:
        assert serving.stop(signal.SIGINT) == 0
    assert not record.exists()


def test_a_directory_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    done = tidegraph("index", "--until-end", "--data", "file/data", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("error: ")
    assert "Traceback" not in done.stderr


def until(holds: Any) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)
