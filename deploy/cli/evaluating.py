"""The command that judges the search on questions with known evidence: evaluate."""

import typing
from pathlib import Path
from typing import Annotated

import typer

from deploy.cli.options import Config, Data, Json, Sets, Workers

if typing.TYPE_CHECKING:
    from deploy.assembly.evaluating import Queries
    from deploy.cli.progress import Told
    from deploy.settings import Settings
    from query.evaluate import EvaluationRow
    from query.types import Mode

OUTPUT = "Output"


def evaluate(
    *,
    documents: Annotated[
        Path,
        typer.Option("--documents", metavar="FILE", help="Documents, JSON Lines (plain or .gz)."),
    ],
    queries: Annotated[
        Path,
        typer.Option(
            "--queries",
            metavar="FILE",
            help="Questions, JSON Lines (plain or .gz): id, query, evidence_doc_ids.",
        ),
    ],
    modes: Annotated[
        str, typer.Option("--modes", help="Of lazy, hybrid, vector, bm25, global.")
    ] = "lazy,hybrid,vector,bm25",
    budgets: Annotated[str, typer.Option("--budgets", help="Relevance tests.")] = "20,100,500",
    as_json: Json = False,
    markdown: Annotated[
        Path | None,
        typer.Option(
            "--markdown", metavar="FILE", help="Write a Markdown table.", rich_help_panel=OUTPUT
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            metavar="FILE.svg",
            help="Draw quality against budget.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    workers: Workers = None,
    data: Data = None,
    config: Config = None,
    sets: Sets = None,
) -> None:
    """Judge the search on questions with known evidence, for every mode and budget.

    The documents are replayed as a stream into a temporary index, or into --data, which is kept
    and used again.
    """
    import tempfile

    from deploy.assembly import evaluating
    from deploy.cli import figures, progress, session

    with tempfile.TemporaryDirectory(prefix="tidegraph-evaluate-") as temporary:
        settings = session.begin(
            {"data": data or Path(temporary) / "data", "workers": workers},
            config=config,
            sets=sets,
            quiet=True,
        )
        wanted = evaluating.modes_of(modes)
        spent = evaluating.budgets_of(budgets, settings.budget_max)
        _check_outputs(markdown, plot)
        asked = evaluating.read_queries(queries)
        with progress.counting("") as told:
            rows = _rows(settings, documents, asked, wanted, spent, told)
    if markdown is not None:
        markdown.write_text(figures.markdown(rows), "utf-8")
    if plot is not None:
        plot.write_text(figures.svg(rows), "utf-8")
    if as_json:
        session.print_json([evaluating.as_json(row, asked.left_out) for row in rows])
    else:
        figures.table(session.console(), rows)
    if asked.left_out:
        session.console(error=True).print(
            f"questions left out, since they name no evidence: {asked.left_out:,}"
        )


def _rows(
    settings: "Settings",
    documents: Path,
    queries: "Queries",
    modes: "tuple[Mode, ...]",
    budgets: tuple[int, ...],
    told: "Told",
) -> "list[EvaluationRow]":
    from deploy.assembly import evaluating
    from deploy.cli import session

    err = session.console(error=True)
    with evaluating.replayed(settings, documents, told) as replayed:
        if replayed.rejected:
            err.print(f"documents rejected: {evaluating.rejections(replayed.rejected)}")
        if missing := replayed.missing(queries):
            err.print(f"evidence documents that are not in the index: {missing:,}")
        return evaluating.judge(
            replayed.engine, queries, modes, budgets, seed=settings.seed, told=told
        )


def _check_outputs(*paths: Path | None) -> None:
    """Raises ``UsageError`` before the work where its result could not be written."""
    from deploy.errors import UsageError

    for path in paths:
        if path is not None and not path.absolute().parent.is_dir():
            raise UsageError(f"{path}: there is no directory {path.parent}")
