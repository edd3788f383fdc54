"""A process that follows until it is killed: ``python -m tests.index.replica.follower URL DIR``."""

import sys
import time
from pathlib import Path

from index.replica.errors import ReplicaError
from index.replica.remote import Remote
from index.replica.replica import Replica
from tests.index.replica.served import KEY
from tests.index.simple import FINGERPRINT


def main(url, directory):
    remote, replica = (
        Remote(url, KEY, sleep=lambda _: time.sleep(0.01)),
        Replica.open(Path(directory), url),
    )
    print("follows", flush=True)  # noqa: T201  the test waits for it
    while True:
        try:
            step = replica.step(remote, FINGERPRINT)
        except ReplicaError as error:
            print(error, flush=True)  # noqa: T201  for whoever reads why the test failed
            time.sleep(0.05)
            continue
        time.sleep(0.01 if step.kind == "level" else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
