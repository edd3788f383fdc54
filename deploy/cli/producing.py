"""The command that publishes: produce."""

import re
from pathlib import Path
from typing import Annotated

import typer

from deploy.cli.options import STREAM, Config, Data, Format, Kafka, Only, Sets, Topic

PACE = "Pace"
_SPEED = re.compile(r"(\d+(?:\.\d+)?)x?\Z")
INTERRUPTED = 130


def produce(
    file: Annotated[Path, typer.Argument(help="File of JSON Lines, plain or .gz.")],
    *,
    topic: Topic = None,
    kafka: Kafka = None,
    rate: Annotated[
        float | None,
        typer.Option("--rate", min=0.001, help="Messages a second.", rich_help_panel=PACE),
    ] = None,
    replay: Annotated[
        str | None,
        typer.Option(
            "--replay",
            metavar="SPEED",
            help="By the documents' own times, so many times faster: 3600x is an hour a second.",
            rich_help_panel=PACE,
        ),
    ] = None,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow", help="Go on as the file grows, until stopped.", rich_help_panel=STREAM
        ),
    ] = False,
    form: Format = "documents",
    only: Only = None,
    data: Data = None,
    config: Config = None,
    sets: Sets = None,
) -> None:
    """Publish a file into a topic, of the embedded log or of Kafka, at full speed or at a pace."""
    from deploy import process
    from deploy.assembly import streams
    from deploy.cli import progress, session

    settings = session.begin(
        {"topic": topic, "kafka": kafka, "data": data}, config=config, sets=sets, quiet=True
    )
    origin = streams.Origin(file, form, session.pairs(only, "--only"), follow=follow)
    with process.stop_on_signals() as stop, progress.counting("messages") as told:
        report = streams.publish(
            settings, origin, stop, rate=rate, replay=_speed(replay), told=told
        )
    out = session.console(error=True)
    out.print(
        f"{report.published:,} messages ({report.bytes / 1e6:,.1f} MB) published to "
        f"{settings.topic} in {report.seconds:.1f} s"
    )
    if report.rejected:
        reasons = ", ".join(f"{reason}: {n:,}" for reason, n in sorted(report.rejected.items()))
        out.print(f"the index will reject some of them ({reasons})")
    if report.refused:
        out.print(f"{report.refused:,} are larger than the topic takes and were left out")
    if stop.is_set() and not follow:
        raise typer.Exit(INTERRUPTED)


def _speed(text: str | None) -> float | None:
    """How many times faster ``3600x`` is. Raises ``UsageError``."""
    if text is None:
        return None
    from deploy.errors import UsageError

    found = _SPEED.match(text)
    if found is None or float(found[1]) <= 0:
        raise UsageError(f"--replay {text}: write how many times faster, for example 3600x")
    return float(found[1])
