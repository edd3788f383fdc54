"""The program as its user runs it: real processes, the demo's stream, faults included."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path

import httpx
import psutil
import pytest

from index.store.connection import open_readonly, store_path

STREAM = Path(str(files("deploy.demo").joinpath("stream.jsonl")))
COMMAND = [sys.executable, "-m", "deploy.cli"]


def environment() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if not k.startswith("TIDEGRAPH_")}


def tidegraph(*arguments: str, code: int = 0) -> str:
    done = subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        timeout=240,
        env=environment(),
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def start(*arguments: str) -> subprocess.Popen:
    return subprocess.Popen(
        [*COMMAND, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(),
    )


def content(directory: Path) -> dict[str, object]:
    """What a store holds, by names that do not depend on how batches were cut."""
    connection = open_readonly(store_path(directory))
    query = connection.execute
    found = {
        "documents": query(
            "SELECT id, content_hash, version FROM documents ORDER BY id"
        ).fetchall(),
        "chunks": query(
            "SELECT d.id, c.ordinal, c.start, c.end, c.vector FROM chunks c"
            " JOIN documents d ON d.number = c.document ORDER BY d.id, c.ordinal"
        ).fetchall(),
        "forms": query(
            "SELECT c.key, f.text, f.n FROM forms f JOIN concepts c ON c.number = f.concept"
            " ORDER BY c.key, f.text"
        ).fetchall(),
        "tombstones": query("SELECT id, version FROM tombstones ORDER BY id").fetchall(),
        "dead": query("SELECT offset, reason, value FROM dead_letters ORDER BY offset").fetchall(),
        "positions": query("SELECT * FROM positions").fetchall(),
    }
    connection.close()
    return found


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's stream with some bad lines in it, a file that ends in the middle of one."""
    lines = STREAM.read_bytes().splitlines()
    lines[20:20] = [b"not json", b'{"text": "no id"}', b"\xff\xfe", b'{"id": "x", "text": ""}']
    path = tmp_path_factory.mktemp("input") / "stream.jsonl"
    path.write_bytes(b"\n".join(lines) + b'\n{"id": "cut off", "te')
    return path


