"""The process: its signals, its memory, and where compiled kernels are kept."""

import gc
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import blake2b
from importlib import metadata
from itertools import chain
from pathlib import Path
from types import FrameType

import index
import query

KERNEL_VARIABLE = "NUMBA_CACHE_DIR"
SWITCH_SECONDS = 0.001
GARBAGE_OBJECTS = 50_000
"""New containers after which garbage is collected; a document brings about a hundred."""


class Stop(threading.Event):
    """Set by the first SIGTERM or SIGINT; ``signal`` says which."""

    signal: int | None = None


@contextmanager
def stop_on_signals() -> Iterator[Stop]:
    """Give an event that SIGTERM and SIGINT set; a second SIGINT interrupts at once."""
    stop = Stop()

    def handle(number: int, _: FrameType | None) -> None:
        if stop.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        stop.signal = number
        stop.set()

    before = {number: signal.signal(number, handle) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """Let SIGTERM unwind what runs, so that it tidies up, and exit as a terminated process does."""

    def handle(number: int, _: FrameType | None) -> None:
        signal.signal(number, signal.SIG_IGN)  # another one must not interrupt the tidying
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def keep_kernels(data: Path) -> str | None:
    """Choose where numba keeps compiled kernels, before it is imported.

    ``NUMBA_CACHE_DIR`` where it is set; else the user's cache directory, so that every data
    directory shares it; else beside the data. In it, each state of the kernels' sources has a
    directory of its own: numba keys what it keeps by the processor's model and the file of a
    kernel, and would go on using one whose callees in other files have changed. Returns a warning
    where nothing can be kept.
    """
    named = os.environ.get(KERNEL_VARIABLE)
    if named and Path(named).name == _kernel_digest():  # chosen by the process that started this
        return None
    if named and _writable(Path(named) / _kernel_digest()):
        os.environ[KERNEL_VARIABLE] = str(Path(named) / _kernel_digest())
        return None
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111  may not exist
    places = [Path(home) / "tidegraph" / "kernels"]
    if data.is_dir():
        places.append(data / "kernels")
    for directory in (place / _kernel_digest() for place in places):
        if _writable(directory):
            os.environ[KERNEL_VARIABLE] = str(directory)
            return None
    os.environ[KERNEL_VARIABLE] = tempfile.mkdtemp(prefix="tidegraph-kernels-")
    return (
        "compiled kernels cannot be kept: neither the user's cache directory nor the data "
        f"directory is writable; every start will compile (set {KERNEL_VARIABLE})"
    )


@cache
def _kernel_digest() -> str:
    """Names the present sources of all kernels, in sixteen hexadecimal digits."""
    folders = [Path(str(package.__file__)).parent for package in (index, query)]
    sources = [sorted([*f.rglob("kernels.py"), *f.rglob("kernels/*.py")]) for f in folders]
    digest = blake2b(digest_size=8)
    for source in chain(*sources):
        digest.update(source.read_bytes())
    return digest.hexdigest()


def _writable(directory: Path) -> bool:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return True
    except OSError:
        return False


def serve_promptly() -> None:
    """Let a process whose store is loaded answer beside its other work.

    A thread that answers waits for the interpreter up to a switch interval at each of its steps:
    one millisecond in place of five. What is loaded stays, so that no collection of garbage need
    walk over it again. Nor is there one after every few documents, whose parts go by themselves:
    so much of the writer's time went into them as into its commits.
    """
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE_OBJECTS)


def release() -> str:
    """The release that runs."""
    return metadata.version("tidegraph")


def memory_bytes() -> int:
    """Resident memory of this process and its children, shared pages counted once for each."""
    import psutil  # noqa: PLC0415  only those who ask for figures pay for it

    total = 0
    own = psutil.Process()
    for process in (own, *own.children(recursive=True)):
        try:
            total += process.memory_info().rss
        except psutil.Error:
            continue
    return total
