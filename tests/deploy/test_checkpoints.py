"""What people are told of the checkpoint: by `tidegraph doctor` and in the log."""

import io
import json
import os
from pathlib import Path

import pytest
import structlog

from deploy import doctor
from deploy.doctor import Level
from deploy.telemetry import logs
from deploy.telemetry.metrics import Metrics
from deploy.telemetry.observe import Telemetry
from index.checkpoint import CheckpointReport, Outcome
from index.store.beside import checkpoint_path
from index.store.connection import STORE_NAME
from tests.index.simple import commit
from tests.index.test_checkpoint import filled, opened
from tests.index.test_live import STORIES


def test_doctor_tells_whether_the_next_start_will_use_the_checkpoint(tmp_path):
    assert doctor._checkpoint(tmp_path).level is Level.OK
    feed = filled(tmp_path, [])
    path = checkpoint_path(tmp_path / STORE_NAME)
    assert doctor._checkpoint(tmp_path).level is Level.OK
    writer = opened(tmp_path, [], least=10_000)
    commit(writer, [feed.upsert("f", STORIES[0])])
    writer.close()
    old = doctor._checkpoint(tmp_path)
    assert (old.level, old.detail) == (
        Level.WARN,
        f"{path}: it is of generation 3, the store of 4",
    )
    os.truncate(path, 100)
    cut = doctor._checkpoint(tmp_path)
    assert cut.level is Level.WARN
    assert "counts from the chunks" in cut.remedy


@pytest.mark.parametrize(
    ("outcome", "level"),
    [
        (Outcome.WRITTEN, "info"),
        (Outcome.RESUMED, "info"),
        (Outcome.UNUSABLE, "warning"),
        (Outcome.FAILED, "warning"),
    ],
)
def test_the_log_says_what_became_of_a_checkpoint_and_why(outcome, level):
    stream = io.StringIO()
    logs.configure("json", "info", stream)
    try:
        report = CheckpointReport(Path("index.graph"), outcome, 7, "it is cut short", 100, 0.25)
        Telemetry(Metrics()).observe(report)
    finally:
        structlog.reset_defaults()
    (line,) = map(json.loads, stream.getvalue().splitlines())
    assert (line["level"], line["generation"], line["why"]) == (level, 7, "it is cut short")
