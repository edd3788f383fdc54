"""The commands that keep the list of feeds: feeds add, list, remove."""

from typing import Annotated

import typer

from deploy.cli.options import Config, Data, Json, Sets

FAILED = 1

feeds = typer.Typer(
    help="Keep the list of RSS and Atom feeds that `tidegraph run` polls.", no_args_is_help=True
)

Url = Annotated[str, typer.Argument(metavar="URL", help="Address of the feed.")]


@feeds.command()
def add(url: Url, *, data: Data = None, config: Config = None, sets: Sets = None) -> None:
    """Put a feed on the list; a running `tidegraph run` that polls finds it there."""
    from deploy.assembly import feeds as assembled
    from deploy.cli import session

    settings = session.begin({"data": data}, config=config, sets=sets, quiet=True)
    address = assembled.address_of(url)
    with assembled.listed(settings) as store:
        added = store.add(address)
    session.console(error=True).print(f"{address} {'added' if added else 'is on the list already'}")


@feeds.command("list")
def list_(
    *, as_json: Json = False, data: Data = None, config: Config = None, sets: Sets = None
) -> None:
    """Show the feeds with their last poll, their next, and what is wrong with them."""
    from dataclasses import asdict

    from deploy.assembly import feeds as assembled
    from deploy.cli import session, show

    settings = session.begin({"data": data}, config=config, sets=sets, quiet=True)
    states = assembled.states(settings)
    if as_json:
        session.print_json([asdict(state) for state in states])
        return
    out = session.console()
    for state in states:
        out.print(show.plain(state.url))
        out.print(f"    {show.plain(assembled.summary(state))}")
    if not states:
        session.console(error=True).print("no feeds; `tidegraph feeds add URL` adds one")


@feeds.command()
def remove(url: Url, *, data: Data = None, config: Config = None, sets: Sets = None) -> None:
    """Take a feed off the list. The documents that it gave stay."""
    from deploy.assembly import feeds as assembled
    from deploy.cli import session

    settings = session.begin({"data": data}, config=config, sets=sets, quiet=True)
    address = assembled.address_of(url)
    with assembled.listed(settings) as store:
        removed = store.remove(address)
    session.console(error=True).print(f"{address} {'removed' if removed else 'is not on the list'}")
    if not removed:
        raise typer.Exit(FAILED)
