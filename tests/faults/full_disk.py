"""A disk of a few megabytes that is full over and over, and a writer on it.

``python -m tests.faults.full_disk DIRECTORY`` needs a mount namespace of its own (``unshare``). It
mounts the disk at ``disk``, indexes a stream there over and over while the space runs out at
random, and leaves a copy of the store at ``kept``; then it runs the program itself on a disk that
is full. Prints what it saw as JSON.
"""

import json
import random
import re
import shutil
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

from index.errors import StoreError
from index.store.connection import STORE_NAME
from stream.consumer import Consumer, ConsumerSettings
from tests.faults.harness import messages
from tests.index.simple import open_writer
from tests.stream.test_consumer import NoGrouping, Pool, Scripted
from tests.test_end_to_end import STREAM, environment

KIB = 1024
ROOM = (0, 150, 20, 80, 120, 60)
"""KiB that are left free, round by round; the whole stream asks for some hundreds."""


def values():
    """The stream: edits, deletes and rejects among it."""
    return [one.value for one in messages(300, random.Random(3))]


def index(directory):
    """Index to the end of the stream; raises ``StoreError`` where the disk is full."""
    writer = open_writer(directory)
    try:
        # Often, so that the log of writes goes into the store in the midst of it all.
        writer._connection.execute("PRAGMA wal_autocheckpoint = 20")
        settings = ConsumerSettings(batch_records=3, poll_wait=0.0)
        source = Scripted(values())
        consumer = Consumer(source, writer, Pool(0), NoGrouping(), settings, observe=lambda _: None)
        consumer.run(threading.Event(), until_end=True)
    finally:
        writer.close()


def fill(disk, left):
    """Leave so many bytes free."""
    free = shutil.disk_usage(disk).free
    with (disk / "filler").open("wb") as file:
        file.write(bytes(max(0, free - left)))


def round_(disk, left):
    """One writer with so little room; what became of it."""
    fill(disk, left)
    seen = ["whole"]
    try:
        index(disk / "data")
    except StoreError as error:
        if not re.search("disk is full|No space left", str(error)):
            raise
        seen = ["commit"]
        log = disk / "data" / f"{STORE_NAME}-wal"
        if log.exists() and log.stat().st_size:
            # A writer that closes leaves no log, unless it found no room in the store.
            seen.append("checkpoint")
    (disk / "filler").unlink()
    return seen


def program(disk):
    """How the program itself ends on a full disk, and the last line that it says."""
    fill(disk, 300 * KIB)
    command = ["-m", "deploy.cli", "index", "--until-end", "--source", str(STREAM)]
    done = subprocess.run(
        [sys.executable, *command, "--data", str(disk / "program")],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    return [done.returncode, done.stderr.splitlines()[-1]]


def main():
    work = Path(sys.argv[1])
    disk = work / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", disk], check=True)
    seen = Counter()
    for left in ROOM:
        seen.update(round_(disk, left * KIB))
    index(disk / "data")
    shutil.copytree(disk / "data", work / "kept")
    sys.stdout.write(json.dumps({"seen": seen, "program": program(disk)}))


if __name__ == "__main__":
    main()
