"""The command that takes a part of the concept graph out."""

from pathlib import Path

import networkx as nx
import pytest
from typer.testing import CliRunner, Result

from deploy.cli.app import app
from tests.index.simple import Feed, commit, open_writer

runner = CliRunner()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("store")
    writer, feed = open_writer(directory), Feed()
    commit(writer, [feed.upsert("a", "port ship crane\nport ship\nmill grain\nport-city crane")])
    writer.close()
    return directory


def export(store: Path, *arguments: object) -> Result:
    return runner.invoke(app, ["export", "--data", str(store), *map(str, arguments)])


@pytest.mark.parametrize(
    ("name", "read"), [("g.graphml", nx.read_graphml), ("g.gexf", nx.read_gexf)]
)
def test_the_form_follows_the_files_name(store: Path, tmp_path: Path, name: str, read) -> None:
    out = tmp_path / name
    done = export(store, "--concept", "port", "--out", out)
    assert done.exit_code == 0
    assert set(read(out)) == {"port", "ship", "crane"}
    assert "around port, 3 concepts and 3 ties" in done.output


@pytest.mark.parametrize("form", ["graphml", "gexf", "json", "svg"])
def test_every_form_is_written(store: Path, tmp_path: Path, form: str) -> None:
    out = tmp_path / "graph"
    done = export(store, "--community", 0, "--format", form, "--out", out)
    assert done.exit_code == 0
    assert "PORT" in out.read_text("utf-8").upper()
    assert [path.name for path in tmp_path.iterdir()] == ["graph"]


def test_what_was_left_out_is_told(store: Path, tmp_path: Path) -> None:
    done = export(store, "--all", "--limit", 2, "--out", tmp_path / "g.json")
    assert "2 concepts and 1 ties; left out: 4 concepts (--limit)" in done.output


def test_a_name_is_found_as_people_write_it(store: Path, tmp_path: Path) -> None:
    done = export(store, "--concept", "Ship", "--out", tmp_path / "g.svg")
    assert "around ship" in done.output


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--concept", "atlantis", "--out", "g.svg"], "holds no concept 'atlantis'"),
        (["--community", "77", "--out", "g.svg"], "holds no community 77"),
        (["--concept", "a", "--out", "g.svg"], "no chunk of generation 1 names 'a'"),
        (["--all", "--limit", "301", "--out", "no/where.svg"], "no/where.svg cannot be written"),
        (["--all", "--out", "graph.png"], "--format"),
        (["--out", "g.svg"], "one of --community"),
        (["--all", "--community", "1", "--out", "g.svg"], "one of --community"),
    ],
)
def test_a_mistake_is_told_and_writes_nothing(
    store: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    done = export(store, *arguments)
    assert done.exit_code == 1  # ``main`` turns the error into its line and its code
    assert says in str(done.exception)
    assert list(tmp_path.iterdir()) == []


def test_a_directory_is_no_file_to_write(store: Path, tmp_path: Path) -> None:
    (tmp_path / "g.svg").mkdir()
    done = export(store, "--all", "--out", tmp_path / "g.svg")
    assert "cannot be written" in str(done.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["g.svg"]
