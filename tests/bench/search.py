"""Questions with known evidence: the lazy search beside its baselines, offline, budget 100."""

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from deploy.assembly.evaluating import Queries, read_queries, replayed
from deploy.configuration import load
from query.evaluate import EvaluationRow, Score, difference, scored, summary
from query.search import Engine
from query.types import Mode
from tests.bench.corpus import data_file
from tests.bench.table import Row

BUDGET = 100
MODES = (Mode.LAZY, Mode.HYBRID, Mode.VECTOR, Mode.BM25)
SETS = {
    "MuSiQue": ("musique100", ">= 0.95", ">= 0.7"),
    "HotpotQA": ("hotpotqa100", ">= 0.99", ">= 0.93"),
    "2Wiki": ("2wiki101", ">= 0.98", ">= 0.8"),
}
"""Name of the files, and what lazy search is to reach and to rank among its first ten."""

NOT_WORSE = ">= -0.02"
"""Lower bound of recall@10, lazy search less hybrid, question by question."""

_SEED = 0


def run(sets: Sequence[str] = tuple(SETS)) -> list[Row]:
    """All figures of the area; of some sets alone where they are named."""
    return [row for name in sets for row in judged(name, *SETS[name])]


def judged(name: str, stem: str, reached: str, in_ten: str) -> list[Row]:
    """One set, indexed as any documents are, with default settings."""
    documents = data_file(f"{stem}.docs.jsonl.gz")
    queries = read_queries(data_file(f"{stem}.queries.jsonl.gz"))
    with tempfile.TemporaryDirectory() as folder:
        settings = load({"data": Path(folder), "workers": 0}).settings
        with replayed(settings, documents, _told) as index:
            scores = {mode: asked(index.engine, queries, mode) for mode in MODES}
    rows = []
    for mode in MODES:
        found = summary(scores[mode], mode, BUDGET, np.random.default_rng(_SEED))
        targets = (reached, in_ten) if mode is Mode.LAZY else ("", "")
        rows += figures(f"{name}, {mode.value}", found, *targets)
    lazy, hybrid = scores[Mode.LAZY], scores[Mode.HYBRID]
    _, low, _ = difference(lazy, hybrid, "recall_10", np.random.default_rng(_SEED))
    return [*rows, Row(f"{name}, lazy less hybrid: in 10, lower bound", low, "share", NOT_WORSE)]


def asked(engine: Engine, queries: Queries, mode: Mode) -> list[Score]:
    """The score of each question; the first is asked twice, since it fills caches."""
    first = queries.judged[:1]
    list(scored(engine, first, mode, BUDGET, time.perf_counter))
    return list(scored(engine, queries.judged, mode, BUDGET, time.perf_counter))


def figures(name: str, found: EvaluationRow, reached: str, in_ten: str) -> list[Row]:
    """What is told of one mode."""
    return [
        Row(f"{name}: reached", found.reached, "share", reached),
        Row(f"{name}: in 10", found.recall_10, "share", in_ten),
        Row(f"{name}: all evidence in 10", found.all_evidence_10, "share"),
        Row(f"{name}: MRR", found.mrr, "share"),
        Row(f"{name}: tests", found.tests, "tests"),
        Row(f"{name}: latency, p95", found.latency_ms_p95, "ms"),
    ]


def _told(what: str, done: int, total: int | None) -> None:
    if done == total:
        sys.stderr.write(f"{what}: {done:,}\n")
