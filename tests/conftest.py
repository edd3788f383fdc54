"""What all tests share: corpora, compiled kernels, and that no test finds the user's settings."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import settings

from deploy.process import keep_kernels

ROOT = Path(__file__).resolve().parent.parent

# Before anything imports numba: the tests share the compiled kernels of `tidegraph warmup`.
keep_kernels(ROOT / "build")

# A shared machine is slow now and then; a deadline would fail tests that are right.
settings.register_profile("tidegraph", deadline=None)
settings.load_profile("tidegraph")


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("TIDEGRAPH_") and not name.startswith("TIDEGRAPH_TEST_"):
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    """A command that a test ran has set logging up, for a stream that is closed by now."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The folder of real corpora; skips, aloud, where there is none."""
    folder = Path(os.environ.get("TIDEGRAPH_TEST_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no corpora: {folder} is no folder; set TIDEGRAPH_TEST_DATA")
    return folder
