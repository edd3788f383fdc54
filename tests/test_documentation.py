"""Every command that the documentation shows does what is said there."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from html import escape
from pathlib import Path

import httpx
import orjson
import pytest
from typer.testing import CliRunner

from deploy.cli.app import app
from deploy.demo import play
from index.types import Millis, Position, Record
from tests.documentation import ROOT, blocks, documents
from tests.query.model.server import good
from tests.query.model.server import served as model_served
from tests.stream.feeds.servers import page, served

PATIENCE = 60.0
WIDE = {"COLUMNS": "200"}
FEED = "https://news.example/feed.xml"
MODEL = "http://127.0.0.1:8000/v1"
SERVICE = "127.0.0.1:8321"
WITH_SHELL = [path for path in documents() if any(not b.reason for b in blocks(path))]


def news():
    """The demo's stream, moved so that its last document is of now."""
    path = play.stream_file()
    by = play.shift_of(path, datetime.now(UTC))
    for line in path.read_bytes().splitlines():
        yield play.shifted(Record(Position("t", 0, 0), None, line, Millis(0)), by).value or b""


def feed():
    """A feed of the first documents of the demo."""
    first = [orjson.loads(line) for line in news()][:25]
    items = "".join(
        f"<item><guid>{escape(d['id'])}</guid><title>{escape(d['title'])}</title>"
        f"<description>{escape(d['text'])}</description></item>"
        for d in first
        if d.get("text")
    )
    body = f"<rss version='2.0'><channel><title>Harbour news</title>{items}</channel></rss>"
    return page(body.encode(), Content_Type="application/rss+xml")


class Reader:
    """Somebody who types what a document shows, in one directory, block after block."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder
        self._stack = stack
        self._running: subprocess.Popen[bytes] | None = None
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._instead = {SERVICE: f"127.0.0.1:{self.port}"}
        self._environment = {
            **{n: v for n, v in os.environ.items() if not n.startswith("TIDEGRAPH_")},
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "TIDEGRAPH_PORT": str(self.port),
            "COLUMNS": "200",
        }
        stack.callback(self.end)

    def types(self, block):
        """Type a block; what it prints."""
        text = self._as_here(block)
        if block.marked("background"):
            self._start(text, block)
            return
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        where = f"{block.document}:{block.line}"
        assert done.returncode == 0, f"{where}: {done.stdout}{done.stderr}"
        for words in block.words("shows"):
            assert words in done.stdout, f"{where} does not show {words!r}: {done.stdout}"
        for words in block.words("hides"):
            assert words not in done.stdout, f"{where} shows {words!r}: {done.stdout}"
        self._until_indexed()

    def _as_here(self, block):
        """A block with this machine's servers in place of those that it names."""
        if block.marked("feed") and FEED not in self._instead:
            server = self._stack.enter_context(served({"/news.example/feed.xml": feed()}))
            self._instead[FEED] = f"{server.url}/news.example/feed.xml"
            self._environment["TIDEGRAPH_FEEDS_ALLOW_PRIVATE"] = "true"
        if block.marked("model") and MODEL not in self._instead:
            url, _ = self._stack.enter_context(model_served(good))
            self._instead[MODEL] = url
        text = block.text
        for shown, here in self._instead.items():
            text = text.replace(shown, here)
        return text

    def _start(self, text, block):
        self.end()
        command = " ".join(line for line in text.splitlines() if not line.startswith("#"))
        with (self._folder / "service.log").open("wb") as log:
            self._running = subprocess.Popen(
                ["bash", "-c", f"exec {command}"],
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )
        self._until_indexed(documents=1 if block.marked("feed") else 0)

    def _until_indexed(self, documents=0):
        """Wait, as a reader would, until the service is there and has caught up."""
        deadline = time.monotonic() + PATIENCE
        while self._running is not None:
            log = (self._folder / "service.log").read_text("utf-8", "replace")
            assert self._running.poll() is None, log
            assert time.monotonic() < deadline, log
            try:
                status = httpx.get(f"http://127.0.0.1:{self.port}/v1/status").json()
                idle = status["lag"] == 0 and status["freshness_seconds"] == 0
                if idle and status["documents"] >= documents:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.1)

    def end(self):
        """Ctrl-C for what runs in the background."""
        if self._running is None:
            return
        self._running.send_signal(signal.SIGINT)
        assert self._running.wait(60) in {0, 130, -signal.SIGINT}
        self._running = None


@pytest.mark.timeout(600)
@pytest.mark.parametrize("path", WITH_SHELL, ids=lambda path: path.name)
def test_every_command_runs_as_it_is_shown(path, tmp_path):
    """In order, in one directory, which holds nothing but a file of news."""
    if shutil.which("curl") is None:
        if os.environ.get("CI"):
            pytest.fail("no curl: the documentation's requests are not tried")
        pytest.skip("no curl: the documentation's requests are not tried")
    (tmp_path / "news.jsonl").write_bytes(b"\n".join(news()) + b"\n")
    subprocess.run(["gzip", "-k", "news.jsonl"], cwd=tmp_path, check=True)
    with ExitStack() as stack:
        reader = Reader(tmp_path, stack)
        for block in blocks(path):
            if not block.reason:
                reader.types(block)


def test_what_is_not_run_says_why():
    for path in documents():
        for block in blocks(path):
            assert not block.marked("not run") or len(block.reason) > 10, block
            known = ("background", "feed", "model", "shows", "hides", "not run")
            assert all(mark.startswith(known) for mark in block.marks), block


def parts(command):
    """A command, and those that it is made of."""
    made_of = {
        "feeds": ("add", "list", "remove"),
        "standing": ("add", "list", "show", "pause", "resume", "remove"),
    }
    return [[command], *([command, part] for part in made_of.get(command, ()))]


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.name)
def test_every_command_and_option_that_is_named_exists(path):
    """In blocks that are not run and in the text, too; what is quoted is another command's."""
    text = re.sub(r'"[^"\n]*"', '""', path.read_text("utf-8").replace("\\\n", " "))
    helps = {}
    for command, rest in re.findall(r"\btidegraph ([a-z][a-z-]*)((?:[^`#\n|]|\n(?!\n))*)", text):
        if command not in helps:
            shown = [CliRunner().invoke(app, [*c, "--help"], env=WIDE) for c in parts(command)]
            helps[command] = "".join(s.output for s in shown if s.exit_code == 0)
            assert helps[command], f"{path.name}: there is no tidegraph {command}"
        line = rest.partition("\n")[0]
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", line):
            assert option in helps[command], f"{path.name}: tidegraph {command} {option}"


def test_every_target_of_make_that_is_named_exists():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for path in documents():
        named = re.findall(r"(?:^|`)make ([a-z]+)", path.read_text("utf-8"), re.MULTILINE)
        assert set(named) <= targets, path


def test_every_link_leads_somewhere():
    for path in documents():
        for link in re.findall(r"\]\(([^)#\s]+)", path.read_text("utf-8")):
            if not link.startswith(("http://", "https://")):
                assert (path.parent / link).exists(), f"{path.name}: {link}"
