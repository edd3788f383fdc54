"""What every command begins with: its settings, its logs, its place for compiled kernels."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from deploy import process
from deploy.configuration import Configuration, load
from deploy.errors import UsageError
from deploy.settings import Settings
from deploy.telemetry import logs
from index.memory import share_memory

UNWRAPPED = 100_000
"""Columns of what is no terminal."""


def begin(
    flags: Mapping[str, object] | None = None,
    *,
    config: Path | None = None,
    sets: Sequence[str] | None = None,
    quiet: bool = False,
) -> Settings:
    """The settings of a command, with logs and kernels set up; ``quiet`` logs from warning on."""
    return configured(flags, config=config, sets=sets, quiet=quiet).settings


def configured(
    flags: Mapping[str, object] | None = None,
    *,
    config: Path | None = None,
    sets: Sequence[str] | None = None,
    quiet: bool = False,
) -> Configuration:
    """As ``begin``, with the origins of the settings."""
    given = {**pairs(sets, "--set"), **{k: v for k, v in (flags or {}).items() if v is not None}}
    configuration = load(given, config)
    settings = configuration.settings
    level = settings.log_level
    if quiet and level == "info" and "log_level" not in configuration.origins:
        level = "warning"
    logs.configure(settings.log_format, level)
    share_memory()
    warning = process.keep_kernels(settings.data)
    if warning is not None:
        logs.logger().warning(warning)
    return configuration


def pairs(texts: Sequence[str] | None, option: str) -> dict[str, str]:
    """``NAME=VALUE`` taken apart. Raises ``UsageError``."""
    result = {}
    for text in texts or ():
        name, found, value = text.partition("=")
        if not found or not name.strip():
            raise UsageError(f"{option} {text}: write NAME=VALUE")
        result[name.strip()] = value
    return result


def console(*, error: bool = False) -> Console:
    """Where a command writes for people: no markup and no emoji, since texts come from outside.

    Lines are wrapped on a terminal only.
    """
    out = Console(stderr=error, markup=False, emoji=False, highlight=False)
    if not out.is_terminal:
        out.width = UNWRAPPED
    return out


def print_json(value: Any) -> None:
    """Write JSON to standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


@contextmanager
def spinner(text: str) -> Iterator[None]:
    """Show that something takes a moment, on a terminal only."""
    out = console(error=True)
    if not out.is_terminal:
        yield
        return
    with out.status(text):
        yield
