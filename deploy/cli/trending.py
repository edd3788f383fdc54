"""The command that tells what rises, and how a person reads it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deploy.cli.options import Config, Data, Json, Sets
from deploy.cli.reading import MOMENT

if TYPE_CHECKING:  # --help must not wait for it
    from rich.console import Console

BARS = "▁▂▃▄▅▆▇█"
"""Heights of a sparkline; nothing at all is a space."""


def trends(
    *,
    since: Annotated[
        str, typer.Option("--since", metavar="TIME", help=f"First recent moment: {MOMENT}.")
    ] = "24h",
    window: Annotated[
        str, typer.Option("--window", metavar="SPAN", help="Length of the past before that.")
    ] = "7d",
    kind: Annotated[str, typer.Option("--kind", help="concept or community.")] = "concept",
    level: Annotated[
        int | None, typer.Option("--level", min=0, help="Of communities: 0 is the widest.")
    ] = None,
    time: Annotated[
        str, typer.Option("--time", help="Time of arrival (observed) or of the event (event).")
    ] = "observed",
    until: Annotated[
        str | None, typer.Option("--until", metavar="TIME", help="First moment after.")
    ] = None,
    half_life: Annotated[
        str | None,
        typer.Option(
            "--half-life", metavar="SPAN", help="Age at which a document counts half for the score."
        ),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Rows to show.")] = 20,
    as_json: Json = False,
    data: Data = None,
    config: Config = None,
    sets: Sets = None,
) -> None:
    """Tell what grew faster than its past would have it; spans count back from the newest."""
    from deploy import reads
    from deploy.cli import session

    settings = session.begin({"data": data}, config=config, sets=sets, quiet=True)
    wanted = {
        "since": since,
        "window": window,
        "kind": kind,
        "level": level,
        "time": time,
        "until": until,
        "half_life": half_life,
        "limit": limit,
    }
    with session.spinner("reading"):
        found = reads.read(settings, "/v1/trends", wanted)
    if as_json:
        session.print_json(found.body)
    else:
        show_trends(session.console(), found.body)


def sparkline(counts: Sequence[int]) -> str:
    """Counts as bars of a height in proportion to the largest."""
    most = max(counts, default=0)
    return "".join(BARS[-(-count * len(BARS) // most) - 1] if count else " " for count in counts)


def show_trends(out: "Console", body: Mapping[str, Any]) -> None:
    """A table, a row for each concept or community with its counts over the window."""
    from rich.table import Table
    from rich.text import Text

    from deploy.cli.show import plain

    title = (
        f"{body['recent_documents']:,} documents since {_minute(body['since'])} UTC, against "
        f"{body['past_documents']:,} since {_minute(body['past_since'])}"
    )
    out.print(Text(title, style="bold"))
    if not body["past_documents"]:
        out.print("There is no past to compare with: take an earlier --since or a longer --window.")
        return
    if not body["trends"]:
        out.print("Nothing rose beyond its past.")
        return
    table = Table(box=None, pad_edge=False)
    for name in ("score", "recent", "expected"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column(f"by {_length(body['interval_seconds'])}", no_wrap=True)
    table.add_column(body["kind"], overflow="fold")
    for row in body["trends"]:
        bars = Text(sparkline(row["counts"]), style="dim")
        bars.stylize("green", body["recent_from"])
        table.add_row(
            f"{row['score']:.1f}",
            f"{row['recent']:,}",
            f"{row['expected']:.1f}",
            bars,
            Text(plain(row["label"])),
        )
    out.print(table)


def _minute(moment: str) -> str:
    return moment[:16].replace("T", " ")


def _length(seconds: int) -> str:
    for unit, name in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds % unit == 0:
            return f"{seconds // unit}{name}"
    return f"{seconds}s"
