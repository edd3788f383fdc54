"""The analyzer: documents in, analyses out, a pure function of each and of the fingerprint."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from threading import Lock

import numpy as np

from index.analysis import chunking, normalise
from index.analysis.chunking import Span, chunk_spans
from index.analysis.embedder import make_embedder
from index.analysis.extraction import (
    ConceptExtractor,
    EnglishExtractor,
    PlainExtractor,
    distinct,
)
from index.analysis.facets import facets
from index.analysis.fingerprint import Fingerprint
from index.analysis.languages import LanguageDetector, base_language, language_of_short
from index.analysis.piped import PipedExtractor
from index.analysis.pipelines import pipelines
from index.analysis.sentences import sentence_spans
from index.analysis.settings import AnalyzerSettings
from index.analysis.tagging import Tagger
from index.analysis.titles import candidate_keys, readable_title, title_mentions
from index.errors import EmbedderError
from index.types import (
    Analysis,
    AnalyzedChunk,
    ConceptKey,
    Document,
    Facet,
    Float32Array,
    Mention,
    Reason,
    Rejected,
)

_UNREADABLE = re.compile("[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff]")
_LONGEST_TITLE = 500


@dataclass(frozen=True, slots=True)
class _Draft:
    """A document on its way: its readable text, language and chunks, and its readable title."""

    document: Document
    text: str
    title: str
    lang: str
    spans: tuple[Span, ...]

    def pieces(self) -> list[str]:
        """The texts for the extractor: the chunks, then the title."""
        chunks = [self.text[span.start : span.end] for span in self.spans]
        return [*chunks, readable_title(self.title)]


class Analyzer:
    """Chunks, concepts, facets and vectors of documents.

    Loading the models takes a second or two. Calls from several threads wait for each other.
    """

    def __init__(self, settings: AnalyzerSettings) -> None:
        self._settings = settings
        tagger = Tagger(settings.tagger, parser=settings.parser)
        self._embedder = make_embedder(settings)
        self._detector = LanguageDetector()
        self._extractors: dict[str, ConceptExtractor] = {"en": EnglishExtractor(tagger)}
        others = pipelines(dict(settings.pipelines))
        self._extractors |= {lang: PipedExtractor(one) for lang, one in others.items()}
        self._lock = Lock()
        named = [f"{tagger.name}+parser" if settings.parser else tagger.name]
        self.fingerprint = Fingerprint(
            tagger=", ".join(named + [one.name for one in others.values()]),
            tagger_version=", ".join([tagger.version, *(one.version for one in others.values())]),
            chunking=f"{settings.chunk_words} words, rules {chunking.VERSION}",
            normalisation=normalise.VERSION,
            embedder=self._embedder.name,
            dimensions=self._embedder.dimensions,
        )

    def analyze(self, documents: Sequence[Document]) -> list[Analysis | Rejected]:
        """The analysis of each document, in order; equal alone and in any batch.

        A document that cannot be analyzed is rejected with the reason, the others go on.

        Raises:
            EmbedderError: There are no vectors; that is no document's fault.
        """
        with self._lock:
            try:
                return self._batch(documents)
            except EmbedderError:
                raise
            except Exception:  # noqa: BLE001  # a library's failure on one text must not take the batch
                return [self._alone(document) for document in documents]

    def embed_queries(self, texts: Sequence[str]) -> Float32Array:
        """Unit rows, float32 [n, dimensions]; a text without tokens gives zeros."""
        return self._embedder.embed([_readable(text) for text in texts])

    def concepts_of(self, text: str) -> tuple[Mention, ...]:
        """The distinct concepts of a short text such as a question, in its language, by key."""
        readable = _readable(text)
        with self._lock:
            lang = language_of_short(readable, self._detector)
            [found] = self._extractor(lang).mentions([readable])
        return distinct(found, self._settings.max_concepts)

    def candidate_keys(self, text: str) -> list[ConceptKey]:
        """Keys that runs of a question's words may be stored under, longest runs first."""
        return candidate_keys(_readable(text))

    def facets_of(self, text: str, at: datetime | None = None) -> tuple[Facet, ...]:
        """The values of a short text; dates without a year only where ``at`` is given."""
        return tuple(facets(_readable(text), at)[: self._settings.max_facets])

    def sentences(self, text: str) -> list[tuple[int, int]]:
        """Half-open offsets of the sentences of a text, by the splitter of the chunks."""
        return sentence_spans(text)

    def _alone(self, document: Document) -> Analysis | Rejected:
        try:
            return self._batch([document])[0]
        except EmbedderError:
            raise
        except Exception as error:  # noqa: BLE001  # told as a value
            detail = f"{type(error).__name__}: {error}"[:500]
            return Rejected(Reason.ANALYSIS_FAILED, detail)

    def _batch(self, documents: Sequence[Document]) -> list[Analysis | Rejected]:
        drafts = [self._draft(document) for document in documents]
        mentions = self._mentions(drafts)
        vectors = self._vectors(drafts)
        results: list[Analysis | Rejected] = []
        at = 0
        for draft, found in zip(drafts, mentions, strict=True):
            if not draft.spans:
                results.append(Rejected(Reason.EMPTY_TEXT, "the text holds no word"))
                continue
            own = vectors[at : at + len(draft.spans)]
            at += len(draft.spans)
            results.append(self._assemble(draft, found, own))
        return results

    def _draft(self, document: Document) -> _Draft:
        text = _readable(document.text)
        title = _readable(document.title)[:_LONGEST_TITLE]
        lang = base_language(document.lang) or self._detector.detect(text)
        spans = tuple(chunk_spans(text, self._settings.chunk_words))
        return _Draft(document, text, title, lang, spans)

    def _mentions(self, drafts: Sequence[_Draft]) -> list[list[list[Mention]]]:
        """For each draft the mentions of each of its pieces; one pass for each language."""
        by_lang: dict[str, list[int]] = {}
        for number, draft in enumerate(drafts):
            by_lang.setdefault(draft.lang, []).append(number)
        found: list[list[list[Mention]]] = [[] for _ in drafts]
        for lang, numbers in by_lang.items():
            pieces = [drafts[number].pieces() for number in numbers]
            flat = iter(self._extractor(lang).mentions([p for ps in pieces for p in ps]))
            for number, own in zip(numbers, pieces, strict=True):
                found[number] = [next(flat) for _ in own]
        return found

    def _extractor(self, lang: str) -> ConceptExtractor:
        if lang not in self._extractors:
            return PlainExtractor(lang)
        return self._extractors[lang]

    def _vectors(self, drafts: Sequence[_Draft]) -> list[bytes]:
        texts = [draft.text[s.start : s.end] for draft in drafts for s in draft.spans]
        rows = self._embedder.embed(texts).astype(np.float16)
        return [row.tobytes() for row in rows]

    def _assemble(
        self, draft: _Draft, found: Sequence[Sequence[Mention]], vectors: Sequence[bytes]
    ) -> Analysis:
        limit = self._settings.max_concepts
        *bodies, title = found
        values = self._facets(draft)
        chunks = tuple(
            AnalyzedChunk(span.start, span.end, span.words, distinct(own, limit), inside, vector)
            for span, own, inside, vector in zip(draft.spans, bodies, values, vectors, strict=True)
        )
        named = title_mentions(draft.title, title, bodies) if draft.title else []
        return Analysis(draft.document.id, draft.lang, chunks, distinct(named, limit))

    def _facets(self, draft: _Draft) -> list[tuple[Facet, ...]]:
        """The values of each chunk, in order, offsets into the document."""
        at = draft.document.event_at
        limit = self._settings.max_facets
        return [
            tuple(
                Facet(f.kind, f.low, f.high, f.unit, f.start + span.start, f.end + span.start)
                for f in facets(draft.text[span.start : span.end], at)[:limit]
            )
            for span in draft.spans
        ]


def _readable(text: str) -> str:
    """The text with control characters and lone surrogates as spaces, offsets unchanged."""
    return _UNREADABLE.sub(" ", text)
