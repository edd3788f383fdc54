"""The command that shows it all: demo."""

import typing
from typing import Annotated

import typer

from deploy.cli.options import Config, Data, Port, Sets

if typing.TYPE_CHECKING:
    from rich.console import Console

    from deploy.settings import Settings
    from deploy.threads import Running

RATE_SHOWN = 20.0
"""Messages a second on a terminal, where somebody watches the page fill."""
RATE_UNSEEN = 60.0


def demo(
    *,
    port: Port = None,
    keep: Annotated[
        bool | None,
        typer.Option(
            "--keep/--end", help="Run on until Ctrl-C (on a terminal the default), or end."
        ),
    ] = None,
    data: Data = None,
    config: Config = None,
    sets: Sets = None,
) -> None:
    """Play a week of sample news into a live index, ask two questions, show the page.

    Uses a fresh temporary directory unless --data names one.
    """
    import sys
    import tempfile
    from pathlib import Path

    from deploy import process, runtime
    from deploy.assembly.streams import Origin
    from deploy.cli import session
    from deploy.process import release

    keep = sys.stdout.isatty() if keep is None else keep
    out = session.console()
    with tempfile.TemporaryDirectory(prefix="tidegraph-demo-") as temporary:
        settings = session.begin(
            {"data": data or Path(temporary) / "data", "port": port or 0},
            config=config,
            sets=sets,
            quiet=True,
        ).model_copy(update={"kafka": ""})
        out.print(f"Tidegraph {release()}: a week of sample news, live")
        with (
            process.stop_on_signals() as stop,
            runtime.embedded(settings, Origin(), stop) as running,
        ):
            out.print(f"The page: {running.url}\n")
            _show(out, settings, running, keep=keep)
            if keep:
                out.print(f"\nThe page stays at {running.url} until Ctrl-C.")
                running.wait()


def _show(out: "Console", settings: "Settings", running: "Running", *, keep: bool) -> None:
    from deploy import reads
    from deploy.cli import progress, show
    from deploy.demo import play

    with progress.counting("messages") as told:
        rate = RATE_SHOWN if keep else RATE_UNSEEN
        count = play.play(settings, running.stop, rate, lambda done: told("publishing", done, None))
        told("indexing", 0, None)
        held = play.wait_until_indexed(running, count)
    out.print(
        f"{count} messages played into the topic: {held['documents']} documents, "
        f"{held['concepts']:,} concepts, {held['edges']:,} edges, "
        f"{held['communities']} communities, generation {held['generation']}"
    )
    asked = play.questions()
    for kind, question in (("local", asked.local), ("global", asked.whole)):
        out.print(f"\n--- a {kind} question ---\n")
        show.answer(out, reads.ask(settings, {"question": question}).body)
    out.print("\nNext:")
    for what, command in play.next_commands(play.program()):
        out.print(f"  {what}\n    {command}")
