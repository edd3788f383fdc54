"""The command that has GraphRAG answer, against a stand-in for its command line."""

import argparse
import json
import sys

import pytest

from deploy.systems import run_graphrag

SETTINGS = """
completion_models:
  default_completion_model:
    api_key: ${GRAPHRAG_API_KEY} # set this
embedding_models:
  default_embedding_model:
    api_key: ${GRAPHRAG_API_KEY}
input:
  type: text # [csv, text, json, jsonl]
input_storage:
  type: file # [file, blob, cosmosdb]
"""
STAND_IN = f"""
import pathlib, sys
command, root = sys.argv[1], pathlib.Path(sys.argv[3])
with open("calls", "a") as calls:
    print(*sys.argv[1:], file=calls)
if command == "init":
    (root / "settings.yaml").write_text({SETTINGS!r})
if command == "query":
    print("It ended on day one [Data: Reports (0, 3)].")
"""


def given(**more):
    return argparse.Namespace(embedding="e", embedding_url="http://e/v1", **more)


def test_the_model_and_the_embeddings_have_their_own_addresses_and_the_input_is_json_lines():
    found = run_graphrag.configured(SETTINGS, given(), {"TIDEGRAPH_MODEL_URL": "http://m/v1"})
    before, after = found.split("embedding_models")
    assert "api_base: http://m/v1" in before
    assert "api_base: http://e/v1" in after
    assert "input:\n  type: jsonl\n  id_column: id\n" in found
    assert "input_storage:\n  type: file" in found


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Run it in a folder with a stand-in for ``python -m graphrag``; what it was called with."""
    (tmp_path / "graphrag.py").write_text(STAND_IN)
    (tmp_path / "docs.jsonl").write_text('{"id": "d1", "title": "Strike", "text": "It ended."}\n')
    (tmp_path / "queries.jsonl").write_text('{"id": "0", "query": "When did it end?"}\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("TIDEGRAPH_MODEL", "m")

    def run(*more):
        files = ("--documents", "docs.jsonl", "--queries", "queries.jsonl", "--answers", "said")
        monkeypatch.setattr(sys, "argv", ["run", "--root", "root", *files, *more])
        run_graphrag.main()
        return (tmp_path / "calls").read_text().splitlines()

    return run


def test_documents_are_indexed_once_and_every_question_is_asked(tmp_path, asked):
    asked("--method", "local")
    calls = asked("--method", "global", "--level", "2", "--dynamic")
    assert [call.split()[0] for call in calls] == ["init", "index", "query", "query"]
    assert "--community-level 2 --dynamic-community-selection When did it end?" in calls[-1]
    said = json.loads((tmp_path / "said").read_text())
    assert said == {"id": "0", "answer": "It ended on day one."}
    given_to_it = json.loads((tmp_path / "root/input/documents.jsonl").read_text())
    assert given_to_it == {"id": "d1", "title": "Strike", "text": "Strike\n\nIt ended."}


def test_a_command_that_fails_ends_with_its_code(asked, tmp_path):
    (tmp_path / "graphrag.py").write_text("import sys; sys.exit(3)")
    with pytest.raises(SystemExit, match="3"):
        asked()
