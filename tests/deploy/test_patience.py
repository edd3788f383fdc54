"""Waiting for an embedder that is away."""

import threading

import pytest

from deploy.patience import LONGEST, patiently
from index.errors import EmbedderAwayError, EmbedderError


class Script:
    """Work that fails so many times, each try taking some seconds."""

    def __init__(self, failures, seconds=0.0):
        self.failures, self.seconds = list(failures), seconds
        self.now, self.pauses = 0.0, []

    def work(self):
        self.now += self.seconds
        if self.failures:
            raise self.failures.pop(0)
        return "done"

    def waits(self, error, pause):
        self.pauses.append(pause)

    def run(self, stop):
        return patiently(self.work, stop, self.waits, first=1.0, clock=lambda: self.now)


class NoWait(threading.Event):
    def wait(self, timeout=None):
        return self.is_set()


AWAY = EmbedderAwayError("away")


def test_work_goes_on_when_the_embedder_is_back():
    script = Script([AWAY] * 7)
    assert script.run(NoWait()) == "done"
    assert script.pauses == [1, 2, 4, 8, 16, LONGEST, LONGEST]


def test_who_worked_for_long_begins_with_short_waits_again():
    script = Script([AWAY] * 3, seconds=LONGEST + 1)
    script.run(NoWait())
    assert script.pauses == [1, 1, 1]


def test_a_stop_ends_the_waiting():
    stop = NoWait()
    stop.set()
    script = Script([AWAY] * 3)
    assert script.run(stop) is None
    assert len(script.pauses) == 1


def test_a_wrong_embedder_is_not_waited_for():
    with pytest.raises(EmbedderError):
        Script([EmbedderError("another model")]).run(NoWait())
