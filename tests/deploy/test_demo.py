"""The demo: its stream moved to now, and the whole of it as a process."""

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
import pytest

from deploy.demo import play
from index.types import Millis, Position, Record

NOW = datetime(2027, 1, 5, 12, tzinfo=UTC)


def record(**body: object) -> Record:
    return Record(Position("t", 0, 0), None, orjson.dumps(body), Millis(0))


def test_the_streams_last_arrival_is_moved_to_now() -> None:
    path = play.stream_file()
    by = play.shift_of(path, NOW)
    moved = [
        datetime.fromisoformat(
            orjson.loads(play.shifted(record(**orjson.loads(line)), by).value or b"")["observed_at"]
        )
        for line in path.read_bytes().splitlines()
    ]
    assert max(moved) == NOW
    assert min(moved) >= NOW - timedelta(days=8)


def test_a_record_keeps_what_is_no_time() -> None:
    moved = play.shifted(record(id="a", op="delete", published_at=None), timedelta(days=1))
    assert orjson.loads(moved.value or b"") == {"id": "a", "op": "delete", "published_at": None}


def test_it_asks_a_local_and_a_global_question() -> None:
    asked = play.questions()
    assert asked.local.endswith("?")
    assert asked.whole.endswith("?")


def test_the_next_commands_name_a_program_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert play.program() == os.path.relpath(Path(sys.executable).parent / "tidegraph")
    commands = [command for _, command in play.next_commands("tg")]
    assert len(commands) == 3
    assert all("tg " in command for command in commands)


def test_away_from_a_terminal_it_ends_by_itself(tmp_path: Path) -> None:
    """Indexed, asked twice, answered with sources, three commands, and nothing left behind."""
    done = subprocess.run(
        [sys.executable, "-m", "deploy.cli", "demo"],
        cwd=Path(__file__).resolve().parents[2],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\nSources\n") == 2
    assert "no language model was used" in done.stdout
    assert done.stdout.rstrip().endswith("--data DIR")
    assert list(tmp_path.iterdir()) == []
