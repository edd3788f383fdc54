"""The commands in their groups."""

from collections.abc import Callable
from typing import Annotated

import typer

from deploy.cli import (
    demo,
    descent,
    evaluating,
    exporting,
    extracting,
    feeding,
    keeping,
    machine,
    producing,
    reading,
    running,
    standing,
    trending,
    upkeep,
)

app = typer.Typer(
    name="tidegraph",
    help="A LazyGraphRAG index kept live over a stream of documents.",
    epilog="Settings come from flags, then TIDEGRAPH_* variables, then tidegraph.toml.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

PANELS: dict[str, tuple[Callable[..., None], ...]] = {
    "Run": (running.run, running.index, running.serve, extracting.extract, producing.produce),
    "Ask": (
        reading.ask,
        reading.new,
        trending.trends,
        descent.lineage,
        reading.status,
        exporting.export,
        evaluating.evaluate,
    ),
    "Look after": (
        upkeep.verify,
        upkeep.reindex,
        upkeep.promote,
        upkeep.dead_letters,
        keeping.backup,
        keeping.restore,
    ),
    "This machine": (machine.warmup, machine.doctor, machine.config, demo.demo),
}

for panel, commands in PANELS.items():
    for command in commands:
        app.command(rich_help_panel=panel)(command)
app.add_typer(feeding.feeds, name="feeds", rich_help_panel="Run")
app.add_typer(standing.standing, name="standing", rich_help_panel="Ask")


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"tidegraph {version('tidegraph')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the release."),
    ] = False,
) -> None:
    """A LazyGraphRAG index kept live over a stream of documents."""
