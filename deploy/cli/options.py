"""The options that several commands share; a setting's option has its name."""

from pathlib import Path
from typing import Annotated

import typer

STORE = "Store"
SERVICE = "Service"
STREAM = "Stream"

Data = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help="Directory of the index.", rich_help_panel=STORE),
]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Settings file; else tidegraph.toml where it is there.",
        rich_help_panel=STORE,
    ),
]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Any other setting, as `tidegraph config` names it. May be repeated.",
        rich_help_panel=STORE,
    ),
]
Window = Annotated[
    str | None,
    typer.Option(
        "--window",
        metavar="LENGTH",
        help="Keep documents this far behind the newest event time (30d); older ones expire.",
        rich_help_panel=STORE,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Host = Annotated[
    str | None,
    typer.Option("--host", help="Address to listen on (127.0.0.1).", rich_help_panel=SERVICE),
]
Port = Annotated[
    int | None,
    typer.Option(
        "--port",
        min=0,
        max=65535,
        help="Port to listen on (8321); 0 takes a free one.",
        rich_help_panel=SERVICE,
    ),
]
ApiKeys = Annotated[
    list[str] | None,
    typer.Option(
        "--api-key",
        metavar="KEY",
        help="Key that clients must send. May be repeated; TIDEGRAPH_API_KEYS_FILE is safer.",
        rich_help_panel=SERVICE,
    ),
]
Anonymous = Annotated[
    bool | None,
    typer.Option(
        "--allow-anonymous",
        help="Serve an address other than loopback without a key.",
        rich_help_panel=SERVICE,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=0,
        help="Processes that analyse; 0 analyses in the one process.",
        rich_help_panel=STREAM,
    ),
]
Kafka = Annotated[
    str | None,
    typer.Option(
        "--kafka",
        metavar="HOST:PORT",
        help="Kafka brokers, separated by commas, instead of the embedded log.",
        rich_help_panel=STREAM,
    ),
]
Qdrant = Annotated[
    str | None,
    typer.Option(
        "--qdrant",
        metavar="URL",
        help="Qdrant server or cluster that holds the vectors of a large index.",
        rich_help_panel=SERVICE,
    ),
]
Follow = Annotated[
    str | None,
    typer.Option(
        "--follow",
        metavar="URL",
        help="Writer's service on another host; its store is kept here, too (key: follow_key).",
        rich_help_panel=STORE,
    ),
]
Topic = Annotated[
    str | None,
    typer.Option(
        "--topic", help="Topic to read or publish to (documents).", rich_help_panel=STREAM
    ),
]
Analyses = Annotated[
    str | None,
    typer.Option(
        "--analyses",
        metavar="TOPIC",
        help="Topic of what `tidegraph extract` analyses: it publishes there, the writer reads.",
        rich_help_panel=STREAM,
    ),
]
Source = Annotated[
    Path | None,
    typer.Option(
        "--source",
        metavar="FILE",
        help="Read a file of JSON Lines instead of the embedded log, and what is added to it; "
        "a compressed one (.gz) by `index --until-end` alone.",
        rich_help_panel=STREAM,
    ),
]
Feeds = Annotated[
    list[str] | None,
    typer.Option(
        "--feed",
        metavar="URL",
        help="Put an RSS or Atom feed on the list and poll it. May be repeated.",
        rich_help_panel=STREAM,
    ),
]
Format = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="NAME",
        help="Form of the file's lines: documents, or revisions (op, id and a full revision).",
        rich_help_panel=STREAM,
    ),
]
Only = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        metavar="FIELD=VALUE",
        help="Read only the lines that have this value. May be repeated.",
        rich_help_panel=STREAM,
    ),
]
