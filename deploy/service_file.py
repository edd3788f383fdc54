"""``service.json``: which process serves a data directory, and where.

Written beside the store by whoever serves it, removed on exit; one whose process is gone is
stale and counts as none. A number of a process is used again after a while, so its start is
compared too.
"""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

FILE_NAME = "service.json"


@dataclass(frozen=True, slots=True)
class ServiceRecord:
    """A process that serves a data directory. ``started`` in seconds since 1970."""

    url: str
    pid: int
    started: float
    role: str


def own_record(url: str, role: str) -> ServiceRecord:
    """The record of this process."""
    return ServiceRecord(url, os.getpid(), psutil.Process().create_time(), role)


def url_of(host: str, port: int) -> str:
    """The address at which this host reaches a service that listens there."""
    if host in {"0.0.0.0", "::", ""}:  # noqa: S104  compared, not bound
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def find(directory: Path) -> ServiceRecord | None:
    """The living process that serves a data directory, if any."""
    try:
        record = ServiceRecord(**json.loads((directory / FILE_NAME).read_text("utf-8")))
        alive = abs(psutil.Process(record.pid).create_time() - record.started) < 1
    except (OSError, ValueError, TypeError, psutil.Error):
        return None
    return record if alive else None


def announce(directory: Path, record: ServiceRecord) -> bool:
    """Write the record unless another living process has its own there; whether it was written."""
    if find(directory) is not None:
        return False
    directory.mkdir(parents=True, exist_ok=True)
    partial = directory / f"{FILE_NAME}.{record.pid}"
    partial.write_text(json.dumps(asdict(record)), "utf-8")
    partial.replace(directory / FILE_NAME)
    return True


def withdraw(directory: Path, record: ServiceRecord) -> None:
    """Remove the record if it is still this one."""
    if find(directory) == record:
        (directory / FILE_NAME).unlink(missing_ok=True)
