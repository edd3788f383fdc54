"""The demo as a process of its own, whose page can be visited while and after it plays."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

ROOT = Path(__file__).resolve().parent.parent
GRACE_SECONDS = 15


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A demo under way: where its page is, and what it still prints."""

    url: str
    prints: TextIO

    def played(self) -> str:
        """Wait until the stream has been played and both questions were answered; what it said."""
        said = []
        for line in self.prints:
            said.append(line)
            if line.startswith("The page stays at"):
                return "".join(said)
        raise RuntimeError("the demo ended: " + "".join(said))


@contextmanager
def demonstration(data: Path) -> Iterator[Demonstration]:
    """The demo from an empty directory; interrupted, as by Ctrl-C, at the end."""
    command = [sys.executable, "-m", "deploy.cli", "demo", "--keep", "--data", str(data)]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=os.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with process:
        if process.stdout is None:
            raise RuntimeError("the demo has no output")
        try:
            yield Demonstration(_page(process.stdout), process.stdout)
        finally:
            process.send_signal(signal.SIGINT)
            process.stdout.read()
            process.wait(GRACE_SECONDS)


def _page(prints: TextIO) -> str:
    said = []
    for line in prints:
        said.append(line)
        if line.startswith("The page: "):
            return line.removeprefix("The page: ").strip() + "/"
    raise RuntimeError("the demo did not start: " + "".join(said))
