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
JUDGE = "Judged by a model"


def evaluate(
    *,
    documents: Annotated[
        Path,
        typer.Option("--documents", metavar="FILE", help="Documents, JSON Lines (plain or .gz)."),
    ],
    queries: Annotated[
        Path | None,
        typer.Option(
            "--queries",
            metavar="FILE",
            help="Questions, JSON Lines (plain or .gz): id, query, evidence_doc_ids.",
        ),
    ] = None,
    modes: Annotated[
        str, typer.Option("--modes", help="Of lazy, hybrid, vector, bm25, global.")
    ] = "lazy,hybrid,vector,bm25",
    budgets: Annotated[str, typer.Option("--budgets", help="Relevance tests.")] = "20,100,500",
    judge: Annotated[
        bool,
        typer.Option(
            "--judge",
            help="Have the model compare the answers of the first mode with those of the others.",
            rich_help_panel=JUDGE,
        ),
    ] = False,
    trials: Annotated[
        int,
        typer.Option(
            "--trials", min=1, max=20, help="Of each pair in each order.", rich_help_panel=JUDGE
        ),
    ] = 3,
    synthetic: Annotated[
        int,
        typer.Option(
            "--synthetic",
            metavar="N",
            min=0,
            max=500,
            help="Instead of --queries: local questions that the model makes from the documents, "
            "and as many global ones.",
            rich_help_panel=JUDGE,
        ),
    ] = 0,
    contexts: Annotated[
        str,
        typer.Option(
            "--contexts",
            help="Tokens that the baselines answer from: 8000,64000.",
            rich_help_panel=JUDGE,
        ),
    ] = "8000",
    system: Annotated[
        list[str] | None,
        typer.Option(
            "--system",
            metavar="NAME=COMMAND",
            help="Another system to compare with. May be repeated.",
            rich_help_panel=JUDGE,
        ),
    ] = None,
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
    and used again. With --judge a model compares the answers themselves.
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
        asked = _queries(queries, synthetic, judge=judge)
        with progress.counting("") as told:
            if judge or asked is None:
                from deploy.cli import judging

                judging.run(
                    settings,
                    documents,
                    asked,
                    judging.Wanted(wanted, spent, contexts, tuple(system or ()), trials, synthetic),
                    told,
                    as_json=as_json,
                )
                return
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


def _queries(queries: Path | None, synthetic: int, *, judge: bool) -> "Queries | None":
    """The questions of a file; None where a model is to make them."""
    from deploy.assembly import evaluating
    from deploy.errors import UsageError

    if (queries is None) == (not synthetic):
        raise UsageError("give either --queries FILE, or --synthetic N with --judge")
    if synthetic and not judge:
        raise UsageError("--synthetic makes questions to be judged: add --judge")
    return None if queries is None else evaluating.read_queries(queries, evidence=not judge)


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
