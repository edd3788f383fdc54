"""Judging the search: an invented corpus whose figures can be worked out by hand."""

import gzip
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from deploy.assembly.evaluating import (
    Queries,
    as_json,
    budgets_of,
    judge,
    modes_of,
    read_queries,
    replayed,
)
from deploy.cli import figures
from deploy.configuration import load
from deploy.errors import DeployError, UsageError
from query.evaluate import EvaluationRow, JudgedQuery
from query.types import Mode
from stream.errors import StreamError

ROOT = Path(__file__).resolve().parents[2]

DOCUMENTS = [
    {"id": "d0", "title": "Plains", "text": "A quagga grazed beside the river at dawn."},
    {"id": "d1", "title": "Forest", "text": "An okapi hid between two old trees."},
    {"id": "d2", "title": "Lynx", "text": "The lynx sleeps. A lynx hunts at night. One lynx."},
    {"id": "d3", "title": "Report", "text": "Rangers wrote of weather, roads and one lynx track."},
    {"id": "d4", "title": "Harbour", "text": "Ships unloaded coffee and timber all week."},
]
QUERIES = [
    # Found first; found first, and one that is not there; found second; nothing to find.
    {"id": "q0", "query": "quagga", "evidence_doc_ids": ["d0"]},
    {"id": "q1", "query": "okapi", "evidence_doc_ids": ["d1", "d9"]},
    {"id": "q2", "query": "lynx", "evidence_doc_ids": ["d3"]},
    {"id": "q3", "query": "walrus", "evidence_doc_ids": []},
]
NAMES = {
    "mode",
    "budget",
    "queries",
    "left_out",
    "reached",
    "recall@5",
    "recall@10",
    "mrr",
    "all_evidence@10",
    "latency_ms",
    "latency_ms_p95",
    "relevance_tests",
    "no_record",
    "intervals",
}


@dataclass(frozen=True)
class Done:
    folder: Path
    rows: list[dict]
    told: str


def written(path: Path, found: list[dict]) -> Path:
    lines = "".join(json.dumps(one) + "\n" for one in found).encode()
    path.write_bytes(gzip.compress(lines) if path.suffix == ".gz" else lines)
    return path


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """The command run once as a user runs it."""
    folder = tmp_path_factory.mktemp("evaluate")
    documents = written(folder / "documents.jsonl", [*DOCUMENTS, {"id": "d5", "text": ""}])
    queries = written(folder / "queries.jsonl.gz", QUERIES)
    command = [sys.executable, "-m", "deploy.cli", "evaluate", "--json", "--workers", "0"]
    command += ["--documents", str(documents), "--queries", str(queries), "--data", "index"]
    command += ["--modes", "bm25,lazy", "--budgets", "50,1"]
    command += ["--markdown", "table.md", "--plot", "plot.svg"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return Done(folder, json.loads(process.stdout), process.stderr)


def test_there_is_a_row_for_every_mode_and_budget(done: Done) -> None:
    assert [(row["mode"], row["budget"]) for row in done.rows] == [
        ("bm25", 1),
        ("bm25", 50),
        ("lazy", 1),
        ("lazy", 50),
    ]
    assert all(set(row) == NAMES for row in done.rows)


def test_figures_are_those_worked_out_by_hand(done: Done) -> None:
    """Full text, whose ranking is known: 1st, 1st of two with one absent, 2nd."""
    narrow, wide = done.rows[:2]
    assert (wide["queries"], wide["left_out"]) == (3, 1)
    assert wide["reached"] == pytest.approx((1 + 1 / 2 + 1) / 3)
    assert narrow["reached"] == pytest.approx((1 + 1 / 2 + 0) / 3)
    for row in (narrow, wide):
        assert row["recall@5"] == row["recall@10"] == pytest.approx((1 + 1 / 2 + 1) / 3)
        assert row["mrr"] == pytest.approx((1 + 1 + 1 / 2) / 3)
        assert row["all_evidence@10"] == pytest.approx(2 / 3)
        assert row["relevance_tests"] == 0
    low, high = wide["intervals"]["recall@10"]
    assert 1 / 2 <= low < wide["recall@10"] < high <= 1


def test_the_ledger_tells_the_tests_spent(done: Done) -> None:
    one, fifty = done.rows[2:]
    assert 0 < one["relevance_tests"] <= 1
    assert one["relevance_tests"] < fifty["relevance_tests"] <= len(DOCUMENTS)
    assert 0 < one["latency_ms"] <= one["latency_ms_p95"]


def test_what_cannot_count_is_told_beside_the_rows(done: Done) -> None:
    assert "documents rejected: 1 (" in done.told
    assert "evidence documents that are not in the index: 1" in done.told
    assert "questions left out, since they name no evidence: 1" in done.told
    assert "asking bm25 at 50" in done.told


def test_the_table_and_the_plot_hold_every_row(done: Done) -> None:
    lines = (done.folder / "table.md").read_text("utf-8").splitlines()
    assert [line.split(" | ")[:2] for line in lines if line.startswith(("| bm25", "| lazy"))] == [
        ["| bm25", "1"],
        ["| bm25", "50"],
        ["| lazy", "1"],
        ["| lazy", "50"],
    ]
    plot = ET.parse(done.folder / "plot.svg")  # noqa: S314  our own
    circles = plot.findall(".//{http://www.w3.org/2000/svg}circle")
    assert len(circles) == len(done.rows) * len(figures.PLOTTED)


def test_a_kept_index_is_read_on_and_no_other_is_mixed_in(done: Done) -> None:
    settings = load({"data": done.folder / "index", "workers": 0}).settings
    queries = Queries((JudgedQuery("quagga", frozenset({"d0"})),), 0)
    told: list[str] = []

    def tell(what: str, _done: int, _total: int | None) -> None:
        told.append(what)

    same = done.folder / "index" / ".." / "documents.jsonl"
    with replayed(settings, same, tell) as kept:
        assert kept.documents == len(DOCUMENTS)
        rows = judge(kept.engine, queries, [Mode.BM25], [5], seed=0, told=tell)
    assert "replaying documents" not in told
    assert as_json(rows[0], 0)["mrr"] == 1
    other = written(done.folder / "other.jsonl", DOCUMENTS)
    with (
        pytest.raises(UsageError, match=r"holds the documents of .*documents\.jsonl"),
        replayed(settings, other, tell),
    ):
        pass


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"{", "line 2: not JSON"),
        (b"\xff\xfe", "line 2: not JSON"),
        (b"[1]", "line 2: a question is an object"),
        (b'{"id": "q"}', "line 2: a question is an object"),
        (b'{"query": "who?", "evidence_doc_ids": "d1"}', "line 2: .* list of document ids"),
        (b'{"query": "?!", "evidence_doc_ids": ["d1"]}', "line 2: the question is empty"),
    ],
)
def test_a_bad_line_is_named(line: bytes, says: str, tmp_path: Path) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_bytes(b'{"query": "who?", "evidence_doc_ids": ["d1"]}\n' + line + b"\n")
    with pytest.raises(UsageError, match=says):
        read_queries(path)


