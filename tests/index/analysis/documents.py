"""Documents for the tests of analysis, and worker processes that misbehave on purpose."""

import os
import signal
from datetime import UTC, datetime
from multiprocessing.connection import Connection

from index.analysis.settings import AnalyzerSettings
from index.types import Analysis, Document, DocumentId, Rejected

NOON = datetime(1987, 3, 1, 12, tzinfo=UTC)


def document(
    text: str, *, title: str = "", lang: str = "en", number: int = 1, at: datetime = NOON
) -> Document:
    return Document(DocumentId(f"d{number}"), title, text, "test", "", lang, at, at)


def fragile_worker(connection: Connection, _settings: AnalyzerSettings) -> None:
    """Answers with bare analyses; dies on "poison", and once on a text that names a file."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            documents: list[Document] = connection.recv()
        except EOFError:
            return
        for one in documents:
            if one.text == "poison" or _dies_once(one.text):
                os._exit(7)
        results: list[Analysis | Rejected] = [Analysis(d.id, "en", (), ()) for d in documents]
        connection.send(results)


def _dies_once(text: str) -> bool:
    if not text.startswith("once:"):
        return False
    marker = text.removeprefix("once:")
    if os.path.exists(marker):  # noqa: PTH110  # plain and cheap in a worker
        return False
    with open(marker, "w"):  # noqa: PTH123
        return True
