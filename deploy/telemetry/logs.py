"""Logs by structlog to standard error: one line for one unit of work, as JSON or for people."""

import logging
import re
import sys
import time
from collections.abc import Callable
from math import inf
from typing import Any, Literal, TextIO

import structlog
from structlog.stdlib import ProcessorFormatter
from structlog.types import Processor

LogFormat = Literal["auto", "console", "json"]


SELDOM_SECONDS = 60.0
"""What a library says again within this time is counted and not logged."""
_KINDS = 1_000  # of lines that are told apart
_NUMBERS = re.compile(r"0x[0-9a-f]+|\d+")


class Seldom(logging.Filter):
    """Lets a line pass that no other like it came before within the time.

    Lines are alike that differ in numbers alone. A client whose broker is away logs several a
    second, and among them nobody finds what the program itself has to say.
    """

    def __init__(
        self, seconds: float = SELDOM_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self._seconds = seconds
        self._clock = clock
        self._seen: dict[tuple[str, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to log; the line then tells how many were left out since the last."""
        message = record.getMessage()
        kind = (record.name, _NUMBERS.sub("#", message))
        now = self._clock()
        logged, left_out = self._seen.get(kind, (-inf, 0))
        if now - logged < self._seconds:
            self._seen[kind] = (logged, left_out + 1)
            return False
        if len(self._seen) >= _KINDS:
            self._seen.clear()
        self._seen[kind] = (now, 0)
        if left_out:
            record.msg, record.args = f"{message} ({left_out} more like it before)", ()
        return True


def configure(form: LogFormat, level: str, stream: TextIO | None = None) -> None:
    """Set structlog and the standard library's logging up; may be called again.

    Args:
        form: ``auto`` is ``console`` on a terminal, else ``json``.
        level: the least level that is logged; libraries log from warning on.
        stream: where lines go, standard error if None.
    """
    stream = sys.stderr if stream is None else stream
    console = form == "console" or (form == "auto" and stream.isatty())
    threshold = logging.getLevelNamesMapping()[level.upper()]
    shared: list[Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
    ]
    final: list[Processor] = (
        [structlog.dev.ConsoleRenderer(colors=stream.isatty())]
        if console
        else [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    )
    structlog.configure(
        processors=[*shared, *final],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.WriteLoggerFactory(file=stream),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(stream)
    handler.addFilter(Seldom())
    handler.setFormatter(
        ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *shared],
            processors=[ProcessorFormatter.remove_processors_meta, *final],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(max(threshold, logging.WARNING))


def logger() -> Any:
    """The logger of the program."""
    return structlog.get_logger()