def test_questions_without_any_evidence_cannot_be_judged(tmp_path: Path) -> None:
    path = written(tmp_path / "queries.jsonl", [{"query": "who?"}])
    with pytest.raises(UsageError, match="none of its 1 questions"):
        read_queries(path)


def test_a_broken_archive_is_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "queries.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(QUERIES[0]).encode() * 50)[:-20])
    with pytest.raises((DeployError, StreamError), match=r"queries\.jsonl\.gz"):
        read_queries(path)


def test_a_file_that_is_no_document_is_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "documents.jsonl"
    path.write_text("not JSON\n", "utf-8")
    settings = load({"data": tmp_path / "index", "workers": 0}).settings
    with (
        pytest.raises(UsageError, match=r"holds no document; .*not_json: 1"),
        replayed(settings, path, lambda _what, _done, _total: None),
    ):
        pass


@pytest.mark.parametrize("text", ["", " , ", "best", "lazy;bm25", "LAZY"])
def test_a_mode_must_be_known(text: str) -> None:
    with pytest.raises(UsageError, match="--modes"):
        modes_of(text)


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5", "many", "101", "²"])
def test_a_budget_is_a_number_within_the_limit(text: str) -> None:
    with pytest.raises(UsageError, match="--budgets"):
        budgets_of(text, 100)


def test_modes_and_budgets_count_once() -> None:
    assert modes_of("bm25, lazy,bm25") == (Mode.BM25, Mode.LAZY)
    assert budgets_of("100, 20,100", 100) == (20, 100)


def test_a_plot_of_one_budget_can_be_drawn() -> None:
    """A logarithmic axis of one point has no length."""
    bounds = dict.fromkeys(figures.MEASURES, (0.4, 0.6))
    row = EvaluationRow("lazy", 1, 2, 0.5, 0.5, 0.5, 0.5, 0.5, 0.0, 1.0, 2.0, 3.0, bounds)
    plot = ET.fromstring(figures.svg([row]))  # noqa: S314  our own
    assert len(plot.findall(".//{http://www.w3.org/2000/svg}circle")) == len(figures.PLOTTED)
