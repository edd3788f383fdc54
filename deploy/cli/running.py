"""Commands that run until they are stopped: run, index, serve."""

from typing import Annotated

import typer

from deploy.cli.options import (
    STREAM,
    Analyses,
    Anonymous,
    ApiKeys,
    Config,
    Data,
    Feeds,
    Follow,
    Format,
    Host,
    Kafka,
    Only,
    Port,
    Qdrant,
    Sets,
    Source,
    Topic,
    Window,
    Workers,
)

INTERRUPTED = 130


def run(
    *,
    topic: Topic = None,
    kafka: Kafka = None,
    analyses: Analyses = None,
    source: Source = None,
    form: Format = "documents",
    only: Only = None,
    feed: Feeds = None,
    workers: Workers = None,
    host: Host = None,
    port: Port = None,
    api_key: ApiKeys = None,
    allow_anonymous: Anonymous = None,
    qdrant: Qdrant = None,
    window: Window = None,
    data: Data = None,
    config: Config = None,
    sets: Sets = None,
) -> None:
    """Run everything in one process: read the stream, keep the index, answer and serve the page.

    Reads the embedded log in the data directory, a Kafka topic, or follows a file. Polls the feeds
    on the list (`tidegraph feeds`) and publishes what is new into the topic. Stops on Ctrl-C or
    SIGTERM, after what was read is committed.
    """
    from deploy import process
    from deploy.assembly import feeds, outbox, vectors
    from deploy.assembly import standing as standing_questions
    from deploy.assembly.streams import Origin, check, check_topics
    from deploy.cli import session

    settings = session.begin(
        {
            "topic": topic,
            "kafka": kafka,
            "analyses_topic": analyses,
            "workers": workers,
            "window": window,
            "host": host,
            "port": port,
            "api_keys": tuple(api_key) if api_key else None,
            "allow_anonymous": allow_anonymous,
            "qdrant_url": qdrant,
            "data": data,
        },
        config=config,
        sets=sets,
    )
    origin = Origin(source, form, session.pairs(only, "--only"), follow=True)
    settings.check_address()
    vectors.kind(settings)
    check(origin)
    check_topics(settings, origin)
    outbox.check(settings)
    standing_questions.check(settings)
    polls = feeds.wanted(settings, origin, feed or ())
    from deploy import runtime

    with (
        process.stop_on_signals() as stop,
        runtime.embedded(settings, origin, stop, polls=polls) as running,
    ):
        session.console(error=True).print(f"serving at {running.url}, data in {settings.data}")
        running.wait()


def index(
    *,
    source: Source = None,
    form: Format = "documents",
    only: Only = None,
    topic: Topic = None,
    kafka: Kafka = None,
    analyses: Analyses = None,
    until_end: Annotated[
        bool,
        typer.Option(
            "--until-end", help="Stop at the end that the stream has now.", rich_help_panel=STREAM
        ),
    ] = False,
    workers: Workers = None,
    window: Window = None,
    data: Data = None,
    config: Config = None,
    sets: Sets = None,
) -> None:
    """Keep the index alone, without the service: the writer of `tidegraph serve`.

    Starts where the store stands; a second run over the same file reads only what is new.
    """
    from deploy import process
    from deploy.assembly import outbox
    from deploy.assembly.streams import Origin, check, check_topics
    from deploy.cli import progress, session

    settings = session.begin(
        {
            "topic": topic,
            "kafka": kafka,
            "analyses_topic": analyses,
            "workers": workers,
            "window": window,
            "data": data,
        },
        config=config,
        sets=sets,
        quiet=until_end,
    )
    origin = Origin(source, form, session.pairs(only, "--only"), follow=not until_end)
    check(origin)
    check_topics(settings, origin)
    outbox.check(settings)
    from deploy import runtime

    with process.stop_on_signals() as stop:
        with progress.indexing(until_end) as told:
            report = runtime.index(settings, origin, stop, until_end=until_end, told=told)
        session.console(error=True).print(report)
        if stop.is_set() and until_end:
            raise typer.Exit(INTERRUPTED)


def serve(
    *,
    follow: Follow = None,
    host: Host = None,
    port: Port = None,
    api_key: ApiKeys = None,
    allow_anonymous: Anonymous = None,
    qdrant: Qdrant = None,
    data: Data = None,
    config: Config = None,
    sets: Sets = None,
) -> None:
    """Answer questions and serve the page over an index that another process keeps.

    Any number may serve one data directory. On another host, follow the writer's service: a copy
    of its store is fetched, kept level, and answered from while the writer is away.
    """
    from deploy import process
    from deploy.assembly import replica, vectors
    from deploy.assembly import standing as standing_questions
    from deploy.cli import session

    settings = session.begin(
        {
            "follow": follow,
            "host": host,
            "port": port,
            "api_keys": tuple(api_key) if api_key else None,
            "allow_anonymous": allow_anonymous,
            "qdrant_url": qdrant,
            "data": data,
        },
        config=config,
        sets=sets,
    )
    settings.check_address()
    vectors.kind(settings)
    replica.check(settings)
    standing_questions.check(settings)
    from deploy import runtime

    with process.stop_on_signals() as stop, runtime.serving(settings, stop) as running:
        session.console(error=True).print(f"serving at {running.url}, data in {settings.data}")
        running.wait()
