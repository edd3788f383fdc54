"""The command that tells a community's line of descent."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deploy.cli.options import Config, Data, Json, Sets

if TYPE_CHECKING:  # --help must not wait for it
    from rich.console import Console


def lineage(
    community: Annotated[int, typer.Argument(metavar="ID", min=1, help="Id of a community.")],
    *,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=1000, help="Events to show, newest first.")
    ] = 20,
    as_json: Json = False,
    data: Data = None,
    config: Config = None,
    sets: Sets = None,
) -> None:
    """Tell what became of a community, dead or alive, and where it came from."""
    from deploy import reads
    from deploy.cli import session

    settings = session.begin({"data": data}, config=config, sets=sets, quiet=True)
    with session.spinner("reading"):
        found = reads.read(settings, f"/v1/communities/{community}/lineage", {"limit": limit})
    if as_json:
        session.print_json(found.body)
    else:
        show_lineage(session.console(), found.body)


def show_lineage(out: "Console", body: Mapping[str, Any]) -> None:
    """A line of descent as a person reads it."""
    fate = f"died in {body['died']}" if body["died"] is not None else "lives"
    out.print(
        f"community {body['id']} of C{body['level']}, {body['size']} concepts,"
        f" born in generation {body['born']}, {fate}"
    )
    if body["came_from"]:
        out.print(f"came from {', before that from '.join(map(str, body['came_from']))}")
    if body["became"]:
        out.print(f"became part of {', then of '.join(map(str, body['became']))}")
    for event in body["events"]:
        out.print(f"  {event['generation']:>8}  {_told(event)}")
    if body["more"]:
        out.print("  there are older events: --limit shows more")


def _told(event: Mapping[str, Any]) -> str:
    community, related, shared = event["community"], event["related"], event["shared"]
    match event["kind"]:
        case "birth":
            return f"{community} was born with {shared} concepts"
        case "death":
            return f"{community} ended; none of its {shared} concepts went on together"
        case "split":
            return f"{community} came out of {related}, with {shared} of its concepts"
        case "growth":
            return f"{community} grew to {shared} concepts"
        case "decline":
            return f"{community} declined to {shared} concepts"
        case _:
            return f"{community} went into {related}, with {shared} concepts"
