"""A process of the program that kills itself, as a power cut would, at a moment it is told.

``python -m tests.faults.worker POINT SIDE COUNT GUARD ARGUMENT...`` runs the program with the
arguments; at the COUNT-th time that POINT is reached it dies BEFORE or AFTER it. POINT ``random``
dies COUNT milliseconds after the first batch was read. GUARD is ``guarded`` or, for a control that
must fail, ``spoilt``. The program itself knows nothing of this.
"""

import os
import signal
import sys
import threading
from contextlib import contextmanager

POINTS = ("random", "transaction", "publication", "outbox mark", "vectors", "checkpoint")
SIDES = ("before", "after")
SPOILT = "spoilt"


def die():
    os.kill(os.getpid(), signal.SIGKILL)


class Fuse:
    """Burns down at each passing, and kills at the one asked for."""

    def __init__(self, side, count):
        self.side, self.count = side, count

    def pass_(self, side):
        if side == self.side:
            self.count -= 1
            if self.count == 0:
                die()

    def around(self, owner, name):
        """Put the fuse before and after each call of a function."""
        original = getattr(owner, name)

        def wrapped(*args, **kwargs):
            self.pass_("before")
            result = original(*args, **kwargs)
            self.pass_("after")
            return result

        setattr(owner, name, wrapped)


def arm(point, side, count):
    """Patch the program so that it dies where it is told."""
    fuse = Fuse(side, count)
    if point == "random":
        _arm_random(count)
    elif point == "transaction":
        _arm_transaction(fuse)
    elif point == "publication":
        from stream.log import LogProducer

        fuse.around(LogProducer, "publish")
    elif point == "outbox mark":
        from stream import outbox

        fuse.around(outbox, "_write_mark")
    elif point == "checkpoint":
        from index import checkpoint

        fuse.around(checkpoint, "write_arrays")
    else:
        from index.vectors.follower import VectorFollower

        fuse.around(VectorFollower, "_step")


def checkpoint_always():
    """Write a checkpoint for a store of any size, so that each start takes one up."""
    from index.checkpoint import Checkpoint

    original = Checkpoint.__init__

    def begin(self, store, *, least, **more):
        original(self, store, least=min(least, 1), **more)

    Checkpoint.__init__ = begin


def _arm_random(milliseconds):
    from stream.consumer import Consumer

    original = Consumer._read

    def read(self, **how):
        batch = original(self, **how)
        if batch is not None:
            Consumer._read = original
            timer = threading.Timer(milliseconds / 1000, die)
            timer.daemon = True
            timer.start()
        return batch

    Consumer._read = read


def _arm_transaction(fuse):
    """Before: all is written, nothing committed. After: committed, and nobody knows yet."""
    from index.store import fence

    original = fence.transaction

    @contextmanager
    def transaction(connection):
        with original(connection):
            yield
            fuse.pass_("before")
        fuse.pass_("after")

    fence.transaction = transaction


def spoil():
    """Switch the guard off: positions are committed ahead of what they brought."""
    from index.store import meta
    from index.writer import Writer

    original = Writer.commit

    def commit(self, plan, analyses, **how):
        ahead = dict(self.generation.head.positions)
        for admitted in plan.admitted:
            at = admitted.arrival.record.position
            ahead[at.topic, at.partition] = at.offset + 1
        meta.write_positions(self._connection, ahead)
        return original(self, plan, analyses, **how)

    def positions(self):
        rows = self._connection.execute("SELECT topic, partition, next_offset FROM positions")
        return {(topic, partition): offset for topic, partition, offset in rows}

    Writer.commit, Writer.positions = commit, property(positions)


def main():
    point, side, count, guard, *arguments = sys.argv[1:]
    checkpoint_always()
    arm(point, side, int(count))
    if guard == SPOILT:
        spoil()
    from deploy.cli import main as program

    sys.argv = ["tidegraph", *arguments]
    program()


if __name__ == "__main__":
    main()
