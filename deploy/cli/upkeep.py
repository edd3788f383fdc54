"""Commands that look after an index: verify, reindex, promote, dead-letters."""

from typing import Annotated

import typer

from deploy.cli.options import Config, Data, Json, Sets, Workers

FAILED = 1


def verify(
    *,
    vectors: Annotated[
        bool, typer.Option("--vectors", help="Compare the vector index with the store, too.")
    ] = False,
    as_json: Json = False,
    data: Data = None,
    config: Config = None,
    sets: Sets = None,
) -> None:
    """Rebuild the counts from the stored documents and compare, and check every invariant.

    Safe beside a running writer. Ends with 0 only if everything holds.
    """
    from dataclasses import asdict, replace

    from deploy.cli import session, show
    from index.verify import verify as verify_store

    settings = session.begin({"data": data}, config=config, sets=sets, quiet=True)
    err = session.console(error=True)

    def told(text: str) -> None:
        err.print(f"{text} ...")

    report = verify_store(settings.data, told)
    if vectors:
        from deploy.assembly.vectors import checks

        report = replace(report, checks=(*report.checks, *checks(settings, told)))
    if as_json:
        session.print_json(
            {
                "generation": report.generation,
                "ok": report.ok,
                "checks": [asdict(check) for check in report.checks],
            }
        )
    else:
        out = session.console()
        show.checks(out, [(check.name, check.ok, check.detail) for check in report.checks])
        held = sum(check.ok for check in report.checks)
        out.print(f"generation {report.generation}: {held} of {len(report.checks)} checks hold")
    if not report.ok:
        raise typer.Exit(FAILED)


def reindex(
    *,
    workers: Workers = None,
    data: Data = None,
    config: Config = None,
    sets: Sets = None,
) -> None:
    """Build the index anew from its stored text, with the settings that are in force now.

    Works beside the live index and takes its place at the end; the former one is kept as it was
    until then. Where only the embedder changed, texts are only embedded again.
    """
    from deploy.assembly import writing
    from deploy.cli import progress, session

    settings = session.begin(
        {"workers": workers, "data": data}, config=config, sets=sets, quiet=True
    )
    with progress.counting("") as told:
        report = writing.reindex(settings, told)
    if report.kept:
        text = "the index was built with these settings already; nothing to do"
    else:
        what = "embedded again" if report.embedded_only else "analysed anew"
        text = f"{report.documents:,} documents {what}"
    session.console(error=True).print(text)


def promote(*, data: Data = None, config: Config = None, sets: Sets = None) -> None:
    """Make the store of a follower one that is written here, once its writer has ended for good.

    `tidegraph run` then goes on from the positions of the last generation that was followed. Point
    the other followers here; each notices the other history and fetches a checkpoint.
    """
    from deploy.cli import session
    from index.replica.replica import promote as take_over

    settings = session.begin({"data": data}, config=config, sets=sets, quiet=True)
    address = take_over(settings.data)
    session.console(error=True).print(
        f"{settings.data} follows {address} no more; `tidegraph run` (or `index`) may write it. "
        "The former writer must not run again"
    )


def dead_letters(
    *,
    ids: Annotated[list[int] | None, typer.Argument(metavar="[ID]...", help="Only these.")] = None,
    replay: Annotated[
        bool,
        typer.Option("--replay", help="Publish them to the topic again, bytes as they came."),
    ] = False,
    topic: Annotated[
        str | None, typer.Option("--topic", help="Replay to this topic, not to their own.")
    ] = None,
    reason: Annotated[
        str | None, typer.Option("--reason", help="Only those rejected for this reason.")
    ] = None,
    after: Annotated[int, typer.Option("--after", metavar="ID", help="Only later ones.")] = 0,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many.")] = 50,
    show_bytes: Annotated[
        bool, typer.Option("--bytes", help="Show the original bytes, too.")
    ] = False,
    as_json: Json = False,
    data: Data = None,
    config: Config = None,
    sets: Sets = None,
) -> None:
    """List the records that were rejected, with reason and original bytes, or replay them."""
    from deploy import dead_letters as letters
    from deploy.cli import session

    settings = session.begin({"data": data}, config=config, sets=sets, quiet=True)
    found = letters.find(settings.data, ids=ids, reason=reason, after=after, limit=limit)
    out = session.console()
    if replay:
        report = letters.replay(settings, found, topic)
        out.print(f"{len(report.published)} published again")
        if report.refused:
            out.print(f"too large for the topic: {', '.join(map(str, report.refused))}")
    elif as_json:
        session.print_json([letters.as_json(letter) for letter in found])
    else:
        for letter in found:
            out.print(letters.as_line(letter, with_bytes=show_bytes))
        out.print(letters.summary(settings.data))
