"""The documentation says what the code does."""

import re
from pathlib import Path

from typer.testing import CliRunner

from deploy.cli.app import app
from deploy.settings_table import table

ROOT = Path(__file__).resolve().parents[2]


def test_the_table_of_settings_is_made_from_the_code():
    """Mend it by ``python -m deploy.settings_table`` below the introduction."""
    assert (ROOT / "docs/settings.md").read_text("utf-8").endswith(table())


def test_every_command_and_option_that_the_readme_names_exists():
    text = (ROOT / "README.md").read_text("utf-8")
    named = re.findall(r"\btidegraph ([a-z][a-z-]*)([^`#\n]*)", text)
    assert len(named) > 10
    helps = {}
    for command, rest in named:
        if command not in helps:
            shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"})
            assert shown.exit_code == 0, command
            helps[command] = shown.output
        for option in re.findall(r"--[a-z][a-z-]*", rest):
            assert option in helps[command], f"{command} {option}"
