"""The corpora that benchmarks measure on; they are not part of the repository."""

import gzip
import json
import os
import sys
from pathlib import Path


def data_file(name: str) -> Path:
    """A file of the data folder; ends the benchmark with the reason where it is absent."""
    folder = Path(os.environ.get("TIDEGRAPH_TEST_DATA", "../shared/data"))
    path = folder / name
    if not path.exists():
        sys.exit(f"{path} is absent: set TIDEGRAPH_TEST_DATA to the folder that holds {name}")
    return path


def documents(name: str, most: int | None = None) -> list[dict]:
    """The first documents of a file."""
    found = []
    with gzip.open(data_file(name), "rt", encoding="utf-8") as lines:
        for line in lines:
            found.append(json.loads(line))
            if len(found) == most:
                break
    return found
