"""The watchdog of a process: quiet while all is well, and one reason at the end."""

import subprocess
import sys
import threading

from deploy.settings import Settings
from deploy.telemetry.metrics import Metrics
from deploy.telemetry.observe import Telemetry
from deploy.watching import EXIT_CODE, watched
from stream.watchdog import Activity, Phase


def test_what_hangs_is_ended_once_with_the_reason():
    reasons, ended = [], threading.Event()

    def end(reason):
        reasons.append(reason)
        ended.set()

    settings = Settings(watchdog_commit=1)
    hanging = Activity(Phase.COMMIT, 2.0)
    with watched(settings, lambda: hanging, Telemetry(Metrics()), end=end, every=0.01):
        assert ended.wait(10)
    assert reasons == ["the commit of a generation has not ended after 2 s (limit 1 s)"]


def test_what_works_is_left_alone_and_the_watchdog_can_be_switched_off():
    looks = []

    def activity():
        looks.append(1)
        return Activity(Phase.READ, 0.1)

    telemetry = Telemetry(Metrics())
    enough = threading.Event()
    with watched(Settings(), activity, telemetry, end=lambda _: enough.set(), every=0.001):
        while len(looks) < 3:
            enough.wait(0.01)
    assert not enough.is_set()
    looks.clear()
    with watched(Settings(watchdog=False), activity, telemetry, every=0.001):
        enough.wait(0.05)
    assert looks == []


PROGRAM = """
import threading
from deploy.settings import Settings
from deploy.telemetry.metrics import Metrics
from deploy.telemetry.observe import Telemetry
from deploy.watching import watched
from stream.watchdog import Activity, Phase
hanging = lambda: Activity(Phase.READ, 1000.0)
with watched(Settings(), hanging, Telemetry(Metrics()), every=0.01):
    threading.Event().wait()
"""


def test_a_process_that_hangs_ends_with_its_own_exit_code_and_one_line():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == EXIT_CODE
    assert "watchdog: a poll of the source has not returned after 1000 s" in done.stderr
    assert "Traceback" not in done.stderr


FROZEN = """
import ctypes
from deploy.settings import Settings
from deploy.telemetry.metrics import Metrics
from deploy.telemetry.observe import Telemetry
from deploy.watching import watched
from stream.watchdog import Activity, Phase
working = lambda: Activity(Phase.READ, 0.0)
with watched(Settings(), working, Telemetry(Metrics()), every=0.05, frozen=0.5):
    {hang}
"""


def test_a_process_whose_interpreter_hangs_says_where_and_ends():
    """``PyDLL`` calls C without letting other threads run, the watchdog neither."""
    done = _frozen("ctypes.PyDLL(None).sleep(50)")
    assert done.returncode == 1
    assert "Timeout" in done.stderr
    assert "most recent call first" in done.stderr
    assert done.stdout == ""


def test_a_process_that_stops_to_think_is_not_taken_for_one_that_hangs():
    done = _frozen("import time; time.sleep(1); print('well')")
    assert (done.returncode, done.stdout, done.stderr) == (0, "well\n", "")


def _frozen(hang):
    program = FROZEN.format(hang=hang)
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
