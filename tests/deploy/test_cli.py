"""The command line: quick help, one line for a mistake, the right exit code."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deploy.cli import exit_code, main, one_line
from deploy.cli.app import app
from deploy.errors import ServiceError, UsageError
from index.errors import StoreError

COMMANDS = [
    "run",
    "index",
    "serve",
    "produce",
    "ask",
    "new",
    "trends",
    "lineage",
    "status",
    "export",
    "extract",
    "verify",
    "reindex",
    "promote",
    "warmup",
    "dead-letters",
    "config",
    "doctor",
    "demo",
    "evaluate",
    "backup",
    "restore",
]
EVALUATE = ["evaluate", "--documents", "none.jsonl", "--queries", "none.jsonl"]

runner = CliRunner()


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def tidegraph(*arguments: str, monkeypatch: pytest.MonkeyPatch) -> int | str | None:
    """Run the command in this process as its script does; its exit code."""
    monkeypatch.setattr(sys, "argv", ["tidegraph", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


def test_help_imports_nothing_that_is_slow() -> None:
    """A clock would fail on a busy machine; what takes the time is what is imported."""
    code = (
        "import sys\n"
        "from deploy.cli import main\n"
        "sys.argv = ['tidegraph', '--help']\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "slow = {'spacy', 'numpy', 'numba', 'fastapi', 'pydantic', 'httpx', 'prometheus_client'}\n"
        "print('SLOW', sorted(slow & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines()[-1] == "SLOW []"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str) -> None:
    done = runner.invoke(app, [command, "--help"])
    assert done.exit_code == 0
    assert f"Usage: tidegraph {command}" in " ".join(done.output.split())


def test_the_root_lists_every_command() -> None:
    listed = runner.invoke(app, ["--help"]).output
    assert [command for command in COMMANDS if f" {command} " not in listed] == []
    assert {command.callback.__name__.replace("_", "-") for command in app.registered_commands} == (
        set(COMMANDS)
    )


def test_the_release_is_told() -> None:
    assert runner.invoke(app, ["--version"]).output.startswith("tidegraph 0.")


def test_config_shows_value_and_origin_and_masks_secrets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TIDEGRAPH_API_KEYS", "sesame")
    done = runner.invoke(app, ["config", "--json", "--set", "workers=3"])
    assert done.exit_code == 0
    found = {row["name"]: row for row in json.loads(done.output)}
    assert (found["workers"]["value"], found["workers"]["origin"]) == ("3", "--workers")
    assert found["api_keys"]["value"] == "********"
    assert "sesame" not in done.output
    assert "sesame" not in runner.invoke(app, ["config"]).output


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["status"], 1, "there is no index at data"),
        (["verify"], 1, "there is no index at data"),
        (["dead-letters"], 1, "there is no index at data"),
        (["config", "--set", "wrokers=1"], 2, "did you mean 'workers'"),
        (["config", "--set", "workers"], 2, "write NAME=VALUE"),
        (["config", "--config", "none.toml"], 2, "none.toml"),
        (["produce", "none.jsonl"], 2, "none.jsonl"),
        (["produce", "none.jsonl", "--replay", "fast"], 2, "3600x"),
        (["index", "--source", "none.jsonl", "--format", "csv"], 2, "revisions"),
        (["index", "--source", "none.jsonl"], 2, "there is no such file"),
        (["run", "--host", "0.0.0.0"], 2, "--api-key"),  # noqa: S104  refused
        (["serve", "--host", "::"], 2, "--allow-anonymous"),
        (["ask"], 2, "Missing argument"),
        ([*EVALUATE, "--modes", "lazy,best"], 2, "there is no mode 'best'"),
        ([*EVALUATE, "--budgets", "20,many"], 2, "'many' is no whole number"),
        ([*EVALUATE, "--plot", "no/where.svg"], 2, "there is no directory no"),
        (EVALUATE, 2, "--queries none.jsonl: there is no such file"),
        (["nothing"], 2, "nothing"),
    ],
)
def test_a_mistake_is_one_clear_line(
    arguments: list[str],
    code: int,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert tidegraph(*arguments, monkeypatch=monkeypatch) == code
    told = capsys.readouterr().err
    assert says in told
    if told.startswith("error: "):
        assert told.count("\n") == 1
    assert list(tmp_path.glob("data/*")) == []


def test_debugging_shows_the_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "from deploy.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "status"],
        cwd=tmp_path,
        env={**os.environ, "TIDEGRAPH_LOG_LEVEL": "debug"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "Traceback" in done.stderr


def test_errors_of_every_part_have_their_code() -> None:
    assert exit_code(UsageError("x")) == 2
    assert exit_code(ServiceError("x")) == 1
    assert exit_code(StoreError("x")) == 1
    assert exit_code(PermissionError(13, "denied")) == 1
    assert exit_code(ValueError("a mistake of ours")) is None


def test_an_error_is_told_on_one_line() -> None:
    assert one_line(StoreError("first\n  second")) == "first second"
    assert one_line(StoreError()) == "StoreError"


def test_the_doctor_names_a_pipeline_that_is_not_installed(tmp_path):
    asked = ["doctor", "--data", str(tmp_path), "--set", "pipelines=de=de_core_news_absent"]
    told = " ".join(runner.invoke(app, asked).output.split())
    assert "'de_core_news_absent' is not installed" in told
    assert "install it, or set pipelines" in told
    assert "others by rules" in " ".join(runner.invoke(app, asked[:3]).output.split())
