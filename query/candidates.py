"""What an assessor is shown: the texts behind ranked chunks, loaded when they are asked for."""

from collections.abc import Iterable, Sequence

import numpy as np

from index.types import Float32Array
from index.view import StoredChunk, StoredDocument, View
from query.assessor import Candidate
from query.graph import SearchGraph, listed
from query.language import Language
from query.plan import Subquery
from query.ranking import Ranking


class Texts:
    """Chunks and documents of one view, each loaded at most once in a search."""

    def __init__(self, view: View, language: Language) -> None:
        self._view = view
        self._language = language
        self._chunks: dict[int, StoredChunk] = {}
        self._documents: dict[int, StoredDocument] = {}
        self._sentences: dict[int, tuple[tuple[int, int], ...]] = {}

    def load(self, slots: Iterable[int]) -> None:
        """Have the chunks of these slots and their documents at hand."""
        fresh = [slot for slot in slots if slot not in self._chunks]
        if not fresh:
            return
        for chunk in self._view.chunks(fresh):
            self._chunks[chunk.slot] = chunk
        numbers = {self._chunks[slot].document for slot in fresh} - self._documents.keys()
        self._documents.update(self._view.documents(sorted(numbers)))

    def chunk(self, slot: int) -> StoredChunk:
        """A chunk that was loaded."""
        return self._chunks[slot]

    def document(self, slot: int) -> StoredDocument:
        """The document of a chunk that was loaded."""
        return self._documents[self._chunks[slot].document]

    def sentences(self, slot: int) -> tuple[tuple[int, int], ...]:
        """Offsets of the sentences of a loaded chunk, into its text."""
        if slot not in self._sentences:
            text = self._chunks[slot].text
            self._sentences[slot] = tuple(self._language.sentences(text)) or ((0, len(text)),)
        return self._sentences[slot]


class Candidates:
    """The ranked chunks of one subquery as candidates for a test, by slot."""

    def __init__(
        self, subquery: Subquery, ranking: Ranking, graph: SearchGraph, texts: Texts
    ) -> None:
        slots = graph.snapshot.slots[ranking.rows].tolist()
        self.subquery = subquery
        self.place = {slot: place for place, slot in enumerate(slots)}
        self._ranking = ranking
        self._graph = graph
        self._texts = texts
        self._named = _named(subquery, ranking, graph)
        self._top = float(ranking.scores[0]) if len(slots) else 1.0

    def of(self, slots: Sequence[int]) -> list[Candidate]:
        """Candidates in the order of the slots; chunks outside the ranking have no signals."""
        self._texts.load(slots)
        return [self._candidate(slot) for slot in slots]

    def score(self, slot: int) -> float:
        """The ranking's score of a chunk, 0 outside it."""
        place = self.place.get(slot)
        return 0.0 if place is None else float(self._ranking.scores[place])

    def _candidate(self, slot: int) -> Candidate:
        place = self.place.get(slot)
        known = place is not None
        return Candidate(
            slot=slot,
            title=self._texts.document(slot).title,
            text=self._texts.chunk(slot).text,
            sentences=self._texts.sentences(slot),
            similarity=float(self._ranking.similarity[place]) if known else 0.0,
            lexical=float(self._ranking.text[place]) if known else 0.0,
            named=float(self._named[place]) if known else 0.0,
            prior=float(self._ranking.scores[place]) / self._top if known else 0.0,
        )


def _named(subquery: Subquery, ranking: Ranking, graph: SearchGraph) -> Float32Array:
    """float32[n]: the share (by idf) of a subquery's concepts that each chunk or title names."""
    weights = subquery.weights(graph)
    total = float(weights.sum())
    if not total:
        return np.zeros(len(ranking.rows), np.float32)
    documents = graph.snapshot.chunk_document[ranking.rows]
    lists = (listed(graph.chunks, ranking.rows), listed(graph.titles, documents))
    places = np.arange(len(documents))
    owner = np.concatenate([np.repeat(places, each.sizes()) for each in lists])
    concepts = np.concatenate([each.concepts for each in lists])
    met, wide = np.flatnonzero(weights[concepts]), len(weights)
    pairs = np.unique(owner[met] * wide + concepts[met])
    named = np.bincount(pairs // wide, weights[pairs % wide] / total, len(documents))
    return named.astype(np.float32)
