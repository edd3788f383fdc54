"""One analysis process: reads batches from a pipe, writes results, until the pipe closes.

It needs no limit on threads: thinc multiplies matrices by BLIS on one thread, and the embedder
hands its tokenizer one text at a time.
"""

import signal
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from index.analysis.settings import AnalyzerSettings
from index.errors import EmbedderError
from index.memory import GIVEN_BACK_EVERY, give_memory_back
from index.types import Analysis, Document, Rejected

if TYPE_CHECKING:  # loads the models
    from index.analysis.analyzer import Analyzer


def serve(connection: Connection, settings: AnalyzerSettings) -> None:
    """Answer each batch of documents with its results; return when the parent is gone.

    Ctrl-C is the parent's to handle: it goes to the whole process group.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from index.analysis.analyzer import Analyzer  # noqa: PLC0415  # the parent needs none of it

    analyzer, given_back = Analyzer(settings), time.monotonic()
    try:
        while True:
            connection.send(_analyzed(analyzer, connection.recv()))
            if time.monotonic() - given_back >= GIVEN_BACK_EVERY:
                give_memory_back()
                given_back = time.monotonic()
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return


def _analyzed(
    analyzer: "Analyzer", documents: Sequence[Document]
) -> list[Analysis | Rejected] | EmbedderError:
    """The results, or why there are no vectors: the parent raises it again."""
    try:
        return analyzer.analyze(documents)
    except EmbedderError as error:
        return type(error)(str(error))
