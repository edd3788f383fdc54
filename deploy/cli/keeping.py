"""Commands that keep a data directory safe: backup and restore."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deploy.cli.options import Config, Data, Sets

if TYPE_CHECKING:
    from deploy.backup import BackupReport

Archive = Annotated[
    Path, typer.Argument(metavar="FILE", help="The archive; compressed where it ends in .gz.")
]


def backup(
    *, archive: Archive, data: Data = None, config: Config = None, sets: Sets = None
) -> None:
    """Write the index, the embedded log and the lists beside them into one file.

    Safe beside a running writer: the file holds one whole generation, and what it was made from.
    Vector indexes are left out; they are built anew from the store.
    """
    from deploy import process
    from deploy.backup import back_up
    from deploy.cli import progress, session

    settings = session.begin({"data": data}, config=config, sets=sets, quiet=True)
    with process.ended_by_sigterm(), progress.counting("") as told:
        report = back_up(settings.data, archive, told)
    session.console(error=True).print(f"{archive}: {_summary(report)}")


def restore(
    *, archive: Archive, data: Data = None, config: Config = None, sets: Sets = None
) -> None:
    """Put a backup back as a data directory, which must be empty.

    Every file is compared with its checksum first. The writer then goes on from the positions of
    the backup; what came since is read again.
    """
    from deploy import process
    from deploy.backup import restore as put_back
    from deploy.cli import progress, session

    settings = session.begin({"data": data}, config=config, sets=sets, quiet=True)
    with process.ended_by_sigterm(), progress.counting("") as told:
        report = put_back(archive, settings.data, told)
    session.console(error=True).print(f"{settings.data}: {_summary(report)}")


def _summary(report: "BackupReport") -> str:
    size = sum(report.files.values()) / 1e6
    return (
        f"generation {report.generation}, {size:,.1f} MB in {', '.join(report.files)}; "
        f"made {report.made_at} by release {report.release}"
    )
