"""Commands about this machine: warmup, doctor, config."""

from pathlib import Path
from typing import Annotated

import typer

from deploy.cli.options import Config, Data, Json, Sets

FAILED = 1


def warmup(
    *,
    data: Data = None,
    config: Config = None,
    sets: Sets = None,
) -> None:
    """Compile what must be compiled and load the models once, so that starts are quick."""
    from deploy.cli import progress, session

    settings = session.begin({"data": data}, config=config, sets=sets, quiet=True)
    with progress.counting("steps") as told:
        told("starting", 0, 3)
        from deploy.warmup import warm_up

        seconds = warm_up(settings, told)
    session.console(error=True).print(f"compiled and loaded in {seconds:.1f} s")


def doctor(
    *,
    as_json: Json = False,
    data: Data = None,
    config: Config = None,
    sets: Sets = None,
) -> None:
    """Look at this machine, environment and data directory: what is wrong, what to do."""
    from dataclasses import asdict

    from rich.text import Text

    from deploy import doctor as examination
    from deploy.cli import session, show

    configuration = session.configured({"data": data}, config=config, sets=sets, quiet=True)
    found = list(examination.examine(configuration))
    if as_json:
        session.print_json([asdict(finding) for finding in found])
    else:
        out = session.console()
        styles = {"ok": "green", "warn": "yellow", "fail": "bold red"}
        for finding in found:
            line = Text(finding.level.value.ljust(6), style=styles[finding.level.value])
            line.append(finding.name.ljust(16), style="bold")
            line.append(show.plain(finding.detail))
            out.print(line)
            if finding.remedy:
                out.print(Text(f"{'':22}-> {finding.remedy}", style="dim"))
    if any(finding.level is examination.Level.FAIL for finding in found):
        raise typer.Exit(FAILED)


def config(
    *,
    as_json: Json = False,
    data: Data = None,
    file: Annotated[
        Path | None,
        typer.Option("--config", metavar="FILE", help="Settings file to read."),
    ] = None,
    sets: Sets = None,
) -> None:
    """Show every setting that is in force and where it came from; secrets are masked."""
    from dataclasses import asdict

    from rich.table import Table

    from deploy.cli import session, show

    configuration = session.configured({"data": data}, config=file, sets=sets, quiet=True)
    explained = configuration.explain()
    if as_json:
        session.print_json([asdict(setting) for setting in explained])
        return
    table = Table(box=None, pad_edge=False)
    for title in ("setting", "value", "from"):
        table.add_column(title, style=None if title == "value" else "dim")
    for setting in explained:
        table.add_row(setting.name, show.plain(setting.value), setting.origin)
    session.console().print(table)
