"""A data directory in one file, taken while it is written, and put back.

The store is copied inside one read transaction, so that it is one whole generation; what it stands
on (the embedded log, the list of feeds) is copied after it and so holds at least what the store
has read. Vector indexes are not copied: they are followers, and are built anew from the store.
"""

import hashlib
import io
import json
import os
import shutil
import sqlite3
import tarfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from deploy.assembly.outbox import MARK_NAME
from deploy.assembly.streams import LOG_NAME, ORIGIN_NAME, TOPICS_NAME
from deploy.errors import DeployError, UsageError
from deploy.process import release
from index.errors import StoreError
from index.store.connection import STORE_NAME, open_readonly, store_path
from index.store.copy import copy_database
from index.store.work import BACKUP, RESTORE, WorkFolder
from stream.feeds.state import FEEDS_NAME

FORMAT = 1
MANIFEST = "manifest.json"
QUESTIONS_NAME = "questions.db"
DATABASES = (STORE_NAME, LOG_NAME, FEEDS_NAME, QUESTIONS_NAME)
"""Copied in this order: what the store has read is in what is copied after it."""
PLAIN = (ORIGIN_NAME, TOPICS_NAME, MARK_NAME)
_CHUNK = 1 << 20

Told = Callable[[str, int, int | None], None]


class BackupError(DeployError):
    """A backup cannot be made or is not what it should be."""


@dataclass(frozen=True, slots=True)
class BackupReport:
    """What a backup holds: the store's generation, its files with their sizes in bytes."""

    generation: int
    release: str
    made_at: str
    files: Mapping[str, int]


def back_up(data: Path, archive: Path, told: Told) -> BackupReport:
    """Write a data directory into an archive; compressed where its name ends in ``gz``.

    Safe beside a running writer. Raises ``StoreError`` where there is no index, ``UsageError``
    where the archive is there already, ``BackupError`` where it cannot be written.
    """
    if archive.exists():
        raise UsageError(f"{archive} is there already; a backup never overwrites")
    with _written(), _work_folder(archive.parent, BACKUP) as kept:
        generation = _copy_all(data, kept, told)
        names = [name for name in (*DATABASES, *PLAIN) if (kept / name).exists()]
        manifest = {
            "format": FORMAT,
            "release": release(),
            "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "generation": generation,
            "files": {name: _described(kept / name) for name in names},
        }
        told("writing the archive", 0, None)
        unfinished = kept / "archive"
        _pack(kept, manifest, unfinished, compressed=archive.name.endswith("gz"))
        unfinished.replace(archive)
    return _report(manifest)


def restore(archive: Path, data: Path, told: Told) -> BackupReport:
    """Put an archive back as a data directory, which must not hold an index yet.

    Every file is compared with its checksum and every database checked before the first one is
    put in its place. Raises ``UsageError`` or ``BackupError``; the directory is then as it was.
    """
    held = [name for name in (*DATABASES, *PLAIN, "current") if (data / name).exists()]
    if held:
        raise UsageError(f"{data} holds {held[0]} already; restore into an empty directory")
    with _read(archive):
        data.mkdir(parents=True, exist_ok=True)
        with _work_folder(data, RESTORE) as work:
            manifest = _unpack(archive, work, told)
            for name in DATABASES:
                if (work / name).exists():
                    told(f"checking {name}", 0, None)
                    _check_database(work / name)
            # The store comes last: what is interrupted before it is no index yet.
            for name in sorted(manifest["files"], key=lambda name: name == STORE_NAME):
                (work / name).replace(data / name)
    return _report(manifest)


def _copy_all(data: Path, kept: Path, told: Told) -> int:
    source = store_path(data)
    told("copying the store", 0, None)
    with closing(open_readonly(source)) as connection:
        copy_database(connection, kept / STORE_NAME)
    for name in DATABASES[1:]:
        if (data / name).exists():
            told(f"copying {name}", 0, None)
            uri = f"{(data / name).resolve().as_uri()}?mode=ro"
            with closing(sqlite3.connect(uri, uri=True)) as connection:
                copy_database(connection, kept / name)
    for name in PLAIN:
        if (data / name).exists():
            shutil.copyfile(data / name, kept / name)
    with closing(sqlite3.connect(kept / STORE_NAME)) as connection:
        row = connection.execute("SELECT max(id) FROM generations").fetchone()
    return int(row[0] or 0)


def _pack(kept: Path, manifest: Mapping[str, Any], to: Path, *, compressed: bool) -> None:
    body = json.dumps(manifest, indent=1).encode()
    with to.open("wb") as file:
        with _tar(file, compressed=compressed) as tar:
            entry = tarfile.TarInfo(MANIFEST)
            entry.size = len(body)
            tar.addfile(entry, io.BytesIO(body))
            for name in manifest["files"]:
                tar.add(kept / name, arcname=name)
        file.flush()
        os.fsync(file.fileno())


def _tar(file: BinaryIO, *, compressed: bool) -> tarfile.TarFile:
    if compressed:
        return tarfile.open(fileobj=file, mode="w:gz", compresslevel=1)
    return tarfile.open(fileobj=file, mode="w")


def _unpack(archive: Path, work: Path, told: Told) -> dict[str, Any]:
    with tarfile.open(archive) as tar:
        first = tar.next()
        body = None if first is None or first.name != MANIFEST else tar.extractfile(first)
        if body is None:
            raise BackupError(f"{archive} is no backup: it does not begin with {MANIFEST}")
        manifest = json.load(body)
        if manifest.get("format") != FORMAT:
            raise BackupError(f"{archive} has format {manifest.get('format')}, known is {FORMAT}")
        _check_names(archive, manifest["files"])
        for entry in tar:
            if entry is first:
                continue
            if entry.name not in manifest["files"] or not entry.isfile():
                raise BackupError(f"{archive} holds {entry.name}, which its manifest does not name")
            told(f"unpacking {entry.name}", 0, None)
            tar.extract(entry, work, filter="data")
    for name, described in manifest["files"].items():
        if not (work / name).exists() or _described(work / name) != described:
            raise BackupError(f"{archive} is damaged: {name} is not what was written")
    return dict(manifest)


def _check_names(archive: Path, files: Mapping[str, Any]) -> None:
    unknown = sorted(set(files) - {*DATABASES, *PLAIN})
    if unknown:
        raise BackupError(f"{archive} holds {unknown[0]}, which this release does not know")
    if STORE_NAME not in files:
        raise BackupError(f"{archive} holds no {STORE_NAME}")


def _check_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        (said,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if said != "ok":
        raise BackupError(f"{path.name} in the backup is damaged: {said}")


def _described(path: Path) -> dict[str, Any]:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return {"bytes": path.stat().st_size, "sha256": digest.hexdigest()}


def _report(manifest: Mapping[str, Any]) -> BackupReport:
    sizes = {name: int(described["bytes"]) for name, described in manifest["files"].items()}
    return BackupReport(manifest["generation"], manifest["release"], manifest["made_at"], sizes)


@contextmanager
def _work_folder(directory: Path, prefix: str) -> Iterator[Path]:
    with closing(WorkFolder(directory, prefix)) as folder:
        try:
            path = folder.path()
        except StoreError as error:
            raise BackupError(f"{directory} cannot be written: {error}") from error
        yield path


@contextmanager
def _written() -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        raise BackupError(f"the backup cannot be written: {error}") from error


@contextmanager
def _read(archive: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, EOFError, tarfile.TarError, sqlite3.Error) as error:
        raise BackupError(f"{archive} cannot be restored: {error}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BackupError(f"{archive} has a manifest that says nothing: {error}") from error
