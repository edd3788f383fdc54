"""A disk that is full while the writer commits, and while its log of writes goes into the store."""

import json
import shutil
import subprocess
import sys

import pytest

from index.verify import verify
from tests.faults.full_disk import index
from tests.test_end_to_end import content

NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount")


@pytest.fixture
def namespace():
    """The words that give a command mounts of its own; skips where that is not allowed."""
    if shutil.which(NAMESPACE[0]) is None:
        pytest.skip("no unshare (Debian: util-linux): no small disk can be mounted")
    tried = subprocess.run([*NAMESPACE, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"no small disk can be mounted here: {tried.stderr.strip()}")
    return NAMESPACE


@pytest.mark.slow
def test_a_disk_that_is_full_loses_nothing_and_doubles_nothing(namespace, tmp_path):
    done = subprocess.run(
        [*namespace, sys.executable, "-m", "tests.faults.full_disk", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["seen"]["commit"] >= 5
    assert told["seen"]["checkpoint"] >= 1
    index(tmp_path / "clean")
    assert content(tmp_path / "kept") == content(tmp_path / "clean")
    assert verify(tmp_path / "kept").ok
    code, said = told["program"]
    assert code == 1
    assert said.startswith("error: cannot use ")
    assert "disk is full" in said
