"""The command that takes a part of the concept graph out: export."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deploy.cli.options import Config, Data, Sets

if TYPE_CHECKING:
    from index.concept_graph import Part

LARGEST = 5_000
"""Concepts in one file: ties grow with the square, and networkx takes 365 bytes for each."""


class Form(StrEnum):
    """What the file is."""

    GRAPHML = "graphml"
    GEXF = "gexf"
    JSON = "json"
    SVG = "svg"


def export(
    *,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="File to write.")],
    form: Annotated[
        Form | None,
        typer.Option("--format", help="What to write; else as the file's name ends."),
    ] = None,
    community: Annotated[
        int | None,
        typer.Option("--community", metavar="ID", min=0, help="The concepts of a community."),
    ] = None,
    concept: Annotated[
        str | None,
        typer.Option("--concept", metavar="KEY", help="A concept and those tied to it."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="The most frequent concepts of all.")
    ] = False,
    radius: Annotated[
        int, typer.Option("--radius", min=1, max=5, help="Ties to follow from the concept.")
    ] = 1,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            metavar="N",
            min=1,
            max=LARGEST,
            help="At most so many concepts (1000; of a picture 80).",
        ),
    ] = None,
    data: Data = None,
    config: Config = None,
    sets: Sets = None,
) -> None:
    """Write a part of the concept graph: for networkx, Gephi or d3, or as a picture (SVG).

    Ties carry w (chunks that name both) and weight (pointwise mutual information).
    """
    from deploy.cli import session
    from deploy.errors import UsageError

    if [community is not None, concept is not None, everything].count(True) != 1:
        raise UsageError("export needs one of --community ID, --concept KEY and --all")
    form = form or _by_name(out)
    settings = session.begin({"data": data}, config=config, sets=sets, quiet=True)
    from deploy.assembly import exporting

    wanted = exporting.Wanted(community, concept, radius, limit)
    part = exporting.export(settings, wanted, form.value, out)
    session.console(error=True).print(told(part, out))


def _by_name(out: Path) -> Form:
    from deploy.errors import UsageError

    try:
        return Form(out.suffix.lower().removeprefix("."))
    except ValueError:
        forms = ", ".join(Form)
        raise UsageError(f"{out}: name a form with --format ({forms})") from None


def told(part: "Part", out: Path) -> str:
    """What was written and what was left out, on one line."""
    concepts, ties = part.graph.number_of_nodes(), part.graph.number_of_edges()
    text = f"{out}: {part.name}, {concepts:,} concepts and {ties:,} ties"
    left = []
    if part.concepts_left_out:
        left.append(f"{part.concepts_left_out:,} concepts (--limit)")
    if part.ties_left_out:
        left.append(f"the {part.ties_left_out:,} lightest ties")
    return f"{text}; left out: {' and '.join(left)}" if left else text
