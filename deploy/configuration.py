"""Where settings come from: flags, then environment, then file, then defaults.

The only reader of the environment together with ``machine``.
"""

import difflib
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import SecretStr, ValidationError
from pydantic_settings import EnvSettingsSource

from deploy.errors import SettingsError
from deploy.settings import Settings

PREFIX = "TIDEGRAPH_"
FILE_NAME = "tidegraph.toml"
OTHER_VARIABLES = frozenset({"TIDEGRAPH_CONFIG"})
MASK = "********"

Layer = tuple[Mapping[str, Any], Mapping[str, str]]
"""Values by name, and by name the place that each came from."""


@dataclass(frozen=True, slots=True)
class Explained:
    """One setting as it is in force; ``value`` is masked if secret."""

    name: str
    value: str
    origin: str


@dataclass(frozen=True, slots=True)
class Configuration:
    """The settings with the place that each one not at its default came from."""

    settings: Settings
    origins: Mapping[str, str]
    unknown_variables: tuple[str, ...] = ()

    def explain(self) -> list[Explained]:
        """Every setting with its value, masked if secret, and where it came from."""
        return [
            Explained(name, _shown(getattr(self.settings, name)), self.origins.get(name, "default"))
            for name in Settings.model_fields
        ]


def load(flags: Mapping[str, object] | None = None, config: Path | None = None) -> Configuration:
    """Put the layers together; the first that has a value wins.

    Args:
        flags: settings by name as the command line gave them; None means not given.
        config: the file to read; else ``TIDEGRAPH_CONFIG``, else ``tidegraph.toml`` if it is there.

    Raises:
        SettingsError: a file that cannot be read, an unknown name, a value that cannot be.
    """
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    layers: list[Layer] = [
        (given, {name: f"--{name.replace('_', '-')}" for name in given}),
        *_environment(),
        *_file(config),
    ]
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for layer, places in layers:
        for name, value in layer.items():
            if name not in values:
                values[name], origins[name] = value, places[name]
    try:
        settings = Settings(**values)
    except ValidationError as error:
        raise SettingsError(_story(error, origins)) from None
    return Configuration(settings, origins, tuple(_unknown_variables()))


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return PREFIX + name.upper()


def _environment() -> Iterator[Layer]:
    values = EnvSettingsSource(Settings, env_prefix=PREFIX)()
    yield values, {name: f"environment {variable(name)}" for name in values}
    secrets: dict[str, Any] = {}
    places: dict[str, str] = {}
    for name in secret_names():
        path = os.environ.get(f"{variable(name)}_FILE")
        if path:
            places[name] = f"environment {variable(name)}_FILE"
            secrets[name] = _text(Path(path), places[name]).strip()
    yield secrets, places


def _file(config: Path | None) -> Iterator[Layer]:
    variable_path = os.environ.get("TIDEGRAPH_CONFIG")
    named = config or (Path(variable_path) if variable_path else None)
    path = named or Path(FILE_NAME)
    if named is None and not path.exists():
        return
    try:
        values = tomllib.loads(_text(path, "the settings file"))
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: not TOML: {error}") from None
    for name in values:
        if name not in Settings.model_fields:
            raise SettingsError(f"{path}: there is no setting {name!r}{_nearest(name)}")
    yield values, dict.fromkeys(values, f"file {path}")


def _text(path: Path, what: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise SettingsError(f"{what}: cannot read {path}: {reason}") from None


def secret_names() -> list[str]:
    """The settings whose values are never shown."""
    return [
        name
        for name, field in Settings.model_fields.items()
        if SecretStr.__name__ in str(field.annotation)
    ]


def _unknown_variables() -> Iterator[str]:
    known = {variable(name) for name in Settings.model_fields} | OTHER_VARIABLES
    known |= {f"{variable(name)}_FILE" for name in secret_names()}
    for name in sorted(os.environ):
        if name.startswith(PREFIX) and name not in known and not name.startswith("TIDEGRAPH_TEST_"):
            yield name


def _nearest(name: str) -> str:
    near = difflib.get_close_matches(name, Settings.model_fields, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _story(error: ValidationError, origins: Mapping[str, str]) -> str:
    lines = []
    for problem in error.errors(include_url=False, include_input=False):
        name = str(problem["loc"][0])
        if problem["type"] == "extra_forbidden":
            lines.append(f"there is no setting {name!r}{_nearest(name)}")
        else:
            lines.append(f"{name} ({origins.get(name, 'default')}): {problem['msg']}")
    return "; ".join(lines)


def _shown(value: object) -> str:
    if isinstance(value, SecretStr):
        return MASK if value.get_secret_value() else ""
    if isinstance(value, tuple):
        return ", ".join(_shown(part) for part in value)
    return str(value)
