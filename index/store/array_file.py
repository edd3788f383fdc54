"""Arrays in one file, each with a checksum; put in place at once, read in one go.

Eight bytes of magic, the length and the CRC-32 of the header (uint32 each, little-endian), the
header as JSON, then the arrays, one after the other. A file that was cut short, changed or written
by another format is an ``ArrayFileError`` and never an array.
"""

import os
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import orjson

from index.aligned import aligned
from index.errors import ArrayFileError

FORMAT = 1
_MAGIC = b"tgarrays"
_PREFIX = struct.Struct("<8sII")
_LONGEST = 1 << 20  # bytes of a header
_BLOCK = 1 << 22  # bytes; what comes while a checkpoint is written waits for one of them

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    dtype: str
    shape: tuple[int, ...]
    checksum: int


def write_arrays(
    path: Path,
    note: Mapping[str, Any],
    arrays: Arrays,
    look: Callable[[], None] = lambda: None,
) -> None:
    """Write C-contiguous arrays with a note of what they are; all of it is there, or what was.

    ``look`` is called before every block of at most ``_BLOCK`` bytes, with no more than those still
    on their way to the disk; what it raises ends the writing. Raises ``OSError``; what was begun is
    removed then.
    """
    columns = [
        _Column(name, array.dtype.str, array.shape, _checksum(array, look))
        for name, array in arrays.items()
    ]
    header = orjson.dumps({"format": FORMAT, "note": note, "arrays": columns})
    begun = begun_path(path)
    try:
        with begun.open("wb") as file:
            file.write(_PREFIX.pack(_MAGIC, len(header), zlib.crc32(header)))
            file.write(header)
            _write(file, arrays, look)
        begun.replace(path)
    except BaseException:
        begun.unlink(missing_ok=True)
        raise
    _sync_directory(path.parent)


def begun_path(path: Path) -> Path:
    """Where a file is written before it is put in place."""
    return path.with_name(path.name + ".part")


def read_note(path: Path) -> dict[str, Any]:
    """What the file says that its arrays are.

    Raises ``ArrayFileError``, ``FileNotFoundError`` where there is none, or ``OSError``.
    """
    with path.open("rb") as file:
        return _header(file, path.stat().st_size)[0]


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays, each beginning with a line of cache; errors as those of ``read_note``."""
    with path.open("rb", buffering=0) as file:
        _, columns = _header(file, path.stat().st_size)
        return {column.name: _read(file, column) for column in columns}


def _header(file: BinaryIO, size: int) -> tuple[dict[str, Any], list[_Column]]:
    prefix = file.read(_PREFIX.size)
    if len(prefix) < _PREFIX.size:
        raise ArrayFileError("it is cut short")
    magic, length, checksum = _PREFIX.unpack(prefix)
    if magic != _MAGIC:
        raise ArrayFileError("it is another kind of file")
    header = file.read(length) if length <= _LONGEST else b""
    if len(header) != length or zlib.crc32(header) != checksum:
        raise ArrayFileError("its header is damaged")
    values = orjson.loads(header)
    if values["format"] != FORMAT:
        raise ArrayFileError(f"it has format {values['format']}, this release reads {FORMAT}")
    columns = [
        _Column(c["name"], c["dtype"], tuple(c["shape"]), c["checksum"]) for c in values["arrays"]
    ]
    whole = _PREFIX.size + length + sum(_size(column) for column in columns)
    if size != whole:
        raise ArrayFileError(f"it has {size:,} bytes and must have {whole:,}")
    return values["note"], columns


def _size(column: _Column) -> int:
    return int(np.prod(column.shape, dtype=np.int64)) * np.dtype(column.dtype).itemsize


def _read(file: BinaryIO, column: _Column) -> np.ndarray:
    array = aligned(column.shape, np.dtype(column.dtype))
    room, at = _bytes(array), 0
    while at < len(room):
        got = file.readinto(room[at:])  # type: ignore[attr-defined]  # a raw file has it
        if not got:
            raise ArrayFileError("it is cut short")
        at += got
    if zlib.crc32(room) != column.checksum:
        raise ArrayFileError(f"{column.name} is damaged")
    return array


def _bytes(array: np.ndarray) -> memoryview:
    """The array's own memory."""
    return array.reshape(-1).view(np.uint8).data


def _write(file: BinaryIO, arrays: Arrays, look: Callable[[], None]) -> None:
    waiting = 0
    for array in arrays.values():
        for block in _blocks(array, look):
            waiting += file.write(block)
            if waiting >= _BLOCK:
                _sync(file)
                waiting = 0
    _sync(file)


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _blocks(array: np.ndarray, look: Callable[[], None]) -> Iterator[memoryview]:
    """The array's own memory, block by block."""
    room = _bytes(array)
    for at in range(0, len(room), _BLOCK):
        look()
        yield room[at : at + _BLOCK]


def _checksum(array: np.ndarray, look: Callable[[], None]) -> int:
    found = 0
    for block in _blocks(array, look):
        found = zlib.crc32(block, found)
    return found


def _sync_directory(directory: Path) -> None:
    """See to it that a file that was put in place is found after a power cut."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
