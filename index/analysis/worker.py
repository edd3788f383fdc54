"""One analysis process: reads batches from a pipe, writes results, until the pipe closes.

Imports only what is cheap at the top, so that the thread limits stand before numpy loads.
"""

import os
import signal
from multiprocessing.connection import Connection

from index.analysis.settings import AnalyzerSettings

_THREAD_LIMITS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "RAYON_NUM_THREADS",
)


def serve(connection: Connection, settings: AnalyzerSettings) -> None:
    """Answer each batch of documents with its results; return when the parent is gone.

    Ctrl-C is the parent's to handle: it goes to the whole process group.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in _THREAD_LIMITS:
        os.putenv(name, "1")
    from index.analysis.analyzer import Analyzer  # noqa: PLC0415  # after the limits

    analyzer = Analyzer(settings)
    try:
        while True:
            connection.send(analyzer.analyze(connection.recv()))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
