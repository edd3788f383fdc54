"""A command run to its end, with what it cost; all its children are counted."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import psutil

TURN_SECONDS = 8.0
"""How long a command runs before something else has its turn."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of processor and of the clock, and the largest memory of all processes together."""

    cpu: float
    wall: float
    peak_bytes: int


def measure(*arguments: str, between: Callable[[], object] | None = None) -> Cost:
    """Run ``tidegraph ARGUMENTS`` and measure it; its output goes to standard error.

    ``between`` is called every few seconds while the command stands still; the clock leaves its
    time out.
    """
    before = os.times()
    started = time.monotonic()
    command = [sys.executable, "-m", "deploy.cli", *arguments]
    process = subprocess.Popen(command, stdout=sys.stderr)
    peak = _PeakMemory(process.pid)
    peak.start()
    paused = 0.0
    while between is not None and _runs_on(process):
        process.send_signal(signal.SIGSTOP)
        stopped = time.monotonic()
        between()
        paused += time.monotonic() - stopped
        process.send_signal(signal.SIGCONT)
    code = process.wait()
    wall = time.monotonic() - started - paused
    peak.stop()
    if code:
        sys.exit(f"tidegraph {' '.join(arguments)} ended with {code}")
    after = os.times()
    cpu = after.children_user + after.children_system
    cpu -= before.children_user + before.children_system
    return Cost(cpu, wall, peak.bytes)


def _runs_on(process: "subprocess.Popen[bytes]") -> bool:
    """Whether a command still runs after its turn."""
    try:
        process.wait(TURN_SECONDS)
    except subprocess.TimeoutExpired:
        return True
    return False


class _PeakMemory(threading.Thread):
    """Samples the unique memory of a process and its children, four times a second."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._process = psutil.Process(pid)
        self._ended = threading.Event()
        self.bytes = 0

    def run(self) -> None:
        while not self._ended.wait(0.25):
            try:
                family = [self._process, *self._process.children(recursive=True)]
                self.bytes = max(self.bytes, sum(one.memory_info().rss for one in family))
            except psutil.Error:
                continue

    def stop(self) -> None:
        """End sampling."""
        self._ended.set()
        self.join()


class Service:
    """``tidegraph run`` or ``serve`` beside the benchmark; ``ready_after`` seconds to /readyz."""

    def __init__(self, *arguments: str, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        started = time.monotonic()
        command = [sys.executable, "-m", "deploy.cli", *arguments, "--port", str(port)]
        self._process = subprocess.Popen(command, stdout=sys.stderr, stderr=subprocess.DEVNULL)
        self._wait_until_ready()
        self.ready_after = time.monotonic() - started

    def _wait_until_ready(self) -> None:
        import httpx

        for _ in range(2400):
            try:
                if httpx.get(f"{self.url}/readyz", timeout=1).status_code == 200:
                    return
            except httpx.HTTPError:
                pass
            if self._process.poll() is not None:
                sys.exit("the service ended before it was ready")
            time.sleep(0.05)
        sys.exit("the service did not become ready in two minutes")

    def kill(self) -> None:
        """End it as a power cut would."""
        self._process.kill()
        self._process.wait(60)

    def stop(self) -> None:
        """End it gracefully."""
        self._process.terminate()
        self._process.wait(60)
