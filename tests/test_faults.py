"""Kills at random moments and named points change nothing; and the harness can tell if they did.

``make faults`` does the same with 200 kills.
"""

import os

import pytest

from tests.faults.harness import run
from tests.faults.worker import SPOILT


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_twenty_kills_leave_what_a_run_without_faults_leaves(tmp_path):
    if os.environ.get("TIDEGRAPH_TEST_FAULTS") == "beside":
        pytest.skip("the same kills run beside this suite")
    outcome = run(tmp_path, 20, seed=7)
    assert outcome.differences == []
    assert outcome.kills.total() == 20


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_without_the_guard_the_same_kills_lose_documents(tmp_path):
    """Positions that are committed ahead of what they brought: the control of the test above."""
    outcome = run(tmp_path, 4, seed=7, points=["transaction"], sides=["before"], guard=SPOILT)
    assert any(difference.startswith("documents:") for difference in outcome.differences)
