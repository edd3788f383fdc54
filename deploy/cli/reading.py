"""Commands that read: ask, new, status."""

from typing import Annotated, Any

import typer

from deploy.cli.options import Config, Data, Json, Sets

FILTERS = "Filters"
MOMENT = "ISO 8601, or a span before now such as 90m, 24h, 7d"

Since = Annotated[
    str | None,
    typer.Option(
        "--since", metavar="TIME", help=f"First moment: {MOMENT}.", rich_help_panel=FILTERS
    ),
]
Until = Annotated[
    str | None,
    typer.Option(
        "--until",
        metavar="TIME",
        help="First moment after, in the same forms.",
        rich_help_panel=FILTERS,
    ),
]


def ask(
    question: Annotated[str, typer.Argument(help="The question, in any language.")],
    *,
    budget: Annotated[
        int | None,
        typer.Option("--budget", metavar="N", help="Relevance tests that may be spent."),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset",
            metavar="NAME",
            help="Budget and roles of models as announced: z100_lite, z500 or z1500.",
        ),
    ] = None,
    mode: Annotated[
        str, typer.Option("--mode", help="lazy, or a baseline: hybrid, vector, bm25, global.")
    ] = "lazy",
    context: Annotated[
        int,
        typer.Option(
            "--context",
            metavar="TOKENS",
            min=500,
            help="Text that a model answers from in a baseline, 8000 or 64000 as announced.",
        ),
    ] = 8_000,
    level: Annotated[
        int | None,
        typer.Option(
            "--level",
            metavar="N",
            min=0,
            help="Mode global: level of the communities read, 0 for C0; else the deepest that the "
            "budget can visit.",
        ),
    ] = None,
    since: Since = None,
    until: Until = None,
    time: Annotated[
        str,
        typer.Option(
            "--time",
            help="The time that since and until speak of: event or observed.",
            rich_help_panel=FILTERS,
        ),
    ] = "event",
    source: Annotated[
        list[str] | None,
        typer.Option(
            "--source", help="Only this source. May be repeated.", rich_help_panel=FILTERS
        ),
    ] = None,
    lang: Annotated[
        list[str] | None,
        typer.Option(
            "--lang", help="Only this language. May be repeated.", rich_help_panel=FILTERS
        ),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            metavar="NAME=VALUE",
            help="Only documents whose metadata has this value (JSON, else text).",
            rich_help_panel=FILTERS,
        ),
    ] = None,
    window: Annotated[
        bool,
        typer.Option(
            "--window/--no-window",
            help="Read times in the question ('last week') as a window of time.",
            rich_help_panel=FILTERS,
        ),
    ] = True,
    amounts: Annotated[
        bool,
        typer.Option(
            "--amounts/--no-amounts",
            help="Read amounts in the question ('more than 1 million') as a limit.",
            rich_help_panel=FILTERS,
        ),
    ] = True,
    estimate: Annotated[
        bool,
        typer.Option("--estimate", help="Print what it may cost at worst, without asking."),
    ] = False,
    as_json: Json = False,
    data: Data = None,
    config: Config = None,
    sets: Sets = None,
) -> None:
    """Answer a question, with its sources.

    The running service that holds the data directory answers, else the store itself.
    """
    from deploy import reads
    from deploy.cli import session, show

    settings = session.begin({"data": data}, config=config, sets=sets, quiet=True)
    if estimate:
        from deploy.cli import estimating

        found_worst = estimating.worst_case(settings, question, budget, preset, mode, context)
        if as_json:
            session.print_json(found_worst)
        else:
            estimating.show(session.console(), found_worst)
        return
    body: dict[str, Any] = {
        "question": question,
        "budget": budget,
        "preset": preset,
        "window": window,
        "amounts": amounts,
        "mode": mode,
        "context": context,
        "level": level,
        "since": since,
        "until": until,
        "time": time,
        "source": source or [],
        "lang": lang or [],
        "where": {k: _scalar(v) for k, v in session.pairs(where, "--where").items()},
    }
    with session.spinner("searching"):
        found = reads.ask(settings, body)
    if as_json:
        session.print_json(found.body)
    else:
        show.answer(session.console(), found.body)


def new(
    *,
    about: Annotated[
        str | None, typer.Argument(metavar="[X]", help="Only what concerns this concept.")
    ] = None,
    since: Annotated[
        str, typer.Option("--since", metavar="TIME", help=f"First moment of arrival: {MOMENT}.")
    ] = "1h",
    until: Annotated[
        str | None, typer.Option("--until", metavar="TIME", help="First moment after.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Stories to show.")] = 20,
    as_json: Json = False,
    data: Data = None,
    config: Config = None,
    sets: Sets = None,
) -> None:
    """Tell what arrived, as stories; no model and no budget are used."""
    from deploy import reads
    from deploy.cli import session, show

    settings = session.begin({"data": data}, config=config, sets=sets, quiet=True)
    wanted = {"about": about, "since": since, "until": until, "limit": limit}
    with session.spinner("reading"):
        found = reads.read(settings, "/v1/new", wanted)
    if as_json:
        session.print_json(found.body)
    else:
        show.news(session.console(), found.body)


def status(
    *,
    as_json: Json = False,
    data: Data = None,
    config: Config = None,
    sets: Sets = None,
) -> None:
    """Tell what the index holds and how the stream that feeds it is doing."""
    from deploy import reads
    from deploy.cli import session, show

    settings = session.begin({"data": data}, config=config, sets=sets, quiet=True)
    found = reads.read(settings, "/v1/status")
    if as_json:
        session.print_json(found.body)
    else:
        show.status(session.console(), found.body, found.where)


def _scalar(text: str) -> str | int | float | bool | None:
    import json

    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, str | int | float | bool | None) else text
