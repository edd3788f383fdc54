"""An evaluation from settings: documents replayed into a store, then every question asked."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from deploy import process
from deploy.assembly import serving, streams, writing
from deploy.assembly.streams import Origin, Told
from deploy.errors import UsageError
from deploy.settings import Settings
from index.store.connection import store_path
from index.view import SnapshotSource
from query.errors import QueryError
from query.evaluate import EvaluationRow, JudgedQuery, evaluate
from query.plan import checked
from query.search import Engine
from query.settings import SearchSettings
from query.types import Mode, Question
from stream.consumer import BatchReport
from stream.lines import LineReader
from stream.text import parse_json

MAX_LINE_BYTES = 1 << 20

JSON_NAMES = {
    "recall_5": "recall@5",
    "recall_10": "recall@10",
    "all_evidence_10": "all_evidence@10",
}
"""What JSON calls a measure, where that is no name in Python."""


@dataclass(frozen=True, slots=True)
class Queries:
    """Questions with known evidence; ``left_out`` had none and are not asked."""

    judged: tuple[JudgedQuery, ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class Replayed:
    """What answers over the replayed documents, and how many of them there are.

    ``rejected`` counts the documents refused in this run, by reason.
    """

    engine: Engine
    source: SnapshotSource
    documents: int
    rejected: Mapping[str, int]

    def missing(self, queries: Queries) -> int:
        """Evidence documents that are not in the index, and so cannot be found."""
        named = {name for query in queries.judged for name in query.evidence}
        with self.source.pin() as view:
            return sum(view.document(name) is None for name in named)


def modes_of(text: str) -> tuple[Mode, ...]:
    """``lazy,bm25`` taken apart. Raises ``UsageError``."""
    known = [mode.value for mode in Mode]
    names = _parts(text, "--modes")
    for name in names:
        if name not in known:
            raise UsageError(f"--modes: there is no mode {name!r}; known are {', '.join(known)}")
    return tuple(Mode(name) for name in names)


def budgets_of(text: str, largest: int) -> tuple[int, ...]:
    """``20,100`` taken apart, smallest first. Raises ``UsageError``."""
    return numbers_of(text, "--budgets", 1, largest)


def numbers_of(text: str, option: str, least: int, largest: int) -> tuple[int, ...]:
    """Whole numbers with commas between them, smallest first. Raises ``UsageError``."""
    numbers = []
    for part in _parts(text, option):
        if not (part.isascii() and part.isdigit() and least <= int(part) <= largest):
            raise UsageError(f"{option}: {part!r} is no whole number from {least} to {largest}")
        numbers.append(int(part))
    return tuple(sorted(set(numbers)))


def _parts(text: str, option: str) -> list[str]:
    """The parts between commas, each once."""
    parts = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not parts:
        raise UsageError(f"{option}: name at least one, several with commas between them")
    return parts


def read_queries(path: Path, *, evidence: bool = True) -> Queries:
    """Questions from JSON Lines, plain or gzip: ``id``, ``query``, ``evidence_doc_ids``.

    Where ``evidence`` is not needed those without any are kept too.

    Raises:
        UsageError: there is no such file, a line says no question, or none has evidence.
    """
    if not path.is_file():
        raise UsageError(f"--queries {path}: there is no such file")
    judged, left_out = [], 0
    for place, line in _lines(path):
        query = _query(place, line)
        if query.evidence or not evidence:
            judged.append(query)
        else:
            left_out += 1
    if not judged:
        what = f"none of its {left_out} questions names evidence" if left_out else "no question"
        raise UsageError(f"{path}: {what}")
    return Queries(tuple(judged), left_out)


def _lines(path: Path) -> Iterator[tuple[str, bytes]]:
    """Each line that is not empty, with the name of its place."""
    with closing(LineReader(path, MAX_LINE_BYTES)) as reader:
        while (line := reader.read(wait_for_end=False)) is not None:
            if line.content.strip():
                yield f"{path}, line {line.number + 1}", line.content


def _query(place: str, line: bytes) -> JudgedQuery:
    try:
        body = parse_json(line)
    except orjson.JSONDecodeError as error:
        raise UsageError(f"{place}: not JSON: {error}") from None
    if not isinstance(body, dict) or not isinstance(body.get("query"), str):
        raise UsageError(f'{place}: a question is an object with a text "query"')
    evidence = body.get("evidence_doc_ids") or []
    if not isinstance(evidence, list) or not all(isinstance(name, str) for name in evidence):
        raise UsageError(f'{place}: "evidence_doc_ids" is a list of document ids')
    if evidence:
        try:
            checked(Question(body["query"], 1), SearchSettings())
        except QueryError as error:
            raise UsageError(f"{place}: {error}") from None
    return JudgedQuery(body["query"], frozenset(evidence))


@contextmanager
def replayed(settings: Settings, documents: Path, told: Told) -> Iterator[Replayed]:
    """Replay a file through the ordinary ingestion and give what answers over it.

    A data directory that holds these documents from an earlier run is read on from there.

    Raises:
        UsageError: there is no such file, the data directory holds something else, or no
            document was accepted.
        KeyboardInterrupt: stopped while documents were read; those are kept.
    """
    origin = Origin(documents.absolute(), follow=False)
    if not documents.is_file():
        raise UsageError(f"--documents {documents}: there is no such file")
    _check_store(settings, origin)
    progress = _Progress(told)
    with writing.ingestion(settings, origin, progress.observe, told) as ingestion:
        progress.total = ingestion.remaining()
        with process.stop_on_signals() as stop:
            ingestion.consumer.run(stop, until_end=True)
        if stop.is_set():
            raise KeyboardInterrupt
        held = ingestion.writer.latest().head.totals.documents
        if not held:
            refused = rejections(progress.rejected)
            raise UsageError(f"{documents} holds no document; rejected: {refused}")
        engine = serving.engine(ingestion.writer, ingestion.analyzer, settings)
        yield Replayed(engine, ingestion.writer, held, progress.rejected)


def _check_store(settings: Settings, origin: Origin) -> None:
    """Other documents in the store would be ranked among those that are judged."""
    if not store_path(settings.data).exists():
        return
    fed = streams.remembered(settings)
    same = fed.file and origin.file and fed.file.resolve() == origin.file.resolve()
    if not same or (fed.form, dict(fed.only)) != (origin.form, dict(origin.only)):
        what = fed.file or f"the topic {settings.topic}"
        raise UsageError(
            f"{settings.data} holds the documents of {what}: name another directory by --data"
        )


def rejections(rejected: Mapping[str, int]) -> str:
    """How many documents were rejected, and for what reasons."""
    reasons = ", ".join(f"{reason}: {count:,}" for reason, count in sorted(rejected.items()))
    return f"{sum(rejected.values()):,}" + (f" ({reasons})" if reasons else "")


class _Progress:
    """Tells how far the replay has come and adds up what was rejected."""

    def __init__(self, told: Told) -> None:
        self._told = told
        self._records = 0
        self.total = 0
        self.rejected: dict[str, int] = {}

    def observe(self, report: writing.Observed) -> None:
        if not isinstance(report, BatchReport):
            return
        self._records += report.records
        for reason, count in report.generation.rejected.items():
            self.rejected[reason] = self.rejected.get(reason, 0) + count
        self._told("replaying documents", self._records, self.total)
        if self._records >= self.total:
            self._told("finding communities", 0, None)


def judge(
    engine: Engine,
    queries: Queries,
    modes: Sequence[Mode],
    budgets: Sequence[int],
    *,
    seed: int,
    told: Told,
) -> list[EvaluationRow]:
    """Ask all questions in every mode with every budget, telling which run is on.

    One question is asked before the clock counts: the first one prepares the concept graph.
    """
    told("preparing the first question", 0, None)
    engine.answer(Question(queries.judged[0].text, budgets[0], modes[0]))
    total, asked = len(modes) * len(budgets) * len(queries.judged), 0

    def run(name: str) -> None:
        nonlocal asked
        told(f"asking {name}", asked, total)
        asked += len(queries.judged)

    return evaluate(
        engine,
        queries.judged,
        modes,
        budgets,
        clock=time.perf_counter,
        seed=seed,
        told=run,
    )


def as_json(row: EvaluationRow, left_out: int) -> dict[str, Any]:
    """A row for programs; ``intervals`` bound 95% of the means, latencies in milliseconds."""
    return {
        "mode": row.mode,
        "budget": row.budget,
        "queries": row.queries,
        "left_out": left_out,
        "reached": row.reached,
        "recall@5": row.recall_5,
        "recall@10": row.recall_10,
        "mrr": row.mrr,
        "all_evidence@10": row.all_evidence_10,
        "latency_ms": row.latency_ms_median,
        "latency_ms_p95": row.latency_ms_p95,
        "relevance_tests": row.tests,
        "no_record": row.no_record,
        "intervals": {
            JSON_NAMES.get(name, name): list(bounds) for name, bounds in row.intervals.items()
        },
    }
