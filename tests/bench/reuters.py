"""Questions to Reuters whole: those that it cannot answer, those that it can, how long they take.

``unanswerable.tsv`` holds 50 questions, each with a name or word in it that no story has; the
bench checks that first. ``answerable.txt`` holds 30 whose answers are there: a search that refused
everything would pass the first alone.
"""

import re
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from query.search import Engine
from query.types import Outcome, Question
from tests.bench import progress
from tests.bench.corpus import documents
from tests.bench.pipeline import percentile
from tests.bench.table import Row

FILE = "reuters21578.docs.jsonl.gz"
BUDGET = 100
_HERE = Path(__file__).parent


def unanswerable() -> dict[str, str]:
    """Questions with what each names that is nowhere in the corpus."""
    lines = (_HERE / "unanswerable.tsv").read_text("utf-8").splitlines()
    return dict(line.split("\t") for line in lines)


def answerable() -> list[str]:
    """Questions that stories of the corpus answer."""
    return (_HERE / "answerable.txt").read_text("utf-8").splitlines()


def refused(engine: Engine) -> list[Row]:
    """How many of both kinds get "no record"."""
    absent = unanswerable()
    progress.told(
        f"Reuters: {len(absent)} questions without an answer, {len(answerable())} with one"
    )
    present = _held(absent.values())
    if present:
        raise AssertionError(f"the corpus holds {present}")
    return [
        Row(
            "Reuters: no record of what is absent", _refused(engine, list(absent)), "of 50", ">= 45"
        ),
        Row("Reuters: no record of what is there", _refused(engine, answerable()), "of 30", "<= 1"),
    ]


def _refused(engine: Engine, texts: Sequence[str]) -> int:
    answers = [engine.answer(Question(text, BUDGET)) for text in texts]
    return sum(answer.outcome is not Outcome.ANSWERED for answer in answers)


def _held(names: Iterable[str]) -> list[str]:
    """Those of some names that a story has as whole words."""
    stories = (f"{story['title']} {story['text']}" for story in documents(FILE))
    corpus = " ".join(" ".join(stories).lower().split())
    return [name for name in names if re.search(rf"(?<!\w){re.escape(name.lower())}(?!\w)", corpus)]


def latency(engine: Engine, texts: Sequence[str]) -> list[Row]:
    """How long whole questions take, offline, one after another."""
    seconds, processor = [], []
    progress.told("Reuters: latencies")
    for text in [*texts, *answerable()]:
        started, used = time.perf_counter(), time.process_time()
        engine.answer(Question(text, BUDGET))
        seconds.append(time.perf_counter() - started)
        processor.append(time.process_time() - used)
    return [
        Row("Reuters, question: median", percentile(seconds, 50) * 1000, "ms"),
        Row("Reuters, question: processor time, p95", percentile(processor, 95) * 1000, "ms"),
        Row("Reuters, question: p95", percentile(seconds, 95) * 1000, "ms", "<= 300"),
    ]
