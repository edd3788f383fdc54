"""Settings: their layers, their origins, and what is said of a wrong one."""

from pathlib import Path

import pytest

from deploy.configuration import MASK, load, secret_names, variable
from deploy.errors import SettingsError
from deploy.settings import Settings
from deploy.settings_table import table


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_flag_wins_over_the_environment_over_the_file_over_the_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("tidegraph.toml").write_text('port = 3\nworkers = 3\ntopic = "file"\n', "utf-8")
    monkeypatch.setenv("TIDEGRAPH_PORT", "2")
    monkeypatch.setenv("TIDEGRAPH_WORKERS", "2")
    found = load({"port": 1, "budget": None})
    assert (found.settings.port, found.settings.workers, found.settings.topic) == (1, 2, "file")
    assert found.settings.budget == Settings.model_fields["budget"].default
    origins = {setting.name: setting.origin for setting in found.explain()}
    assert origins["port"] == "--port"
    assert origins["workers"] == "environment TIDEGRAPH_WORKERS"
    assert origins["topic"] == "file tidegraph.toml"
    assert origins["budget"] == "default"


def test_a_secret_is_read_from_a_file_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("keys").write_text("sesame\nthyme\n", "utf-8")
    monkeypatch.setenv("TIDEGRAPH_API_KEYS_FILE", "keys")
    found = load()
    assert [key.get_secret_value() for key in found.settings.api_keys] == ["sesame", "thyme"]
    shown = {setting.name: setting for setting in found.explain()}["api_keys"]
    assert shown.value == f"{MASK}, {MASK}"
    assert shown.origin == "environment TIDEGRAPH_API_KEYS_FILE"
    assert "sesame" not in repr(found)


def test_every_secret_is_known_as_one() -> None:
    """By its type, or by a name that says so: a secret kept as plain text would be shown."""
    telling = ("key", "password", "secret", "token")
    suspects = {name for name in Settings.model_fields if name.endswith((*telling, "keys"))}
    assert suspects <= set(secret_names())
    assert "api_keys" in secret_names()


def test_keys_are_separated_by_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEGRAPH_API_KEYS", "a, b,")
    assert [key.get_secret_value() for key in load().settings.api_keys] == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("workers", "-1", "workers"),
        ("port", "http", "port"),
        ("log_format", "xml", "log_format"),
        ("window", "0d", "window"),
        ("window", "a month", "window"),
    ],
)
def test_a_value_that_cannot_be_names_the_setting_and_its_place(
    name: str, value: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable(name), value)
    with pytest.raises(SettingsError, match=rf"{says} \(environment {variable(name)}\)"):
        load()


def test_an_unknown_setting_is_refused_with_the_nearest_one() -> None:
    Path("tidegraph.toml").write_text("wrokers = 3\n", "utf-8")
    with pytest.raises(SettingsError, match="'wrokers'; did you mean 'workers'"):
        load()
    Path("tidegraph.toml").unlink()
    with pytest.raises(SettingsError, match="'wrokers'; did you mean 'workers'"):
        load({"wrokers": 3})


def test_an_unknown_variable_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEGRAPH_WROKERS", "2")
    assert load().unknown_variables == ("TIDEGRAPH_WROKERS",)


@pytest.mark.parametrize("content", [b"port = ", b"\xff\xfe"])
def test_a_file_that_is_not_toml_is_refused_by_name(content: bytes) -> None:
    Path("other.toml").write_bytes(content)
    with pytest.raises(SettingsError, match=r"other\.toml"):
        load(config=Path("other.toml"))


def test_a_named_file_that_is_missing_is_an_error() -> None:
    with pytest.raises(SettingsError, match="No such file"):
        load(config=Path("missing.toml"))


def test_the_table_has_every_setting_with_a_meaning() -> None:
    text = table()
    for name, field in Settings.model_fields.items():
        assert f"| `{name}` | `{variable(name)}`" in text
        assert field.description
