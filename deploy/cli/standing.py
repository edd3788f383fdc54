"""The commands that keep standing questions: standing add, list, show, pause, resume, remove."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deploy.cli.options import Config, Data, Json, Sets

if TYPE_CHECKING:  # --help must not wait for it
    from rich.console import Console

PATH = "/v1/standing"

standing = typer.Typer(
    help="Keep questions that are asked again whenever what they are about changes.",
    no_args_is_help=True,
)

Id = Annotated[str, typer.Argument(metavar="ID", help="Id of a standing question.")]


@standing.command()
def add(
    question: Annotated[str, typer.Argument(help="The question, in any language.")],
    *,
    budget: Annotated[
        int | None, typer.Option("--budget", metavar="N", help="Relevance tests of one asking.")
    ] = None,
    mode: Annotated[str, typer.Option("--mode", help="As for `tidegraph ask`.")] = "lazy",
    since: Annotated[
        str | None,
        typer.Option(
            "--since", metavar="TIME", help="First moment; a span such as 7d moves with the stream."
        ),
    ] = None,
    source: Annotated[
        list[str] | None, typer.Option("--source", help="Only this source. May be repeated.")
    ] = None,
    lang: Annotated[
        list[str] | None, typer.Option("--lang", help="Only this language. May be repeated.")
    ] = None,
    webhook: Annotated[
        str | None,
        typer.Option("--webhook", metavar="URL", help="Post updates to this address, signed."),
    ] = None,
    tests_a_day: Annotated[
        int | None,
        typer.Option(
            "--tests-a-day", metavar="N", help="Chunks tested for the first time in a day."
        ),
    ] = None,
    as_json: Json = False,
    data: Data = None,
    config: Config = None,
    sets: Sets = None,
) -> None:
    """Have a question asked again by every generation that touches it.

    `tidegraph run` or `serve` on the data directory asks it, also if it is started later.
    """
    from deploy import reads
    from deploy.cli import session, show

    settings = session.begin({"data": data}, config=config, sets=sets, quiet=True)
    body = {
        "question": question,
        "budget": budget,
        "mode": mode,
        "since": since,
        "source": source or [],
        "lang": lang or [],
        "webhook": webhook,
        "tests_a_day": tests_a_day,
    }
    made = reads.send(settings, "POST", PATH, body).body
    if as_json:
        session.print_json(made)
        return
    out = session.console()
    out.print(f"standing question {made['id']}: {show.plain(made['question'])}")
    if made["secret"]:
        out.print(f"its webhook is signed with {made['secret']} (not shown again)")


@standing.command("list")
def list_(
    *, as_json: Json = False, data: Data = None, config: Config = None, sets: Sets = None
) -> None:
    """Show the standing questions and how they stand."""
    from deploy import reads
    from deploy.cli import session

    settings = session.begin({"data": data}, config=config, sets=sets, quiet=True)
    found = reads.read(settings, PATH).body["standing"]
    if as_json:
        session.print_json(found)
        return
    out = session.console()
    for one in found:
        show_one(out, one)
    if not found:
        session.console(error=True).print(
            'no standing questions; `tidegraph standing add "QUESTION"` adds one'
        )


@standing.command()
def show(
    name: Id,
    *,
    updates: Annotated[
        int, typer.Option("--updates", min=1, max=1000, help="Newest updates to show.")
    ] = 5,
    as_json: Json = False,
    data: Data = None,
    config: Config = None,
    sets: Sets = None,
) -> None:
    """Show a standing question, its claims, and what changed of late."""
    from deploy import reads
    from deploy.cli import session

    settings = session.begin({"data": data}, config=config, sets=sets, quiet=True)
    one = reads.read(settings, _path(name)).body
    after = max(0, one["updates"] - updates)
    told = reads.read(settings, f"{_path(name)}/updates", {"after": after}).body["updates"]
    if as_json:
        session.print_json({**one, "history": told})
        return
    out = session.console()
    show_one(out, one)
    for claim in one["claims"]:
        out.print(f"  - {_claim(claim)}")
    for update in reversed(told):
        show_update(out, update)


@standing.command()
def pause(name: Id, *, data: Data = None, config: Config = None, sets: Sets = None) -> None:
    """Let a standing question sleep; what it has is kept."""
    _change(name, True, data, config, sets)


@standing.command()
def resume(name: Id, *, data: Data = None, config: Config = None, sets: Sets = None) -> None:
    """Wake a paused question up; it is asked anew."""
    _change(name, False, data, config, sets)


@standing.command()
def remove(name: Id, *, data: Data = None, config: Config = None, sets: Sets = None) -> None:
    """Forget a standing question and its updates."""
    from deploy import reads
    from deploy.cli import session

    settings = session.begin({"data": data}, config=config, sets=sets, quiet=True)
    reads.send(settings, "DELETE", _path(name))
    session.console(error=True).print(f"{name} removed")


def _change(name: str, paused: bool, data: Data, config: Config, sets: Sets) -> None:
    from deploy import reads
    from deploy.cli import session

    settings = session.begin({"data": data}, config=config, sets=sets, quiet=True)
    reads.send(settings, "PATCH", _path(name), {"paused": paused})
    session.console(error=True).print(f"{name} {'paused' if paused else 'resumed'}")


def _path(name: str) -> str:
    from urllib.parse import quote

    return f"{PATH}/{quote(name, safe='')}"


def show_one(out: "Console", one: Mapping[str, Any]) -> None:
    """A standing question as a person reads it."""
    from deploy.cli.show import plain

    parts = ["paused"] if one["paused"] else []
    if one["asked_at"] is None:
        parts.append("not asked yet")
    else:
        parts.append(f"{one['outcome']}, {len(one['claims'])} claims, {one['updates']} updates")
        parts.append(f"asked {one['asked_at'][:16].replace('T', ' ')} UTC")
    parts += [problem for problem in (one["problem"], one["undelivered"]) if problem]
    out.print(f"{one['id']}  {plain(one['question'])}")
    out.print(f"    {plain(', '.join(parts))}")


def show_update(out: "Console", update: Mapping[str, Any]) -> None:
    """What an update changed."""
    from deploy.cli.show import plain

    changes = update["changes"]
    when = update["at"][:16].replace("T", " ")
    out.print(f"update {update['number']}, {when} UTC, generation {update['generation']}:")
    for mark, claims in (("+", changes["added"]), ("-", changes["withdrawn"])):
        for claim in claims:
            out.print(f"  {mark} {_claim(claim)}")
    for pair in changes["reworded"]:
        out.print(f"  ~ {_claim(pair['after'])}")
        out.print(f"    before: {plain(pair['before']['text'])}")
    for pair in changes["sourced"]:
        out.print(f"  = {_claim(pair['after'])}")
    if not any(changes.values()):
        out.print(f"  {plain(update['outcome'])}: no claims")


def _claim(claim: Mapping[str, Any]) -> str:
    from deploy.cli.show import plain

    names = dict.fromkeys(s["source"] or s["title"] or s["document_id"] for s in claim["sources"])
    return plain(f"{' '.join(claim['text'].split())} ({', '.join(names)})")
