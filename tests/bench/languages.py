"""Analysis of mixed languages against English, by processor time, in one run.

A word is what stands between spaces; in scripts without spaces two letters count as one word.
"""

import time
from collections.abc import Sequence
from datetime import UTC, datetime

from index.analysis.analyzer import Analyzer
from index.analysis.scripts import pieces
from index.analysis.settings import AnalyzerSettings
from index.types import Document, DocumentId
from tests.bench.corpus import documents
from tests.bench.table import Row

CORPUS = "debian_news_multi.docs.jsonl.gz"
_WORDS = 50_000
_WARM = 20
_MOMENT = datetime(2018, 1, 1, tzinfo=UTC)


def run() -> list[Row]:
    """All figures of languages; part of the area ``breadth``."""
    items = documents(CORPUS)
    english = _sample([item for item in items if item["lang"] == "en"])
    mixed = _sample([item for item in items if item["lang"] != "en"])
    analyzer = Analyzer(AnalyzerSettings())
    for warm in (english[:_WARM], mixed):  # word lists and dictionaries are read once
        analyzer.analyze(warm)
    ours, theirs = _speed(analyzer, mixed), _speed(analyzer, english)
    return [
        Row("analysis of English", theirs, "words/CPU-s"),
        Row(f"analysis of {len({d.lang for d in mixed})} languages", ours, "words/CPU-s"),
        Row("mixed languages to English", ours / theirs, "ratio", ">= 0.5"),
    ]


def _sample(items: Sequence[dict]) -> list[Document]:
    """Every nth document, so that all times and languages stand in it, about _WORDS words."""
    total = sum(_words(item["text"]) for item in items)
    step = max(1, round(total / _WORDS))
    return [
        Document(DocumentId(i["id"]), i["title"], i["text"], "", "", i["lang"], _MOMENT, _MOMENT)
        for i in items[::step]
    ]


def _words(text: str) -> int:
    return sum(max(1, len(word) // 2) if pieces(word) != [word] else 1 for word in text.split())


def _speed(analyzer: Analyzer, batch: Sequence[Document]) -> float:
    started = time.process_time()
    for at in range(0, len(batch), 50):
        analyzer.analyze(batch[at : at + 50])
    return sum(_words(d.text) for d in batch) / (time.process_time() - started)
