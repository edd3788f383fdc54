"""The process: signals and the place of compiled kernels."""

import os
import platform
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.process import KERNEL_VARIABLE, keep_kernels, memory_bytes, stop_on_signals


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_asks_to_stop_and_the_handlers_are_put_back(number: int) -> None:
    before = signal.getsignal(number)
    with stop_on_signals() as stop:
        os.kill(os.getpid(), number)
        assert stop.wait(5)
        assert stop.signal == number
    assert signal.getsignal(number) is before


def test_a_second_interrupt_is_not_waited_for() -> None:
    with stop_on_signals() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.wait(5)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_a_named_directory_of_kernels_is_taken_and_by_children_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within it each state of the sources has its own: a stale callee is never called."""
    monkeypatch.setenv(KERNEL_VARIABLE, str(tmp_path))
    assert keep_kernels(tmp_path / "data") is None
    chosen = Path(os.environ[KERNEL_VARIABLE])
    assert chosen.parent == tmp_path
    assert keep_kernels(tmp_path / "data") is None
    assert Path(os.environ[KERNEL_VARIABLE]) == chosen


def test_kernels_are_kept_for_the_user_else_beside_the_data_else_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("", "utf-8")
    data = tmp_path / "data"
    data.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv(KERNEL_VARIABLE, "")
    assert keep_kernels(data) is None
    assert Path(os.environ[KERNEL_VARIABLE]).parent == tmp_path / "cache" / "tidegraph" / "kernels"
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    monkeypatch.setenv(KERNEL_VARIABLE, "")
    assert keep_kernels(data) is None
    assert Path(os.environ[KERNEL_VARIABLE]).parent == data / "kernels"
    monkeypatch.setenv(KERNEL_VARIABLE, "")
    warning = keep_kernels(tmp_path / "missing")
    assert warning is not None
    assert "every start will compile" in warning


def test_memory_is_told_in_bytes() -> None:
    assert memory_bytes() > 1 << 20


LIES_FREE = """
from deploy.process import memory_bytes
from index.memory import give_memory_back, share_memory
share_memory()
held = [bytes(3000) for _ in range(40_000)]
del held[:-1]
before = memory_bytes()
give_memory_back()
print(before - memory_bytes())
"""


def test_what_lies_free_below_what_is_held_is_given_to_the_system() -> None:
    if platform.libc_ver()[0] != "glibc":
        pytest.skip("this C library keeps no free memory of which it could be asked")
    told = subprocess.run(
        [sys.executable, "-c", LIES_FREE], check=True, capture_output=True, text=True
    )
    assert int(told.stdout) > 80_000_000