@pytest.fixture(scope="module")
def clean(stream: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The index of one run without faults."""
    directory = tmp_path_factory.mktemp("clean")
    tidegraph("index", "--source", str(stream), "--until-end", "--data", str(directory))
    return directory


def test_one_run_indexes_all_and_verifies(clean):
    status = json.loads(tidegraph("status", "--json", "--data", str(clean)))
    assert status["documents"] == 156
    assert sum(status["communities"].values()) > 10
    verified = json.loads(tidegraph("verify", "--json", "--data", str(clean)))
    assert verified["ok"]
    dead = json.loads(tidegraph("dead-letters", "--json", "--data", str(clean)))
    reasons = sorted(letter["reason"] for letter in dead)
    assert reasons == ["empty_text", "incomplete", "no_id", "not_json", "not_utf8"]


def test_an_answer_cites_what_stands_in_the_documents(clean):
    asked = json.loads(STREAM.with_name("questions.json").read_text("utf-8"))
    answer = json.loads(
        tidegraph("ask", asked["local"]["question"], "--json", "--data", str(clean))
    )
    assert answer["outcome"] == "answered"
    assert answer["assessor"] == "offline"
    cited = {citation["document_id"] for citation in answer["citations"]}
    assert cited & set(asked["local"]["expected_ids"])
    connection = open_readonly(store_path(clean))
    for citation in answer["citations"]:
        text = connection.execute(
            "SELECT text FROM documents WHERE id = ?", (citation["document_id"],)
        ).fetchone()[0]
        assert text[citation["start"] : citation["end"]] == citation["quote"]
    connection.close()


def test_withdrawn_documents_are_nowhere(clean):
    connection = open_readonly(store_path(clean))
    for key in ("tm-1104-wreckage", "tm-1105-dambreach"):
        assert not connection.execute("SELECT 1 FROM documents WHERE id = ?", (key,)).fetchone()
        assert connection.execute("SELECT 1 FROM tombstones WHERE id = ?", (key,)).fetchone()
    connection.close()


@pytest.mark.parametrize(
    "signals", [(signal.SIGKILL, signal.SIGTERM), (signal.SIGTERM, signal.SIGKILL)]
)
def test_ends_in_the_middle_of_the_stream_leave_what_a_clean_run_leaves(
    signals, stream, clean, tmp_path
):
    dice = random.Random(signals[0])
    arguments = [
        "index",
        "--source",
        str(stream),
        "--until-end",
        "--data",
        str(tmp_path),
        "--set",
        "batch_records=10",
    ]
    for number in signals:
        process = start(*arguments)
        _wait_for_generations(tmp_path, process, dice.randint(1, 5))
        children = _children(process)
        process.send_signal(number)
        # What was read is committed, and within ten seconds it is gone.
        code = process.wait(10)
        assert code == (-number if number == signal.SIGKILL else 130)
        _, orphans = psutil.wait_procs(children, timeout=20)
        assert not orphans, "a process outlives its writer"
    tidegraph(*arguments)
    assert content(tmp_path) == content(clean)
    assert json.loads(tidegraph("verify", "--json", "--data", str(tmp_path)))["ok"]


def _children(process: subprocess.Popen) -> list[psutil.Process]:
    try:
        return psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:  # it has ended by itself
        return []


def _wait_for_generations(directory: Path, process: subprocess.Popen, more: int) -> None:
    """Until the store has gained some generations, or the process has ended by itself."""
    first = _generation(directory)
    for _ in range(3000):
        if _generation(directory) >= first + more or process.poll() is not None:
            return
        time.sleep(0.02)


def _generation(directory: Path) -> int:
    try:
        connection = open_readonly(store_path(directory))
        found = connection.execute("SELECT max(id) FROM generations").fetchone()[0]
        connection.close()
    except Exception:  # noqa: BLE001  the store may be in the making
        return 0
    return found or 0


def test_run_serves_what_is_produced_and_ends_on_sigterm(tmp_path, clean):
    process = start("run", "--data", str(tmp_path), "--port", "0")
    try:
        url = _service_url(tmp_path, process)
        tidegraph("produce", str(STREAM), "--data", str(tmp_path))
        body = {}
        for _ in range(600):
            body = httpx.get(f"{url}/v1/status").json()
            if body["documents"] == 156 and body["communities"]:
                break
            time.sleep(0.1)
        assert body["documents"] == 156
        assert httpx.get(f"{url}/readyz").status_code == 200
        assert "tidegraph_freshness_seconds" in httpx.get(f"{url}/metrics").text
        answer = tidegraph("ask", "What was the wire batch?", "--json", "--data", str(tmp_path))
        assert json.loads(answer)["generation"] > 0
        second = subprocess.run(
            [*COMMAND, "index", "--source", str(STREAM), "--data", str(tmp_path)],
            capture_output=True,
            text=True,
            timeout=120,
            env=environment(),
            check=False,
        )
        assert second.returncode == 1
        assert "being written by process" in second.stderr
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    assert not (tmp_path / "service.json").exists()
    keep = ("documents", "chunks", "forms", "tombstones")
    ours, theirs = content(tmp_path), content(clean)
    assert {k: ours[k] for k in keep} == {k: theirs[k] for k in keep}


def _service_url(directory: Path, process: subprocess.Popen) -> str:
    for _ in range(600):
        try:
            return json.loads((directory / "service.json").read_text("utf-8"))["url"]
        except (OSError, ValueError):
            assert process.poll() is None, "the service ended"
            time.sleep(0.1)
    raise AssertionError("no service came up")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["ask", ""], "question"),
        (["ask", "who?", "--budget", "0"], "budget"),
        (["ask", "who?", "--budget", "-1"], "budget"),
        (["ask", "who?", "--budget", "1000000000"], "budget"),
        (["index", "--source", "/nowhere/at/all.jsonl", "--until-end"], "/nowhere/at/all.jsonl"),
    ],
)
def test_mistakes_get_one_clear_line(arguments, says, clean):
    done = subprocess.run(
        [*COMMAND, *arguments, "--data", str(clean)],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment(),
        check=False,
    )
    assert done.returncode in {1, 2}
    assert says in (done.stderr + done.stdout).lower()
    assert "Traceback" not in done.stderr
