"""``make faults``: kills at random moments and named points, then the comparison."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.faults.harness import run
from tests.faults.worker import SPOILT


def main():
    parser = argparse.ArgumentParser(prog="make faults", description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, help="end the kills then, and compare")
    parser.add_argument("--spoilt", action="store_true", help="the control: it must find faults")
    chosen = parser.parse_args()
    guard = SPOILT if chosen.spoilt else "guarded"
    with tempfile.TemporaryDirectory() as work:
        deadline = time.monotonic() + 60 * (chosen.minutes or float("inf"))
        outcome = run(
            Path(work),
            chosen.kills,
            chosen.seed,
            guard=guard,
            told=_told,
            enough=lambda: time.monotonic() > deadline,
        )
    for point, count in sorted(outcome.kills.items()):
        _told(f"killed {count:4} times at {point}")
    _told(f"ended by themselves: {outcome.finished}")
    _told("\n".join(outcome.differences) or "all is as in a run without faults")
    return bool(outcome.differences) != chosen.spoilt


def _told(line):
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
