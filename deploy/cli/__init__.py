"""The command ``tidegraph``: ``main`` runs it, and every error becomes one line and a code.

Commands import what they need when they run, so that ``--help`` is quick.
"""

import os
import sys

USAGE = 2
FAILURE = 1


def main() -> None:
    """Run the command line of this process and exit with its code."""
    from deploy.cli.app import app

    for stream in (sys.stdout, sys.stderr):
        # What was indexed is printed as it is; what a terminal cannot show must not end a command.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        app(prog_name="tidegraph")
    except Exception as error:
        code = exit_code(error)
        if code is None or os.environ.get("TIDEGRAPH_LOG_LEVEL", "").lower() == "debug":
            raise
        sys.stderr.write(f"error: {one_line(error)}\n")
        sys.exit(code)


def exit_code(error: Exception) -> int | None:
    """The code that an error ends a command with; None for one that nobody foresaw."""
    from deploy.errors import DeployError
    from index.errors import IndexingError
    from query.errors import QueryError
    from stream.errors import StreamError

    if isinstance(error, DeployError):
        return error.exit_code
    if isinstance(error, IndexingError | StreamError | QueryError | OSError):
        return FAILURE
    return None


def one_line(error: Exception) -> str:
    """What an error says, on one line."""
    text = str(error) or type(error).__name__
    return " ".join(text.split())
