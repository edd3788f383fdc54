"""Logs by structlog to standard error: one line for one unit of work, as JSON or for people."""

import logging
import sys
from typing import Any, Literal, TextIO

import structlog
from structlog.stdlib import ProcessorFormatter
from structlog.types import Processor

LogFormat = Literal["auto", "console", "json"]


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
