"""Prepared analyses of a corpus: the concept numbers of every chunk, kept in ``build/bench``.

Analysing Reuters takes minutes and is no part of what ``core`` measures, so it is done once.
"""

from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

import numpy as np

from index.types import Analysis, ConceptKey, Document, DocumentId, Int32Array, Int64Array
from tests.bench.corpus import documents
from tests.bench.table import BUILD

REUTERS = "reuters21578.docs.jsonl.gz"
_BATCH = 512


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """Documents in the order of the corpus, as chunks of concept numbers.

    ``days`` int32: of each document, days since 1970. Document i is ``chunks(i)``.
    """

    days: Int32Array
    documents: Int64Array  # int64[n + 1]: offsets into chunk_offsets
    chunk_offsets: Int64Array
    concepts: Int32Array
    concept_count: int

    def chunks(self, document: int) -> list[Int32Array]:
        """The chunks of a document, each its sorted concept numbers."""
        first, end = self.documents[document : document + 2].tolist()
        cuts = self.chunk_offsets[first : end + 1].tolist()
        return [self.concepts[a:b] for a, b in pairwise(cuts)]


def reuters() -> Prepared:
    """All stories of Reuters-21578 that have a text."""
    path = BUILD / "reuters.npz"
    if not path.exists():
        BUILD.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part.npz")
        np.savez(part, *_analysed())
        part.replace(path)
    with np.load(path) as kept:
        columns = [kept[name] for name in kept.files]
    return Prepared(*columns, concept_count=int(columns[-1].max()) + 1)


def _analysed() -> tuple[Int32Array, Int64Array, Int64Array, Int32Array]:
    from index.analysis.analyzer import Analyzer
    from index.analysis.settings import AnalyzerSettings

    analyzer = Analyzer(AnalyzerSettings())
    numbers: dict[ConceptKey, int] = {}
    days, chunk_counts, lengths, concepts = [], [0], [0], []
    stories = [_document(line) for line in documents(REUTERS)]
    for at in range(0, len(stories), _BATCH):
        batch = stories[at : at + _BATCH]
        for story, analysis in zip(batch, analyzer.analyze(batch), strict=True):
            if not isinstance(analysis, Analysis):
                continue
            days.append(int(story.event_at.timestamp() // 86_400))
            chunk_counts.append(len(analysis.chunks))
            for chunk in analysis.chunks:
                found = sorted(numbers.setdefault(m.key, len(numbers)) for m in chunk.mentions)
                lengths.append(len(found))
                concepts += found
    return (
        np.array(days, np.int32),
        np.cumsum(chunk_counts),
        np.cumsum(lengths),
        np.array(concepts, np.int32),
    )


def _document(line: dict) -> Document:
    published = datetime.fromisoformat(line["published_at"])
    return Document(
        DocumentId(line["id"]), line["title"], line["text"], "", "", "en", published, published
    )
