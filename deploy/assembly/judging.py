"""A comparison of answers: every way of answering asked every question, then judged in pairs."""

import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import orjson

from deploy.assembly.evaluating import Queries, Replayed
from deploy.assembly.models import models
from deploy.assembly.streams import Told
from deploy.errors import DeployError, UsageError
from deploy.settings import Settings
from query.evaluate import JudgedQuery
from query.judging import Comparison, compared, corrected
from query.model.calls import ModelError
from query.model.spending import Models
from query.search import Engine
from query.synthesis import synthesised
from query.types import BASELINES, CONTEXT, Mode, Question
from stream.text import parse_json

SYSTEM_SECONDS = 24 * 3600.0
"""A system that indexes with a model takes hours."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way of answering: a mode with its budget and its context."""

    mode: Mode
    budget: int
    context: int = CONTEXT

    @property
    def name(self) -> str:
        """As in the announcement: what a mode spends is part of what it is."""
        if self.mode in BASELINES:
            return f"{self.mode.value} {self.context // 1000}k"
        return f"{self.mode.value} {self.budget}"


@dataclass(frozen=True, slots=True)
class System:
    """Another system: a command that answers; see ``answers_of``."""

    name: str
    command: tuple[str, ...]


def ways_of(modes: Sequence[Mode], budgets: Sequence[int], contexts: Sequence[int]) -> list[Way]:
    """Each mode at each budget; a baseline, which spends none, at each context."""
    ways = []
    for mode in modes:
        if mode in BASELINES:
            ways += [Way(mode, budgets[-1], context) for context in contexts]
        else:
            ways += [Way(mode, budget) for budget in budgets]
    return ways


def systems_of(given: Sequence[str]) -> list[System]:
    """``NAME=COMMAND`` taken apart. Raises ``UsageError``."""
    found = []
    for one in given:
        name, _, command = one.partition("=")
        parts = tuple(shlex.split(command))
        if not name.strip() or not parts:
            raise UsageError(f"--system {one!r}: give NAME=COMMAND")
        found.append(System(name.strip(), parts))
    return found


def check(settings: Settings, ways: Sequence[Way], systems: Sequence[System]) -> None:
    """Raises ``UsageError`` before the work where nothing can be judged."""
    if not settings.model:
        raise UsageError("only a model can judge or make questions: set model and model_url")
    if not systems and all(way.mode is ways[0].mode for way in ways):
        raise UsageError("--judge compares the first mode with others: name another, or a --system")
    names = [*(way.name for way in ways), *(system.name for system in systems)]
    if len(set(names)) < len(names):
        raise UsageError("two ways of answering have the same name")


def made(settings: Settings, replayed: Replayed, count: int) -> Queries:
    """As many local questions made by the model, and as many global ones.

    Raises:
        DeployError: it gave no reply, or no question that could be asked.
    """
    with closing(_judge(settings)) as model, replayed.source.pin() as view:
        graph = replayed.engine.graphs.of(view.snapshot)
        random = Random(settings.seed)  # noqa: S311  draws passages
        try:
            found = synthesised(model, view, graph, count, random)
        except ModelError as error:
            raise DeployError(f"the model made no questions: {error}") from error
    if not found:
        raise DeployError("the model made no question that could be asked")
    evidence = [frozenset({q.document_id} - {""}) for q in found]
    judged = [JudgedQuery(q.text, known) for q, known in zip(found, evidence, strict=True)]
    return Queries(tuple(judged), sum(not known for known in evidence))


def _judge(settings: Settings) -> Models:
    model = models(settings, lambda _: None)
    if model is None:
        raise UsageError("without a model nothing can be judged")
    return model


def judged(
    settings: Settings,
    engine: Engine,
    documents: Path,
    queries: Queries,
    ways: Sequence[Way],
    systems: Sequence[System],
    *,
    trials: int,
    told: Told,
) -> tuple[list[Comparison], dict[str, list[str]]]:
    """The first mode's ways against all others, and every answer by the name of its way.

    Raises:
        UsageError: a system failed.
    """
    texts = [query.text for query in queries.judged]
    answers: dict[str, list[str]] = {}
    ours = [way.name for way in ways if way.mode is ways[0].mode]
    theirs = [way.name for way in ways if way.mode is not ways[0].mode]
    theirs += [system.name for system in systems]
    with closing(_judge(settings)) as model:
        for way in ways:
            told(f"asking {way.name}", 0, len(texts))
            answers[way.name] = [
                engine.answer(Question(text, way.budget, way.mode, context=way.context)).text
                for text in texts
            ]
        for system in systems:
            told(f"asking {system.name}", 0, len(texts))
            answers[system.name] = answers_of(settings, system, documents, texts)
        found: list[Comparison] = []
        for mine in ours:
            for other in theirs:
                told(f"judging {mine} against {other}", 0, len(texts))
                pair = (mine, answers[mine]), (other, answers[other])
                random = np.random.default_rng(settings.seed)
                found += compared(model, texts, *pair, trials=trials, random=random)
    return corrected(found), answers


def answers_of(
    settings: Settings, system: System, documents: Path, texts: Sequence[str]
) -> list[str]:
    """Run another system's command and read its answers.

    It gets the options ``--documents`` (JSON Lines as in ``evaluate``, plain or gzip),
    ``--queries`` (``id``, ``query``) and ``--answers`` (to be written: ``id``, ``answer``), and
    the model by the variables ``TIDEGRAPH_MODEL``, ``TIDEGRAPH_MODEL_URL`` and
    ``TIDEGRAPH_MODEL_KEY``.

    Raises:
        UsageError: it cannot be run, failed, or left a question without an answer.
    """
    with tempfile.TemporaryDirectory(prefix="tidegraph-system-") as folder:
        asked, said = Path(folder) / "queries.jsonl", Path(folder) / "answers.jsonl"
        rows = [{"id": str(number), "query": text} for number, text in enumerate(texts)]
        asked.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
        command = [*system.command, "--documents", str(documents.absolute())]
        command += ["--queries", str(asked), "--answers", str(said)]
        given = {
            "TIDEGRAPH_MODEL": settings.model,
            "TIDEGRAPH_MODEL_URL": settings.model_url,
            "TIDEGRAPH_MODEL_KEY": settings.model_key.get_secret_value(),
        }
        try:
            done = subprocess.run(  # noqa: S603  the command is the user's own
                command, env={**os.environ, **given}, timeout=SYSTEM_SECONDS, check=False
            )
            lines = said.read_bytes().splitlines() if said.exists() else []
        except (OSError, subprocess.TimeoutExpired) as error:
            raise UsageError(f"--system {system.name}: {error}") from None
    if done.returncode:
        raise UsageError(f"--system {system.name} ended with {done.returncode}")
    return _answers(system.name, lines, len(texts))


def _answers(name: str, lines: Sequence[bytes], count: int) -> list[str]:
    found: dict[str, str] = {}
    for line in lines:
        try:
            row: Any = parse_json(line)
        except orjson.JSONDecodeError:
            row = None
        if isinstance(row, Mapping) and isinstance(row.get("answer"), str):
            found[str(row.get("id"))] = row["answer"]
    missing = [number for number in range(count) if str(number) not in found]
    if missing:
        raise UsageError(f"--system {name} gave no answer to {len(missing)} of {count} questions")
    return [found[str(number)] for number in range(count)]
